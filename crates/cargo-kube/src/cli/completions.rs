//! `cargo kube completions`.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::output::print;

/// Shell completions, on standard output
#[derive(Debug, Args)]
#[command(after_help = "\
They complete `cargo-kube`; `cargo kube` is Cargo's to complete. For bash, of this shell:
    source <(cargo kube completions bash)")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, mut command: Command) -> Result<ExitCode> {
        let mut text = Vec::new();
        generate(self.shell, &mut command, "cargo-kube", &mut text);
        print(&String::from_utf8_lossy(&text))?;
        Ok(ExitCode::SUCCESS)
    }
}
