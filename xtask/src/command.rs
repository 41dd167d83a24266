//! Programs that a job runs: in the foreground, for their output, or in the background, each ended when the job is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use duct::{Expression, Handle};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Set by SIGINT and SIGTERM: whatever waits returns an error, so that servers are stopped and folders removed.
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// How often a wait looks at the clock and at signals.
const TICK: Duration = Duration::from_millis(50);

/// Turns SIGINT and SIGTERM into errors of the running job.
pub(crate) fn end_on_signals() -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&INTERRUPTED)).context("cannot listen for signals")?;
    }
    Ok(())
}

/// Waits for a moment, or fails because the program is to end.
pub(crate) fn pause(time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        if INTERRUPTED.load(Ordering::SeqCst) {
            bail!("interrupted");
        }
        std::thread::sleep(left.min(TICK));
    }
    Ok(())
}

/// One run of a program. Standard input is empty unless it is given.
#[derive(Clone)]
pub(crate) struct Command {
    program: OsString,
    args: Vec<OsString>,
    dir: PathBuf,
    env: Vec<(OsString, Option<OsString>)>,
    stdin: Vec<u8>,
    limit: Option<Duration>,
    cleans_up: bool,
}

/// What a program wrote to its two outputs, mixed as it came, and its exit code.
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    pub(crate) code: i32,
}

impl Output {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Command {
    pub(crate) fn new(program: impl AsRef<OsStr>, dir: &Path) -> Self {
        Self {
            program: program.as_ref().into(),
            args: Vec::new(),
            dir: dir.into(),
            env: Vec::new(),
            stdin: Vec::new(),
            limit: None,
            cleans_up: false,
        }
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().into());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), Some(value.as_ref().into())));
        self
    }

    pub(crate) fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().into(), None));
        self
    }

    pub(crate) fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The program is killed after this time.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The program runs to its end even after SIGINT or SIGTERM, because it cleans up.
    pub(crate) fn cleans_up(mut self) -> Self {
        self.cleans_up = true;
        self
    }

    /// Runs the program with the outputs of this one. Anything but exit code 0 is an error.
    pub(crate) fn run(self) -> Result<()> {
        let shown = self.to_string();
        match self.status()? {
            0 => Ok(()),
            code => bail!("{shown}: exit code {code}"),
        }
    }

    /// Runs the program with the outputs of this one; its exit code, whatever it is.
    pub(crate) fn status(self) -> Result<i32> {
        println!("$ {self}");
        let handle = self.expression().unchecked().start().with_context(|| self.to_string())?;
        self.wait(&handle)
    }

    /// Both outputs, and the exit code whatever it is.
    pub(crate) fn output(self) -> Result<Output> {
        let expression = self.expression().stderr_to_stdout().stdout_capture().unchecked();
        let handle = expression.start().with_context(|| self.to_string())?;
        let code = self.wait(&handle)?;
        let bytes = handle.wait().with_context(|| self.to_string())?.stdout.clone();
        Ok(Output { bytes, code })
    }

    /// The standard error alone, and the exit code whatever it is.
    pub(crate) fn errors(self) -> Result<Output> {
        let expression = self.expression().stdout_null().stderr_capture().unchecked();
        let handle = expression.start().with_context(|| self.to_string())?;
        let code = self.wait(&handle)?;
        let bytes = handle.wait().with_context(|| self.to_string())?.stderr.clone();
        Ok(Output { bytes, code })
    }

    /// The standard output without the line end at its end. Anything but exit code 0 is an error.
    pub(crate) fn read(self) -> Result<String> {
        let handle =
            self.expression().stdout_capture().unchecked().start().with_context(|| self.to_string())?;
        let code = self.wait(&handle)?;
        let text =
            String::from_utf8_lossy(&handle.wait().with_context(|| self.to_string())?.stdout).into_owned();
        if code != 0 {
            bail!("{self}: exit code {code}: {text}");
        }
        Ok(text.trim_end().to_owned())
    }

    /// Whether the program runs and exits with code 0; its output is dropped.
    pub(crate) fn succeeds(self) -> bool {
        self.output().is_ok_and(|output| output.code == 0)
    }

    /// As `spawn`, with a standard input that has no end as long as the program is wanted.
    pub(crate) fn spawn_with_input(self, stdout: &Path, stderr: &Path) -> Result<Background> {
        let (reader, writer) = std::io::pipe()?;
        let expression = duct::cmd(&self.program, &self.args).dir(&self.dir).stdin_file(reader);
        let expression = self.with_variables(expression).stdout_path(stdout).stderr_path(stderr);
        let handle = expression.unchecked().start().with_context(|| self.to_string())?;
        Ok(Background { handle, shown: self.to_string(), _stdin: Some(writer) })
    }

    /// Starts the program, with both outputs in files, or with its standard error in the standard output's file if they are the same.
    pub(crate) fn spawn(self, stdout: &Path, stderr: &Path) -> Result<Background> {
        let expression = self.expression();
        // Of two redirections, the later one encloses the earlier one.
        let expression = if stdout == stderr {
            expression.stderr_to_stdout().stdout_path(stdout)
        } else {
            expression.stdout_path(stdout).stderr_path(stderr)
        };
        let handle = expression.unchecked().start().with_context(|| self.to_string())?;
        Ok(Background { handle, shown: self.to_string(), _stdin: None })
    }

    fn expression(&self) -> Expression {
        let mut expression = duct::cmd(&self.program, &self.args).dir(&self.dir);
        expression = if self.stdin.is_empty() {
            expression.stdin_null()
        } else {
            expression.stdin_bytes(&*self.stdin)
        };
        self.with_variables(expression)
    }

    fn with_variables(&self, mut expression: Expression) -> Expression {
        // duct lets the innermost value of a variable win.
        for (name, value) in self.env.iter().rev() {
            expression = match value {
                Some(value) => expression.env(name, value),
                None => expression.env_remove(name),
            };
        }
        expression
    }

    fn wait(&self, handle: &Handle) -> Result<i32> {
        let end = self.limit.map(|limit| Instant::now() + limit);
        loop {
            if let Some(output) = handle.wait_timeout(TICK).with_context(|| self.to_string())? {
                return Ok(code(output));
            }
            let late = end.is_some_and(|end| Instant::now() > end);
            if late || (INTERRUPTED.load(Ordering::SeqCst) && !self.cleans_up) {
                handle.kill().with_context(|| self.to_string())?;
                bail!("{self}: {}", if late { "did not end in time" } else { "interrupted" });
            }
        }
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.program.to_string_lossy())?;
        self.args.iter().try_for_each(|arg| {
            let arg = arg.to_string_lossy();
            if arg.contains(' ') || arg.is_empty() { write!(f, " '{arg}'") } else { write!(f, " {arg}") }
        })
    }
}

/// A program in the background, ended by SIGTERM when this is dropped.
pub(crate) struct Background {
    handle: Handle,
    shown: String,
    _stdin: Option<std::io::PipeWriter>,
}

impl Background {
    pub(crate) fn pid(&self) -> Option<u32> {
        self.handle.pids().first().copied()
    }

    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.handle.try_wait(), Ok(None))
    }

    /// Sends SIGTERM and waits; the exit code, or an error where the program goes on for longer than `limit`.
    pub(crate) fn stop(&self, limit: Duration) -> Result<i32> {
        self.terminate();
        match self.handle.wait_timeout(limit)? {
            Some(output) => Ok(code(output)),
            None => bail!("{} does not end after SIGTERM", self.shown),
        }
    }

    /// Waits until the program ends by itself.
    pub(crate) fn wait(&self, limit: Duration) -> Result<i32> {
        match self.handle.wait_timeout(limit)? {
            Some(output) => Ok(code(output)),
            None => bail!("{} did not end in time", self.shown),
        }
    }

    fn terminate(&self) {
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid.filter(|_| !self.has_ended()) {
            // It may have ended in between.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.stop(Duration::from_secs(5)).is_err() {
            // Nothing is left to do if it cannot be killed.
            let _ = self.handle.kill();
        }
    }
}

/// The exit code as a shell shows it.
fn code(output: &std::process::Output) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        Command::new("sh", Path::new("/")).args(["-c", script])
    }

    #[test]
    fn a_background_program_writes_both_outputs_to_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let program = sh("echo out; echo err >&2").spawn(&log, &log).unwrap();
        assert_eq!(program.wait(Duration::from_secs(10)).unwrap(), 0);
        assert_eq!(std::fs::read_to_string(log).unwrap(), "out\nerr\n");
    }

    #[test]
    fn output_has_both_streams_and_the_exit_code() {
        let output = sh("cat; echo err >&2; exit 3").stdin("in\n").output().unwrap();
        assert_eq!((output.text().as_str(), output.code), ("in\nerr\n", 3));
    }

    #[test]
    fn the_last_value_of_a_variable_wins() {
        let text = sh("echo $A-$B").env("A", "1").env("A", "2").env("B", "x").env_remove("B").read().unwrap();
        assert_eq!(text, "2-");
    }

    #[test]
    fn a_program_that_runs_too_long_is_killed() {
        let error = sh("exec sleep 60").limit(Duration::from_millis(10)).run().unwrap_err();
        assert!(error.to_string().contains("did not end in time"), "{error}");
    }
}
