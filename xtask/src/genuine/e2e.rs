//! The jobs `e2e-genuine` and `e2e-restart`: the end-to-end suite on genuine servers.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::realapi::{self, Server};
use crate::command::Command;
use crate::context::{Context, scratch};
use crate::job::{choices, no_arguments};
use crate::test::{end_to_end, end_to_end_output};

/// The suite on each server, and on the embedded one what kubectl does beside it. All at the same time: the scenarios wait more than they
/// compute.
pub(crate) fn e2e(cx: &Context, args: &[String]) -> Result<()> {
    let names = choices(args, &["core", "v1.37"], &["v1.37", "core"])?;
    let (program, kubectl) = (realapi::program(cx)?, realapi::kubectl(cx)?);
    suite(cx).arg("--no-run").run()?;
    let quickstart = cx.build("--example", "quickstart")?;
    let servers = names.iter().map(|name| Server::up(cx, name)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let mut runs = vec![("the embedded server", scope.spawn(|| beside_kubectl(cx, &kubectl, None)))];
        for (name, server) in names.iter().zip(&servers) {
            let (program, kubectl, quickstart) = (&program, &kubectl, &quickstart);
            runs.push((name, scope.spawn(move || on_server(cx, name, server, program, kubectl, quickstart))));
        }
        let mut failed = Vec::new();
        for (name, run) in runs {
            let result = run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if let Err(error) = result {
                println!("{error:#}");
                failed.push(name);
            }
        }
        ensure!(failed.is_empty(), "failed on {}", failed.join(" and "));
        Ok(())
    })
}

/// The suite and the quickstart, whose outputs are printed when each has ended.
fn on_server(
    cx: &Context,
    name: &str,
    server: &Server,
    realapi: &Path,
    kubectl: &Path,
    quickstart: &Path,
) -> Result<()> {
    let suite = suite(cx).env("KUBE_E2E", "cluster").env("KUBECONFIG", &server.kubeconfig);
    let suite = match name {
        // It has the kind Lease, and with its controller manager a candidate of client-go.
        "core" => suite.env("KUBE_E2E_REALAPI", realapi),
        "v1.37" => suite.env("KUBE_E2E_KUBECTL", kubectl),
        _ => suite,
    };
    run_suite(name, suite.args(["--", "--nocapture"]))?;
    let quickstart = cx.command(quickstart).arg("--cluster").env("KUBECONFIG", &server.kubeconfig);
    let quickstart = quickstart.limit(Duration::from_secs(150)).output()?;
    println!("\n--- quickstart on {name}\n{}", quickstart.text());
    ensure!(quickstart.code == 0, "the quickstart failed with exit code {}", quickstart.code);
    Ok(())
}

/// Scenarios that run kubectl beside our calls, on a server with a node or on the embedded one.
pub(crate) fn beside_kubectl(cx: &Context, kubectl: &Path, server: Option<&Server>) -> Result<()> {
    let suite = suite(cx).env("KUBE_E2E_KUBECTL", kubectl).args(["--", "--nocapture", "waiting::"]);
    match server {
        None => run_suite("the embedded server", suite.env_remove("KUBECONFIG")),
        Some(server) => {
            let suite = suite.env("KUBE_E2E", "cluster").env("KUBECONFIG", &server.kubeconfig);
            run_suite("a server with a node", suite)
        }
    }
}

fn run_suite(name: &str, suite: Command) -> Result<()> {
    let started = Instant::now();
    let (suite, skipped) = end_to_end_output(suite)?;
    println!("\n--- end-to-end suite on {name} ({}s)\n{}", started.elapsed().as_secs(), suite.text());
    print!("{skipped}");
    ensure!(suite.code == 0, "the suite failed with exit code {}", suite.code);
    Ok(())
}

fn suite(cx: &Context) -> Command {
    cx.cargo(&format!("test {} --test e2e", cx.workspace()))
}

/// A client of a server that restarts and loses its watch history, on ports of its own.
pub(crate) fn restart(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let program = realapi::program(cx)?;
    let home = scratch()?;
    let realapi = || cx.command(&program).env("REALAPI_HOME", home.path()).env("REALAPI_PORT", "18443");
    let kubeconfig = realapi().args(["up", "v1.37", "--bare"]).read()?;
    let bounce = format!(
        "REALAPI_HOME={} REALAPI_PORT=18443 {} bounce v1.37",
        home.path().display(),
        program.display()
    );
    let suite = self::suite(cx).args(["--", "--nocapture", "server_restart::"]).env("KUBE_E2E", "cluster");
    let result = end_to_end(suite.env("KUBE_E2E_RESTART", bounce).env("KUBECONFIG", kubeconfig));
    realapi().args(["down", "v1.37"]).cleans_up().run()?;
    result
}
