//! `cargo kube verify`: breaks the operator of the project in every place, as its test `verify` says. `init` writes that test.
//!
//! - `run`: builds the test and runs it.
//! - `init`: the subcommand that reads the project and writes the test.
//! - `manifest`: where the project has `kube` from, and the dependencies of the test in its Cargo.toml.
//! - `workload`: what users do, from the definitions and the samples.
//! - `test_file`: the text of the test.

mod init;
mod manifest;
mod run;
mod test_file;
mod workload;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Break the operator in every place: crashes, lost answers, refusals, old caches
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Runs the test target `verify` of the package (tests/verify.rs, with the crate kube-verify), without a
kubeconfig and a home folder. A finding has a plan, which --plan repeats.
Exit codes: 0 nothing found; 1 the operator breaks; 2 wrong input, a project that does not build."
)]
pub(super) struct Verify {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    run: run::Run,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
}

impl Verify {
    pub(super) fn run(self) -> Result<ExitCode> {
        match self.command {
            Some(Command::Init(command)) => command.run(),
            None => self.run.run(),
        }
    }
}
