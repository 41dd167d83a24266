//! Calls the subcommand `manifests` of a program.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::{process::Process, select::Program};

/// Manifests are made without a server, so a program that takes longer does something else.
const LIMIT: Duration = Duration::from_secs(60);

/// The beginning of the first line of generated files.
const HEADER: &str = "# Generated from the code of ";

/// A call of the subcommand.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) executable: &'a Path,
    pub(crate) arguments: Vec<OsString>,
    /// Whether its output is shown rather than returned.
    pub(crate) shown: bool,
}

impl Call<'_> {
    /// How it ended, and what it printed.
    ///
    /// The program finds no cluster: one that does not know the subcommand, and begins its work instead, must not do it anywhere.
    ///
    /// # Errors
    /// The program cannot be started, or does not end in a minute.
    pub(crate) async fn run(&self) -> Result<(ExitStatus, String)> {
        let mut command = Command::new(self.executable);
        command.arg("manifests").args(&self.arguments);
        command.env("KUBECONFIG", "/nonexistent/kubeconfig");
        command.env_remove("KUBERNETES_SERVICE_HOST").env_remove("KUBERNETES_SERVICE_PORT");
        command.stdout(if self.shown { Stdio::inherit() } else { Stdio::piped() });
        let cannot = || format!("{} cannot be run", self.executable.display());
        let mut process = Process::start(&mut command).with_context(cannot)?;
        let mut text = String::new();
        let ending = async {
            if let Some(mut output) = process.take_output() {
                output.read_to_string(&mut text).await?;
            }
            process.ended().await
        };
        match tokio::time::timeout(LIMIT, ending).await {
            Ok(ended) => Ok((ended.with_context(cannot)?, text)),
            Err(_) => Err(self.failed(&format!("did not end within {} s", LIMIT.as_secs()))),
        }
    }

    /// An error unless it ended well.
    pub(crate) fn check(&self, status: ExitStatus) -> Result<()> {
        match status.success() {
            true => Ok(()),
            false => Err(self.failed(&format!("ended with {}, with the message above", ended_by(status)))),
        }
    }

    fn failed(&self, what: &str) -> anyhow::Error {
        let arguments = self.arguments.iter().map(|argument| argument.to_string_lossy());
        let arguments = arguments.collect::<Vec<_>>().join(" ");
        anyhow!(
            "`{} manifests {arguments}` {what}: expected a program whose subcommand `manifests` writes manifests, \
             as kube::operator::manifests::ManifestsCommand does",
            Program::shown(self.executable)
        )
    }
}

/// Has a program write its manifests below a folder: `install.yaml` and `samples/`.
///
/// # Errors
/// It has no such subcommand, or it failed. What it said is on standard error.
pub(crate) async fn manifests(executable: &Path, folder: &Path) -> Result<()> {
    let mut call = Call { executable, arguments: vec![folder.into()], shown: false };
    let (status, _) = call.run().await?;
    call.check(status)?;
    written(&call, folder)?;
    if !folder.join("install.yaml").exists() {
        // It is not among the forms that the program chooses.
        call.arguments.splice(0..0, ["--form".into(), "yaml".into()]);
        let (status, _) = call.run().await?;
        call.check(status)?;
    }
    Ok(())
}

/// An error if the folder has no generated file: a program that ignores its arguments ends well, too.
pub(crate) fn written(call: &Call<'_>, folder: &Path) -> Result<()> {
    let found = match has_generated(folder) {
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => false,
        found => found.with_context(|| folder.display().to_string())?,
    };
    if found { Ok(()) } else { Err(call.failed("wrote no manifest")) }
}

fn has_generated(folder: &Path) -> std::io::Result<bool> {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let mut start = Vec::new();
            fs::File::open(entry.path())?.take(HEADER.len() as u64).read_to_end(&mut start)?;
            if start == HEADER.as_bytes() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// `exit code 1`, or the signal.
pub(crate) fn ended_by(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}
