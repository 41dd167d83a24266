//! Builds a program with Cargo.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use cargo_metadata::{Message, TargetKind};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::{process::Process, select::Program};

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) executable: PathBuf,
    /// Whether it was built before already, from the same sources.
    pub(crate) fresh: bool,
}

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotBuilt {
    #[error("{0} does not build: see the messages of Cargo above")]
    Failed(String),
    #[error("cargo cannot be run: {0}")]
    Cargo(#[from] std::io::Error),
    #[error("cargo build ended with {0} and named no program {1}")]
    NoProgram(ExitStatus, String),
}

/// Builds the program. Cargo's messages go to standard error.
///
/// # Cancellation
/// Cargo and the compilers are killed.
pub(crate) async fn build(program: &Program) -> Result<Built, NotBuilt> {
    // The one that runs this program, if any.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--message-format=json-render-diagnostics", "--manifest-path"]);
    command.arg(&program.manifest).args(["--bin", &program.name]).args(&program.build_arguments);
    let mut cargo = Process::start(command.stdout(Stdio::piped()))?;
    let mut messages = Vec::new();
    if let Some(mut output) = cargo.take_output() {
        output.read_to_end(&mut messages).await?;
    }
    let status = cargo.ended().await?;
    if !status.success() {
        return Err(NotBuilt::Failed(program.name.clone()));
    }
    executable(&messages, program).ok_or_else(|| NotBuilt::NoProgram(status, program.name.clone()))
}

fn executable(messages: &[u8], program: &Program) -> Option<Built> {
    let messages = Message::parse_stream(messages).filter_map(Result::ok);
    let artifacts = messages.filter_map(|message| match message {
        Message::CompilerArtifact(artifact) => Some(artifact),
        _ => None,
    });
    let mut programs = artifacts.filter(|artifact| {
        let target = &artifact.target;
        target.name == program.name
            && target.kind.contains(&TargetKind::Bin)
            && artifact.manifest_path == program.manifest
    });
    let artifact = programs.next()?;
    Some(Built { executable: artifact.executable?.into_std_path_buf(), fresh: artifact.fresh })
}
