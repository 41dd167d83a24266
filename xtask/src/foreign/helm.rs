//! The suite `helm-commands`: the life of a release, from the sample chart to its removal.

use std::time::Duration;

use anyhow::{Context as _, Result};

use super::suite::{Case, Stage, text};
use crate::job::choices;
use crate::tools;

/// For one command.
const LIMIT: Duration = Duration::from_secs(120);

/// Commands about the release `demo` of the chart in the folder `demo`, and what they have to print.
#[rustfmt::skip] // one command a line
const COMMANDS: &[(&str, &str)] = &[
    ("helm create demo", "Creating demo"),
    ("helm lint demo", "1 chart(s) linted, 0 chart(s) failed"),
    ("helm install demo demo --dry-run=server", "kind: Deployment"),
    ("helm install demo demo --wait --timeout 60s", "STATUS: deployed"),
    ("kubectl get deployment demo -o jsonpath={.status.readyReplicas}", "1"),
    ("helm status demo", "REVISION: 1"),
    ("helm list", "deployed"),
    ("helm get manifest demo", "kind: Deployment"),
    ("helm get values demo --all", "replicaCount: 1"),
    ("helm get notes demo", "Get the application URL"),
    ("helm get hooks demo", "helm.sh/hook"),
    ("helm get metadata demo", "CHART: demo"),
    ("helm get all demo", "HOOKS:"),
    ("helm upgrade demo demo --set replicaCount=2,ingress.enabled=true --wait --timeout 60s", "REVISION: 2"),
    ("kubectl get deployment demo -o jsonpath={.status.readyReplicas}", "2"),
    ("kubectl get ingress demo", "demo"),
    ("helm upgrade demo demo --install --reuse-values --set autoscaling.enabled=true --wait --timeout 60s", "REVISION: 3"),
    ("kubectl get hpa demo", "Deployment/demo"),
    ("helm history demo", "superseded"),
    ("helm rollback demo 1 --wait --timeout 60s", "Rollback was a success"),
    ("kubectl get deployment demo -o jsonpath={.status.readyReplicas}", "1"),
    ("kubectl get ingress,hpa", "No resources found"),
    ("helm status demo", "REVISION: 4"),
    ("helm test demo --timeout 60s", "Succeeded"),
    ("helm test demo --logs --timeout 60s", "POD LOGS: demo-test-connection"),
    ("helm uninstall demo --keep-history --wait --timeout 60s", "release \"demo\" uninstalled"),
    ("kubectl get deployment,replicaset,ingress,hpa", "No resources found"),
    ("helm list --uninstalled", "uninstalled"),
    ("helm upgrade demo demo --install --namespace shop --create-namespace --wait --timeout 60s", "STATUS: deployed"),
    ("helm uninstall demo --namespace shop --wait --timeout 60s", "release \"demo\" uninstalled"),
    ("kubectl get deployment,replicaset,secret --namespace shop", "No resources found"),
];

/// The named versions, or both.
pub(super) fn cases<'a>(stage: &Stage<'a>) -> Result<Vec<Case<'a>>> {
    let case = |version: &str| {
        let helm = if version == "3" { tools::helm_3(stage.cx)? } else { tools::helm(stage.cx)? };
        let name = format!("helm-{version}");
        let folder = stage.work.join(&name);
        let step = |(command, expected): &(&str, &'static str)| {
            let (program, args) = command.split_once(' ').context("a program and its arguments")?;
            let program = if program == "helm" { helm.as_os_str() } else { program.as_ref() };
            let run = stage.cx.command(program).args(args.split(' ')).dir(&folder).limit(LIMIT);
            let homes = ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"];
            let run = homes.into_iter().fold(run, |run, home| run.env(home, folder.join(home)));
            Ok((run, text(expected)))
        };
        let steps = COMMANDS.iter().map(step).collect::<Result<_>>()?;
        Ok(Case { name, server: Some(String::new()), steps })
    };
    choices(stage.args, &["4", "3"], &["4", "3"])?.into_iter().map(case).collect()
}
