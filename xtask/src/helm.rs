//! The job `helm-commands`: both lines of Helm install, change, test and remove their own sample chart on the embedded server.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::context::{Context, scratch};
use crate::job::choices;
use crate::kubectl::Server;
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

/// Runs them with the named versions, or both.
pub(crate) fn commands(cx: &Context, args: &[String]) -> Result<()> {
    cx.require(&["kubectl"])?;
    let testserver = cx.build("--bin", "kube-testserver")?;
    for version in choices(args, &["4", "3"], &["4", "3"])? {
        let helm = if version == "3" { tools::helm_3(cx)? } else { tools::helm(cx)? };
        let work = scratch()?;
        let server = Server::start(cx, &testserver, work.path(), "server", &[])?;
        let run = |command: &str| {
            let (program, args) = command.split_once(' ').context("a program and its arguments")?;
            let program = if program == "helm" { helm.as_os_str() } else { program.as_ref() };
            let folder = |name: &str| work.path().join(name);
            let run = cx.command(program).args(args.split(' ')).dir(work.path()).limit(LIMIT);
            let run = run.env("HELM_CACHE_HOME", folder("cache")).env("HELM_CONFIG_HOME", folder("config"));
            let run = run.env("HELM_DATA_HOME", folder("data")).env("KUBECACHEDIR", folder("kubectl"));
            run.env("KUBECONFIG", &server.kubeconfig).output()
        };
        let name = run("helm version --short")?.text();
        for (command, expected) in COMMANDS {
            let output = run(command)?;
            let text = output.text();
            let code = output.code;
            ensure!(
                code == 0 && text.contains(expected),
                "{command}: exit code {code}, expected {expected:?}: {text}"
            );
        }
        println!("Helm {}: {} commands succeed", name.trim(), COMMANDS.len());
    }
    Ok(())
}
