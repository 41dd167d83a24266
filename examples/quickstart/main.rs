//! A complete controller in one program: it registers a custom resource, reconciles objects of it and cleans up. Each step prints a line.
//!
//! ```text
//! cargo run --example quickstart               # on an embedded API server
//! cargo run --example quickstart -- --stay     # the same, then keeps running for kubectl
//! cargo run --example quickstart -- --cluster  # on the cluster of the current kubeconfig
//! ```
//!
//! The files, in reading order: `page.rs` (the custom resource), `controller.rs` (its controller), `scenario.rs` (the steps), `cluster.rs`
//! (embedded server or real cluster), `log_format.rs` (the format of log lines).

// In a program, `pub` only marks what other files of the program use.
#![allow(unreachable_pub)]

mod cluster;
mod controller;
mod log_format;
mod page;
mod scenario;

use std::process::ExitCode;

use kube::error::ErrorChain;
use tracing_subscriber::EnvFilter;

const USAGE: &str = "usage: quickstart [--cluster] [--stay]

  --cluster  run against the cluster of the current kubeconfig instead of an embedded server
  --stay     keep the server and the controller running for kubectl until Ctrl-C";

/// Command line options.
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
    // Log lines show each reconcile: the message of the reconciler, and the reason from the span of the controller.
    tracing_subscriber::fmt()
        .with_env_filter(
            EnvFilter::try_from_default_env()
                .unwrap_or_else(|_| "warn,quickstart=info,kube_runtime=info".into()),
        )
        .with_writer(std::io::stdout)
        .with_ansi(false)
        .event_format(log_format::LogFormat)
        .init();

    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    match scenario::run(&options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {}", ErrorChain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
