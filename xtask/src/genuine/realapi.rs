//! Genuine API servers, started and ended by the script `realapi`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::command::Command;
use crate::context::Context;
use crate::paths;
use crate::skip::skip;

/// Where a contributor finds genuine servers.
const HOW_TO_GET: &str = "genuine API servers come from the folder `shared/realapi` beside the checkout, or from the script \
that REALAPI names; without them: create a cluster, such as with kind, and run `KUBE_E2E=cluster KUBECONFIG=file cargo test -p e2e`";

/// The script, or a skip that says how to get it.
pub(crate) fn program(cx: &Context) -> Result<PathBuf> {
    let program = std::env::var_os("REALAPI").map_or_else(|| cx.path(paths::REALAPI), PathBuf::from);
    if !program.exists() {
        return skip(HOW_TO_GET);
    }
    if std::env::consts::ARCH != "x86_64" {
        return skip("the genuine servers are built for x86_64");
    }
    cx.require(&["curl", "openssl", "xz"])?;
    std::path::absolute(&program).with_context(|| program.display().to_string())
}

/// The genuine kubectl of Kubernetes 1.37.
pub(crate) fn kubectl(cx: &Context) -> Result<PathBuf> {
    Ok(cx.command(program(cx)?).args(["program", "v1.37", "kubectl"]).read()?.trim().into())
}

/// A running server. It is ended when this is dropped, unless it was running before.
pub(crate) struct Server {
    pub(crate) kubeconfig: PathBuf,
    down: Option<Command>,
}

impl Server {
    /// Starts the server, or uses the one that is running.
    pub(crate) fn up(cx: &Context, name: &str) -> Result<Self> {
        let program = program(cx)?;
        let output = up(cx, &program, name).output()?;
        if output.code == 0 {
            return Ok(Self::started(cx, &program, name, &output.text()));
        }
        let kubeconfig = home().join(name).join("kubeconfig");
        ensure!(
            output.text().contains("already up") && kubeconfig.exists(),
            "realapi up {name}: {}",
            output.text()
        );
        println!("using the running server {name}");
        Ok(Self { kubeconfig, down: None })
    }

    /// Starts the server with these arguments of `realapi up`. One that runs already is an error: it may contain anything.
    pub(crate) fn fresh_with(cx: &Context, name: &str, args: &[&str]) -> Result<Self> {
        let program = program(cx)?;
        let output = up(cx, &program, name).args(args).output()?;
        ensure!(output.code == 0, "realapi up {name} {}: {}", args.join(" "), output.text());
        Ok(Self::started(cx, &program, name, &output.text()))
    }

    /// Starts the server with a scheduler and one node, on which pods become ready.
    pub(crate) fn with_node(cx: &Context, name: &str) -> Result<Self> {
        Self::fresh_with(cx, name, &["--nodes", "1"])
    }

    fn started(cx: &Context, program: &std::path::Path, name: &str, output: &str) -> Self {
        // Its last line is the path.
        let kubeconfig = output.trim_end().lines().last().unwrap_or_default().into();
        let down = cx.command(program).args(["down", name]).cleans_up();
        Self { kubeconfig, down: Some(down) }
    }

    /// Whether this run started it.
    pub(crate) fn is_own(&self) -> bool {
        self.down.is_some()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(down) = self.down.take() {
            down.succeeds();
        }
    }
}

/// REALAPI_PORT moves every server; each has its own ten ports from there on, so that two run at a time.
fn up(cx: &Context, program: &std::path::Path, name: &str) -> Command {
    let command = cx.command(program).args(["up", name]);
    let first = std::env::var("REALAPI_PORT").ok().and_then(|port| port.parse::<u16>().ok());
    match first {
        Some(first) => command.env("REALAPI_PORT", (first + if name == "core" { 10 } else { 0 }).to_string()),
        None => command,
    }
}

/// Where `realapi` keeps its programs and data.
pub(crate) fn home() -> PathBuf {
    let cache = || std::env::home_dir().unwrap_or_default().join(".cache/realapi");
    std::env::var_os("REALAPI_HOME").map_or_else(cache, PathBuf::from)
}
