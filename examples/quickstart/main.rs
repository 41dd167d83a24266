//! The main job: a controller from nothing to cleanup, in seconds, each step told in one line.
//!
//! ```text
//! cargo run --example quickstart               # on an API server inside this process
//! cargo run --example quickstart -- --stay     # the same, then stay up for kubectl
//! cargo run --example quickstart -- --cluster  # on the cluster of the current kubeconfig
//! ```
//!
//! Read on in `page.rs` (the custom resource), `controller.rs` (what reconciles it), `story.rs` (the steps),
//! `cluster.rs` (where it runs) and `lines.rs` (how it prints).

// A program has no outside: `pub` marks here what another file uses.
#![allow(unreachable_pub)]

mod cluster;
mod controller;
mod lines;
mod page;
mod story;

use std::process::ExitCode;

use kube::error::ErrorChain;
use tracing_subscriber::EnvFilter;

const USAGE: &str = "usage: quickstart [--cluster] [--stay]

  --cluster  run against the cluster of the current kubeconfig instead of a server inside this process
  --stay     keep the server and the controller running at the end, for kubectl; Ctrl-C ends it";

/// What the command line asks for.
#[derive(Debug, Default)]
struct Options {
    cluster: bool,
    stay: bool,
}

impl Options {
    fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            match arg.as_str() {
                "--cluster" => options.cluster = true,
                "--stay" => options.stay = true,
                "--help" | "-h" => return Err(USAGE.into()),
                other => return Err(format!("unknown argument `{other}`\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    // Reconciles are told as log lines: the reconciler's own message, and the reason that the controller put into its span.
    tracing_subscriber::fmt()
        .with_env_filter(
            EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| "warn,quickstart=info,kube_runtime=info".into()),
        )
        .with_writer(std::io::stdout)
        .with_ansi(false)
        .event_format(lines::Lines)
        .init();

    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    match story::tell(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {}", ErrorChain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
