//! The jobs `e2e-genuine` and `e2e-restart`: the end-to-end suite on genuine servers.

use std::time::Duration;

use anyhow::Result;

use super::realapi::{self, Server};
use crate::context::{Context, scratch};
use crate::job::{choices, no_arguments};
use crate::test::end_to_end;

pub(crate) fn e2e(cx: &Context, args: &[String]) -> Result<()> {
    let program = realapi::program(cx)?;
    let kubectl = cx.command(&program).args(["program", "v1.37", "kubectl"]).read()?;
    for name in choices(args, &["modern", "core", "v1.37"], &["modern", "core"])? {
        let server = Server::up(cx, name)?;
        println!("\n--- end-to-end suite on {name}");
        let suite =
            cx.cargo("test --workspace --test e2e --features kube/openssl-tls,e2e/openssl -- --nocapture");
        let mut suite = suite
            .env("KUBE_E2E", "cluster")
            .env("KUBECONFIG", &server.kubeconfig)
            .env("KUBE_E2E_KUBECTL", &kubectl);
        if name == "core" {
            // It has the kind Lease, and with its controller manager a candidate of client-go.
            suite = suite.env("KUBE_E2E_REALAPI", &program);
        }
        end_to_end(suite)?;
        println!("\n--- quickstart on {name}");
        let quickstart =
            cx.cargo("run --quiet --example quickstart -- --cluster").env("KUBECONFIG", &server.kubeconfig);
        quickstart.limit(Duration::from_secs(150)).run()?;
    }
    Ok(())
}

/// A client of a server that restarts and loses its watch history, on ports of its own.
pub(crate) fn restart(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let program = realapi::program(cx)?;
    let home = scratch()?;
    let realapi = || cx.command(&program).env("REALAPI_HOME", home.path()).env("REALAPI_PORT", "18443");
    let kubeconfig = realapi().args(["up", "modern"]).read()?;
    let bounce = format!(
        "REALAPI_HOME={} REALAPI_PORT=18443 {} bounce modern",
        home.path().display(),
        program.display()
    );
    let suite =
        cx.cargo("test --workspace --test e2e -- --nocapture server_restart::").env("KUBE_E2E", "cluster");
    let result = end_to_end(suite.env("KUBE_E2E_RESTART", bounce).env("KUBECONFIG", kubeconfig));
    realapi().args(["down", "modern"]).cleans_up().run()?;
    result
}
