//! Runs exec plugins and commands of auth providers, with limits on time and output.

use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::AuthError;
use crate::config::redacted_args;

/// How to run a command.
pub(super) struct Subprocess<'a> {
    /// Command and arguments as errors and logs show them.
    pub(super) command_line: &'a str,
    /// Shown if the command is not installed.
    pub(super) install_hint: Option<&'a str>,
    /// Whether the command may use the terminal.
    pub(super) interactive: bool,
    /// The command is killed after this time; `None` is no limit.
    pub(super) timeout: Option<Duration>,
}

/// The largest accepted stdout. The command is stopped beyond it.
const MAX_STDOUT: usize = 1 << 20;

/// How much of the end of stderr is kept.
const MAX_STDERR: usize = 1 << 16;

/// The command line without secrets.
pub(super) fn redacted(command: &str, args: &[String]) -> String {
    let mut line = command.to_owned();
    for arg in redacted_args(args) {
        line.push(' ');
        line.push_str(&arg);
    }
    line
}

impl Subprocess<'_> {
    /// Returns stdout. The command is killed after the timeout, when it prints too much, or when the future is dropped.
    ///
    /// stderr is part of the error if the command fails. If it may use the terminal, stderr is also printed there immediately.
    pub(super) async fn run(&self, mut command: Command) -> Result<Vec<u8>, AuthError> {
        command.stdin(if self.interactive { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        tracing::debug!(command = %self.command_line, "running the exec plugin");
        let child = command.spawn().map_err(|err| self.cannot_start(&command, &err))?;
        let finished = match self.timeout {
            Some(timeout) => tokio::time::timeout(timeout, self.finish(child)).await.map_err(|_| {
                AuthError::AuthExec(format!(
                    "the exec plugin `{}` did not finish within {} s and was stopped",
                    self.command_line,
                    timeout.as_secs_f64()
                ))
            })?,
            None => self.finish(child).await,
        };
        let (status, stdout, stderr) = finished?;
        if !status.success() {
            // stdout may contain a credential.
            let out = Box::new(Output { status, stdout: Vec::new(), stderr });
            return Err(AuthError::AuthExecRun { cmd: self.command_line.to_owned(), out });
        }
        if !self.interactive && !stderr.is_empty() {
            let stderr = String::from_utf8_lossy(&stderr);
            tracing::debug!(command = %self.command_line, %stderr, "the exec plugin printed to stderr");
        }
        Ok(stdout)
    }

    /// Reads both pipes to their ends.
    async fn finish(&self, mut child: Child) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), AuthError> {
        let (mut stdout_pipe, mut stderr_pipe) = (child.stdout.take(), child.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while stdout_pipe.is_some() || stderr_pipe.is_some() {
            let known = stderr.len();
            let read = tokio::select! {
                // In this order: a command that prints endlessly is stopped, so stderr does not wait for ever.
                biased;
                read = read(&mut stdout_pipe, &mut stdout), if stdout_pipe.is_some() => read,
                read = read(&mut stderr_pipe, &mut stderr), if stderr_pipe.is_some() => read,
            };
            read.map_err(|err| self.read_error(&err))?;
            if stdout.len() > MAX_STDOUT {
                return Err(AuthError::AuthExec(format!(
                    "the exec plugin `{}` printed more than {MAX_STDOUT} bytes and was stopped",
                    self.command_line
                )));
            }
            if self.interactive {
                // The user must see prompts. A closed stderr is not an error.
                let _ = std::io::Write::write_all(
                    &mut std::io::stderr(),
                    stderr.get(known..).unwrap_or_default(),
                );
            }
            stderr.drain(..stderr.len().saturating_sub(MAX_STDERR));
        }
        let status = child.wait().await.map_err(|err| self.read_error(&err))?;
        Ok((status, stdout, stderr))
    }

    /// Adds the kubeconfig's install hint: mostly the command is not installed.
    fn cannot_start(&self, command: &Command, err: &std::io::Error) -> AuthError {
        let program = command.as_std().get_program().to_string_lossy();
        let hint = self.install_hint.map(|hint| format!("\n{}", hint.trim()));
        let text = format!("{program}: {err}{}", hint.unwrap_or_default());
        AuthError::AuthExecStart(std::io::Error::new(err.kind(), text))
    }

    fn read_error(&self, err: &std::io::Error) -> AuthError {
        AuthError::AuthExec(format!("cannot read from the exec plugin `{}`: {err}", self.command_line))
    }
}

/// Appends what is printed next. The pipe is `None` after its end.
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, printed: &mut Vec<u8>) -> std::io::Result<()> {
    if let Some(open) = pipe
        && open.read_buf(printed).await? == 0
    {
        *pipe = None;
    }
    Ok(())
}
