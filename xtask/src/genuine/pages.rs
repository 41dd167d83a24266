//! An operator beside a genuine server, and what that of `examples/operator` does for one page.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::realapi::Server;
use crate::command::{Background, Command, pause};
use crate::context::Context;

/// Where it serves metrics and health.
pub(super) const METRICS: &str = "127.0.0.1:18443";

pub(crate) struct Run<'a> {
    pub(super) cx: &'a Context,
    pub(super) server: &'a Server,
    pub(super) program: &'a Path,
    pub(super) work: &'a Path,
}

impl Run<'_> {
    /// One page, from its creation to the collection of its children.
    pub(super) fn pages(&self) -> Result<()> {
        self.within(60, "the operator is ready", "", || self.get("/readyz"))?;
        self.within(30, "the operator leads", "\"leads\": true", || {
            self.get("/debug/controllers?format=json")
        })?;
        // The server notices the new CA after a moment.
        self.within(30, "a page of v1 is accepted", "", || self.apply(0))?;
        self.within(10, "the server converts it to v2 by the webhook", "[\"One.\",\"Two.\"]", || {
            self.kubectl("get pages.v2.example.com home -o jsonpath={.spec.paragraphs}")
        })?;
        self.refused(
            10,
            "the server refuses what the validating webhook denies",
            "must be between 0 and 10, but is 99",
        )?;
        self.within(30, "the page is ready", "True", || {
            self.kubectl("get page home -o").arg("jsonpath={.status.conditions[?(@.type==\"Ready\")].status}")
        })?;
        self.within(10, "the page owns a Deployment", "Page", || {
            self.kubectl("get deployment home-page -o jsonpath={.metadata.ownerReferences[0].kind}")
        })?;
        self.within(10, "the index names the page", "Home", || {
            self.kubectl("get configmap page-index -o jsonpath={.data.home}")
        })?;
        self.within(30, "the page is deleted", "", || self.kubectl("delete page home --timeout=20s"))?;
        self.within(10, "its finalizer has cleaned the index", "[]", || {
            self.kubectl("get configmap page-index -o jsonpath=[{.data}]")
        })?;
        self.children_are_gone()?;
        self.within(
            10,
            "the metrics count the calls of the webhooks",
            "controller_runtime_webhook_requests_total{",
            || self.get("/metrics"),
        )
    }

    /// The operator ends, and its Lease of this name and namespace is released.
    pub(super) fn end(&self, operator: &Background, name: &str, namespace: &str) -> Result<()> {
        let code = operator.stop(Duration::from_secs(30))?;
        ensure!(code == 0, "the operator ends with exit code {code} after SIGTERM");
        println!("ok: the operator ends with exit code 0 after SIGTERM");
        self.within(5, "the Lease is released", "[]", || {
            let lease = self.kubectl("get lease -o jsonpath=[{.spec.holderIdentity}] --namespace");
            lease.args([namespace, name])
        })
    }

    /// The validating webhook denies a page of 99 replicas.
    fn refused(&self, seconds: u64, what: &str, text: &str) -> Result<()> {
        self.until(seconds, what, || self.apply(99), |code, output| code != 0 && output.contains(text))
    }

    fn children_are_gone(&self) -> Result<()> {
        let get = || self.kubectl("get deployment,configmap home-page");
        let gone = |_, output: &str| output.matches("not found").count() == 2;
        self.until(90, "the controller manager collects the children", get, gone)
    }

    /// Repeats a command until it succeeds and prints a text.
    pub(crate) fn within(
        &self,
        seconds: u64,
        what: &str,
        text: &str,
        command: impl Fn() -> Command,
    ) -> Result<()> {
        self.until(seconds, what, command, |code, output| code == 0 && output.contains(text))
    }

    fn until(
        &self,
        seconds: u64,
        what: &str,
        command: impl Fn() -> Command,
        wanted: impl Fn(i32, &str) -> bool,
    ) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(seconds);
        loop {
            let output = command().output()?;
            if wanted(output.code, &output.text()) {
                println!("ok: {what}");
                return Ok(());
            }
            ensure!(Instant::now() < end, "not within {seconds} s: {what}: {}", output.text());
            pause(Duration::from_millis(500))?;
        }
    }

    pub(crate) fn kubectl(&self, args: &str) -> Command {
        self.with_server(self.cx.command("kubectl")).args(args.split(' '))
    }

    fn apply(&self, replicas: u32) -> Command {
        let page = format!(
            "apiVersion: example.com/v1\nkind: Page\nmetadata: {{name: home}}\n\
             spec: {{title: Home, text: \"One.\\n\\nTwo.\", replicas: {replicas}}}\n"
        );
        self.kubectl("apply -f -").stdin(page)
    }

    pub(super) fn get(&self, path: &str) -> Command {
        self.cx.command("curl").arg("-fsS").arg(format!("http://{METRICS}{path}"))
    }

    pub(super) fn operator(&self, args: &str) -> Command {
        self.with_server(self.cx.command(self.program)).args(args.split(' '))
    }

    pub(super) fn with_server(&self, command: Command) -> Command {
        let command = command.env("KUBECONFIG", &self.server.kubeconfig);
        command.env("KUBECACHEDIR", self.work.join("cache"))
    }
}

/// The end of a log.
pub(super) fn print_end(log: &Path) -> Result<()> {
    let log = std::fs::read_to_string(log)?;
    let lines: Vec<_> = log.lines().collect();
    println!("--- log of the operator:\n{}", lines[lines.len().saturating_sub(20)..].join("\n"));
    Ok(())
}
