//! The job `kubebuilder`: the tests of a Go project on envtest pass with the programs of the embedded server.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::paths;
use crate::skip::skip;

/// With the compilation of client-go and controller-runtime.
const LIMIT: Duration = Duration::from_secs(20 * 60);

pub(crate) fn kubebuilder(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    if !cx.has("go") {
        return skip("no Go, in which the project and its tests are written");
    }
    let go = || cx.command("go").dir(cx.path(paths::KUBEBUILDER));
    if !go().args(["mod", "download"]).succeeds() {
        return skip("the Go modules of the project cannot be downloaded");
    }
    let work = scratch()?;
    let assets = assets(cx, &work.path().join("assets"))?;
    // Without the cache of results, which does not know the programs in the folder.
    let test = go().args(["test", "-count=1", "./..."]).env("KUBEBUILDER_ASSETS", assets);
    test.env_remove("USE_EXISTING_CLUSTER").limit(LIMIT).run()
}

/// Writes the folder for `KUBEBUILDER_ASSETS`; its path.
pub(crate) fn assets(cx: &Context, folder: &Path) -> Result<String> {
    let program = cx.build("--bin", "kube-testserver")?;
    cx.command(program).arg("assets").arg(folder).read()
}
