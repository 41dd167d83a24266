//! The job `operator-genuine`: `examples/operator` on genuine servers that call its webhooks: an old one, where it registers itself, and
//! the present one, where nothing is there but its generated manifests.

use std::path::Path;

use anyhow::Result;

use super::deployed::Deployed;
use super::pages::{METRICS, Run, print_end};
use super::realapi::Server;
use crate::context::{Context, scratch};
use crate::job::no_arguments;
use crate::paths;
use crate::skip::skip;

/// What the operator and its pages leave on a server that was running before.
const LEFTOVERS: &str = "validatingwebhookconfiguration/page-operator crd/pages.example.com service/page-operator lease/page-operator";

pub(crate) fn operator(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    Deployed::require(cx)?;
    if !rustix::process::geteuid().is_root() {
        return skip("the webhooks need port 443, and so root");
    }
    let program = cx.build("--bin", "operator")?;
    let manifests = cx.path(paths::MANIFESTS);
    let deployed = Deployed { name: "page-operator", program: &program, manifests: &manifests };
    deployed.run(cx, |run| sample(run, &manifests))?;
    registered(cx, &program)
}

/// What the operator does for its pages, then for the generated sample.
fn sample(run: &Run<'_>, manifests: &Path) -> Result<()> {
    run.pages()?;
    run.within(10, "the sample is accepted", "", || run.kubectl("apply -f").arg(manifests.join("samples")))?;
    run.within(30, "the sample is ready", "True", || {
        run.kubectl("get page welcome -o").arg("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}")
    })?;
    run.within(30, "the sample is deleted", "", || run.kubectl("delete page welcome --timeout=20s"))
}

/// On an old server, where the operator registers what it needs.
fn registered(cx: &Context, program: &Path) -> Result<()> {
    let work = scratch()?;
    let server = Server::up(cx, "core")?;
    let run = Run { cx, server: &server, program, work: work.path() };
    let result = scenario(&run);
    if !server.is_own() {
        let delete = run.kubectl("delete --ignore-not-found --wait=false").args(LEFTOVERS.split(' '));
        delete.cleans_up().succeeds();
    }
    result
}

fn scenario(run: &Run<'_>) -> Result<()> {
    run.operator("--register").run()?;
    let service = "create service externalname page-operator --external-name localhost --tcp 443";
    run.kubectl(service).read()?;
    let log = run.work.join("log");
    let operator =
        run.operator(&format!("--metrics {METRICS} --webhooks 127.0.0.1:443")).spawn(&log, &log)?;
    let result = run.pages().and_then(|()| run.end(&operator, "page-operator", "default"));
    if result.is_err() {
        print_end(&log)?;
    }
    result
}
