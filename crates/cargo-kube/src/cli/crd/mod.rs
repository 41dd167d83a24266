//! `cargo kube crd`: changes of definitions of custom resources.

mod check;
mod diff;
mod migrate;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Changes of definitions: what they break, and stored objects in the new version
#[derive(Debug, Args)]
pub(super) struct Crd {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Diff(diff::Diff),
    Check(check::Check),
    Migrate(migrate::Migrate),
}

impl Crd {
    pub(super) fn run(self) -> Result<ExitCode> {
        match self.command {
            Command::Diff(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Migrate(command) => command.run(),
        }
    }
}
