//! The table of suites. The cases of the short ones are below it.

use std::time::Duration;

use anyhow::Result;

use super::suite::{Case, Stage, Suite, text};
use super::{catalogue, controller_runtime, helm, official_e2e};
use crate::job::no_arguments;
use crate::{paths, tools};

/// Both lines of Helm install, change, test and remove their own sample chart.
pub(crate) const HELM: Suite = Suite { programs: &["kubectl"], module: None, cases: helm::cases };
/// The npm client, over plain HTTP and TLS.
pub(crate) const JAVASCRIPT: Suite = Suite { programs: &["node", "npm"], module: None, cases: javascript };
/// The tests of a Go project on envtest.
pub(crate) const KUBEBUILDER: Suite =
    Suite { programs: &["go"], module: Some(paths::KUBEBUILDER), cases: kubebuilder };
/// The tests of Go's controller-runtime, as on an existing cluster.
pub(crate) const CONTROLLER_RUNTIME: Suite =
    Suite { programs: &["go"], module: Some(paths::CONTROLLER_RUNTIME), cases: controller_runtime::cases };
/// End-to-end tests of Kubernetes that pass on a genuine cluster.
pub(crate) const OFFICIAL_E2E: Suite = Suite { programs: &[], module: None, cases: official_e2e::cases };
/// Definitions of custom resources that public projects ship.
pub(crate) const CATALOGUE: Suite = Suite { programs: &["go"], module: None, cases: catalogue::cases };

fn javascript<'a>(stage: &Stage<'a>) -> Result<Vec<Case<'a>>> {
    no_arguments(stage.args)?;
    let program = tools::npm_client(stage.cx)?.join(paths::NPM_PROGRAM);
    let node = stage.cx.command("node").arg(program).limit(Duration::from_secs(120));
    let steps = || vec![(node.clone(), text("exec"))];
    let case = |(name, server): (&str, &str)| Case {
        name: name.into(),
        server: Some(server.into()),
        steps: steps(),
    };
    Ok([("http", ""), ("tls", "--tls"), ("rbac", "--tls --rbac")].map(case).into())
}

fn kubebuilder<'a>(stage: &Stage<'a>) -> Result<Vec<Case<'a>>> {
    no_arguments(stage.args)?;
    // Without the cache of results, which does not know the programs in the folder. With the compilation of client-go and
    // controller-runtime.
    let test = stage.cx.command("go").args(["test", "-count=1", "./..."]);
    let test = test.dir(stage.cx.path(paths::KUBEBUILDER)).limit(Duration::from_secs(20 * 60));
    Ok(vec![Case { name: "envtest".into(), server: None, steps: vec![(test, text("ok"))] }])
}
