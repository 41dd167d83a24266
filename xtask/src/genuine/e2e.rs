//! The jobs `e2e-genuine` and `e2e-restart`: the end-to-end suite on genuine servers.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

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
    let suite = suite(cx)?;
    let quickstart = cx.build("--example", "quickstart")?;
    let servers = names.iter().map(|name| Server::up(cx, name)).collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let mut runs = vec![("the embedded server", scope.spawn(|| waiting(&suite, &kubectl, None)))];
        for (name, server) in names.iter().zip(&servers) {
            let programs =
                Programs { suite: &suite, quickstart: &quickstart, realapi: &program, kubectl: &kubectl };
            runs.push((name, scope.spawn(move || programs.on_server(cx, name, server))));
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

struct Programs<'a> {
    suite: &'a Command,
    quickstart: &'a Path,
    realapi: &'a Path,
    kubectl: &'a Path,
}

impl Programs<'_> {
    /// The suite and the quickstart, whose outputs are printed when each has ended.
    fn on_server(&self, cx: &Context, name: &str, server: &Server) -> Result<()> {
        let suite = self.suite.clone().env("KUBE_E2E", "cluster").env("KUBECONFIG", &server.kubeconfig);
        let suite = match name {
            // It has the kind Lease, and with its controller manager a candidate of client-go.
            "core" => suite.env("KUBE_E2E_REALAPI", self.realapi),
            "v1.37" => suite.env("KUBE_E2E_KUBECTL", self.kubectl),
            _ => suite,
        };
        run_suite(name, suite)?;
        let quickstart = cx.command(self.quickstart).arg("--cluster").env("KUBECONFIG", &server.kubeconfig);
        let quickstart = quickstart.limit(Duration::from_secs(150)).output()?;
        println!("\n--- quickstart on {name}\n{}", quickstart.text());
        ensure!(quickstart.code == 0, "the quickstart failed with exit code {}", quickstart.code);
        Ok(())
    }
}

/// Scenarios that run kubectl beside our calls, on a server with a node.
pub(crate) fn beside_kubectl(cx: &Context, kubectl: &Path, server: &Server) -> Result<()> {
    waiting(&suite(cx)?, kubectl, Some(server))
}

/// The same on that server, or on the embedded one.
fn waiting(suite: &Command, kubectl: &Path, server: Option<&Server>) -> Result<()> {
    let suite = suite.clone().env("KUBE_E2E_KUBECTL", kubectl).arg("waiting::");
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

/// The program of the suite, in the folder of its package. It is asked for once, because Cargo may be busy with another job.
fn suite(cx: &Context) -> Result<Command> {
    let build = cx.cargo(&format!("test --quiet --locked {} --no-run --test e2e", cx.workspace()));
    let messages = build.arg("--message-format=json-render-diagnostics").read()?;
    let program = messages.lines().find_map(executable).context("cargo names no program of the suite")?;
    Ok(cx.command(program).dir(cx.path("e2e")).arg("--nocapture"))
}

/// The program of a message of Cargo that an artifact is there.
fn executable(message: &str) -> Option<String> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_suite = message["target"]["name"] == "e2e" && message["target"]["kind"][0] == "test";
    message["executable"].as_str().filter(|_| is_suite).map(str::to_owned)
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
    let suite = self::suite(cx)?.arg("server_restart::").env("KUBE_E2E", "cluster");
    let result = end_to_end(suite.env("KUBE_E2E_RESTART", bounce).env("KUBECONFIG", kubeconfig));
    realapi().args(["down", "v1.37"]).cleans_up().run()?;
    result
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_program_of_the_suite_is_that_of_its_test() {
        let message = |kind: &str, name: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"target\":{{\"kind\":[\"{kind}\"],\"name\":\"{name}\"}},\"executable\":\"/t/{name}-1\"}}"
            )
        };
        assert_eq!(super::executable(&message("test", "e2e")).as_deref(), Some("/t/e2e-1"));
        for other in [message("lib", "e2e"), message("test", "it"), "warning".into()] {
            assert_eq!(super::executable(&other), None, "{other}");
        }
    }
}
