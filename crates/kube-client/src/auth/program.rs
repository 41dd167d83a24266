//! Running a credential program: bounded in time and in what it may print.

use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::AuthError;
use crate::config::redacted_args;

/// A program about to run.
pub(super) struct Program<'a> {
    /// Program and arguments, as errors show them.
    pub(super) shown: &'a str,
    /// What to tell whoever has not installed it.
    pub(super) install_hint: Option<&'a str>,
    /// Whether it may ask on the terminal.
    pub(super) interactive: bool,
    /// Longest time that it may take; `None` is for ever.
    pub(super) limit: Option<Duration>,
}

/// More than any credential; beyond it, the program is stopped.
const MOST_OUTPUT: usize = 1 << 20;

/// Of what a program prints to say what is wrong, the end is kept.
const MOST_REASON: usize = 1 << 16;

/// A program and its arguments as errors show them.
pub(super) fn shown(command: &str, args: &[String]) -> String {
    let mut shown = command.to_owned();
    for arg in redacted_args(args) {
        shown.push(' ');
        shown.push_str(&arg);
    }
    shown
}

impl Program<'_> {
    /// What the program prints. It is killed when it takes too long, prints too much, or nobody waits for it any more.
    ///
    /// What it prints on its standard error output shows at once where it may ask on the terminal, and in the error if it fails.
    pub(super) async fn run(&self, mut command: Command) -> Result<Vec<u8>, AuthError> {
        command.stdin(if self.interactive { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        tracing::debug!(command = %self.shown, "running the credential program");
        let child = command.spawn().map_err(|err| self.cannot_start(&command, &err))?;
        let finished = match self.limit {
            Some(limit) => tokio::time::timeout(limit, self.finish(child)).await.map_err(|_| {
                AuthError::AuthExec(format!(
                    "the credential program `{}` did not finish within {} s and was stopped",
                    self.shown,
                    limit.as_secs_f64()
                ))
            })?,
            None => self.finish(child).await,
        };
        let (status, stdout, stderr) = finished?;
        if !status.success() {
            // What it printed may be, or hold, a credential.
            let out = Box::new(Output { status, stdout: Vec::new(), stderr });
            return Err(AuthError::AuthExecRun { cmd: self.shown.to_owned(), out });
        }
        if !self.interactive && !stderr.is_empty() {
            let said = String::from_utf8_lossy(&stderr);
            tracing::debug!(command = %self.shown, %said, "the credential program had something to say");
        }
        Ok(stdout)
    }

    async fn finish(&self, mut child: Child) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), AuthError> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (stdout, stderr, status) =
            tokio::try_join!(self.read_output(stdout), self.read_reason(stderr), async {
                child.wait().await.map_err(|err| self.broke_off(&err))
            })?;
        Ok((status, stdout, stderr))
    }

    async fn read_output(&self, stdout: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, AuthError> {
        let mut read = Vec::new();
        if let Some(stdout) = stdout {
            let mut limited = stdout.take(MOST_OUTPUT as u64 + 1);
            limited.read_to_end(&mut read).await.map_err(|err| self.broke_off(&err))?;
        }
        if read.len() > MOST_OUTPUT {
            return Err(AuthError::AuthExec(format!(
                "the credential program `{}` printed more than {MOST_OUTPUT} bytes and was stopped",
                self.shown
            )));
        }
        Ok(read)
    }

    async fn read_reason(&self, stderr: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, AuthError> {
        let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
        let Some(mut stderr) = stderr else { return Ok(kept) };
        loop {
            let length = stderr.read(&mut chunk).await.map_err(|err| self.broke_off(&err))?;
            let Some(said) = chunk.get(..length).filter(|said| !said.is_empty()) else { return Ok(kept) };
            if self.interactive {
                // A person has to see what is asked for. That nobody may be looking is no error.
                let _ = std::io::Write::write_all(&mut std::io::stderr(), said);
            }
            kept.extend_from_slice(said);
            kept.drain(..kept.len().saturating_sub(MOST_REASON));
        }
    }

    /// A missing program is the common mistake, and kubeconfigs carry a hint for it.
    fn cannot_start(&self, command: &Command, err: &std::io::Error) -> AuthError {
        let program = command.as_std().get_program().to_string_lossy();
        let hint = self.install_hint.map(|hint| format!("\n{}", hint.trim()));
        let text = format!("{program}: {err}{}", hint.unwrap_or_default());
        AuthError::AuthExecStart(std::io::Error::new(err.kind(), text))
    }

    fn broke_off(&self, err: &std::io::Error) -> AuthError {
        AuthError::AuthExec(format!("the credential program `{}` broke off: {err}", self.shown))
    }
}
