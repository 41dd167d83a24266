//! Runs exec plugins and commands of auth providers, with limits on time and output.

use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::AuthError;
use super::error::tail;
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

/// What a command has printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    pub(super) stdout: Vec<u8>,
    /// The end of it.
    stderr: Vec<u8>,
}

impl Printed {
    /// Adds the end of stderr to an error: the reason is often there, also if the exit code is 0.
    pub(super) fn explain(&self, err: AuthError) -> AuthError {
        match tail(&self.stderr) {
            reason if reason.is_empty() => err,
            reason => AuthError::AuthExec(format!("{err}; its stderr: {reason}")),
        }
    }
}

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
    /// Waits until the command has ended, whatever it has started in the background. The command is killed after the timeout, when it
    /// prints too much, or when the future is dropped.
    ///
    /// stderr is printed immediately, as by client-go: it may ask the user to log in elsewhere. Its end is part of errors.
    pub(super) async fn run(&self, mut command: Command) -> Result<Printed, AuthError> {
        command.stdin(if self.interactive { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        tracing::debug!(command = %self.command_line, "running the exec plugin");
        let child = command.spawn().map_err(|err| self.cannot_start(&command, &err))?;
        let mut printed = Printed::default();
        let finished = match self.timeout {
            Some(timeout) => tokio::time::timeout(timeout, self.finish(child, &mut printed)).await,
            None => Ok(self.finish(child, &mut printed).await),
        };
        let status = finished.unwrap_or_else(|_| {
            Err(printed.explain(AuthError::AuthExec(format!(
                "the exec plugin `{}` did not finish within {} s and was stopped",
                self.command_line,
                self.timeout.unwrap_or_default().as_secs_f64()
            ))))
        })?;
        if !status.success() {
            // stdout may contain a credential.
            let out = Box::new(Output { status, stdout: Vec::new(), stderr: printed.stderr });
            return Err(AuthError::AuthExecRun { cmd: self.command_line.to_owned(), out });
        }
        Ok(printed)
    }

    /// Reads both pipes until the command has ended, and then what is still in them.
    async fn finish(&self, mut child: Child, printed: &mut Printed) -> Result<ExitStatus, AuthError> {
        let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let status = loop {
            let known = printed.stderr.len();
            let read = tokio::select! {
                // In this order: a command that prints endlessly is stopped, so the others do not wait for ever.
                biased;
                read = read(&mut stdout, &mut printed.stdout), if stdout.is_some() => read,
                read = read(&mut stderr, &mut printed.stderr), if stderr.is_some() => read,
                ended = child.wait() => break ended.map_err(|err| self.read_error(&err))?,
            };
            read.map_err(|err| self.read_error(&err))?;
            self.accept(printed, known)?;
        };
        // Not up to the ends of the pipes: a process that the command leaves in the background may keep them open for ever.
        let known = printed.stderr.len();
        if let Some(stdout) = stdout {
            read_rest(stdout, &mut printed.stdout).await.map_err(|err| self.read_error(&err))?;
        }
        if let Some(stderr) = stderr {
            read_rest(stderr, &mut printed.stderr).await.map_err(|err| self.read_error(&err))?;
        }
        self.accept(printed, known)?;
        Ok(status)
    }

    /// Shows what is new in stderr, and limits what is kept.
    fn accept(&self, printed: &mut Printed, known: usize) -> Result<(), AuthError> {
        if printed.stdout.len() > MAX_STDOUT {
            return Err(AuthError::AuthExec(format!(
                "the exec plugin `{}` printed more than {MAX_STDOUT} bytes and was stopped",
                self.command_line
            )));
        }
        show(printed.stderr.get(known..).unwrap_or_default());
        printed.stderr.drain(..printed.stderr.len().saturating_sub(MAX_STDERR));
        Ok(())
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

/// Prints to this process's stderr. One that is closed is not an error.
#[cfg(not(test))]
fn show(text: &[u8]) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text);
}

/// The same so that the test harness can capture it.
#[cfg(test)]
fn show(text: &[u8]) {
    eprint!("{}", String::from_utf8_lossy(text));
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

/// Appends what is in the pipe of a process that has ended, without waiting for its other writers.
#[cfg(unix)]
#[expect(clippy::unused_async, reason = "it waits on other platforms")]
async fn read_rest(pipe: impl std::os::fd::AsFd, printed: &mut Vec<u8>) -> std::io::Result<()> {
    // The copy of the descriptor does not block either. Not by tokio, which may not know yet that there is something to read.
    let mut pipe = std::fs::File::from(pipe.as_fd().try_clone_to_owned()?);
    let mut limited = std::io::Read::take(&mut pipe, MAX_STDOUT as u64 + 1);
    match std::io::Read::read_to_end(&mut limited, printed) {
        Err(err) if err.kind() != std::io::ErrorKind::WouldBlock => Err(err),
        _ => Ok(()),
    }
}

/// The same with a short wait, as a pipe has no such read.
#[cfg(not(unix))]
async fn read_rest(mut pipe: impl AsyncRead + Unpin, printed: &mut Vec<u8>) -> std::io::Result<()> {
    let mut limited = (&mut pipe).take(MAX_STDOUT as u64 + 1);
    match tokio::time::timeout(Duration::from_secs(1), limited.read_to_end(printed)).await {
        Ok(read) => read.map(drop),
        Err(_) => Ok(()),
    }
}
