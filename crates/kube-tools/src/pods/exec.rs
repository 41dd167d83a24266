//! Runs a command to its end, and returns its exit code and what it printed.

use std::fmt;

use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube_client::api::{AttachedProcess, ChannelError};
use kube_client::client::with_verb;
use kube_client::error::{Error, ErrorChain};
use kube_client::{Api, Client};
use kube_core::Request;
use kube_core::subresource::AttachParams;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::container::{container_names, default_container, out_of};
use super::summary::summaries;

/// How [`ApiExt::exec_output`](crate::ApiExt::exec_output) runs a command.
///
/// ```
/// use kube_tools::pods::ExecParams;
/// let params = ExecParams::default().container("app").stdin("input of the command").limit(64 << 10);
/// assert_eq!(params.limit, 65_536);
/// ```
#[derive(Clone, Debug)]
pub struct ExecParams {
    /// The container. `None` for the one that [`ApiExt::default_container`](crate::ApiExt::default_container) returns.
    pub container: Option<String>,
    /// The input of the command. `None` for no input.
    pub stdin: Option<Bytes>,
    /// The most bytes that are kept of the output, and as many of the error output. 10 MiB by default.
    pub limit: usize,
}

impl Default for ExecParams {
    fn default() -> Self {
        Self { container: None, stdin: None, limit: 10 << 20 }
    }
}

impl ExecParams {
    /// Sets the [`container`](Self::container).
    #[must_use]
    pub fn container(mut self, name: impl Into<String>) -> Self {
        self.container = Some(name.into());
        self
    }

    /// Sets the [`stdin`](Self::stdin).
    #[must_use]
    pub fn stdin(mut self, input: impl Into<Bytes>) -> Self {
        self.stdin = Some(input.into());
        self
    }

    /// Sets the [`limit`](Self::limit) in bytes.
    #[must_use]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }
}

/// A command that has ended: its exit code, and all that it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Output {
    /// The exit code.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed as errors.
    pub stderr: Vec<u8>,
    /// The command and its pod, for errors.
    ran: String,
}

impl Output {
    /// Of a command whose output went elsewhere.
    #[cfg(feature = "cp")]
    pub(super) fn without_stdout(ran: String, status: ExitStatus, stderr: Vec<u8>) -> Self {
        Self { status, stdout: Vec::new(), stderr, ran }
    }

    /// The same output if the exit code is 0.
    ///
    /// # Errors
    /// [`ExecError::Failed`] otherwise; its text has the exit code and the end of the error output.
    pub fn exit_ok(self) -> Result<Self, ExecError> {
        if self.status.success() { Ok(self) } else { Err(ExecError::Failed { output: Box::new(self) }) }
    }
}

/// The exit code of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExitStatus(i32);

impl ExitStatus {
    /// Whether the exit code is 0.
    pub fn success(self) -> bool {
        self.0 == 0
    }

    /// The exit code. For a command that a signal ended, container runtimes report 128 and the signal's number.
    pub fn code(self) -> i32 {
        self.0
    }

    /// The exit code in the status of a process; `None` if the command was not run.
    fn of(status: &Status) -> Option<Self> {
        if status.status.as_deref() == Some("Success") {
            return Some(Self(0));
        }
        let causes = status.details.as_ref()?.causes.as_deref()?;
        let cause = causes.iter().find(|cause| cause.reason.as_deref() == Some("ExitCode"))?;
        cause.message.as_deref()?.parse().ok().map(Self)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

/// Why a command has no complete [`Output`].
#[derive(Debug, Error)]
pub enum ExecError {
    /// The request was not valid, or the server refused it.
    #[error("cannot run {ran}: {}", ErrorChain(source))]
    Request {
        /// The command and its pod.
        ran: String,
        /// The cause.
        source: Error,
    },
    /// The connection ended before the exit code arrived. The command may have run.
    #[error("{ran} was cut off: {}", ErrorChain(source))]
    Disconnected {
        /// The command and its pod.
        ran: String,
        /// The cause.
        source: ChannelError,
    },
    /// The server cannot tell the command where its input ends: it is older than Kubernetes 1.30. The command has been started, without
    /// input.
    #[error("cannot end the input of {ran}: the server is older than Kubernetes 1.30")]
    StdinUnsupported {
        /// The command and its pod.
        ran: String,
    },
    /// The container has no such program, or its runtime could not start it.
    #[error("cannot run {ran}: {message}")]
    NotRun {
        /// The command and its pod.
        ran: String,
        /// The message of the container runtime.
        message: String,
    },
    /// The command printed more than [`ExecParams::limit`]. The output is that of a command that ran to its end, cut after so many bytes.
    #[error("{} printed more than {limit} bytes, the limit of ExecParams", output.ran)]
    OutputLimit {
        /// The limit in bytes.
        limit: usize,
        /// The first bytes of what it printed, and its exit code.
        output: Box<Output>,
    },
    /// The exit code is not 0: only by [`Output::exit_ok`].
    #[error("{} failed with {}{}", output.ran, output.status, Excerpt(&output.stderr))]
    Failed {
        /// What it printed, and its exit code.
        output: Box<Output>,
    },
}

/// The end of an error output, in one line, after a colon.
pub(super) struct Excerpt<'a>(pub(super) &'a [u8]);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LENGTH: usize = 1000;
        let text = String::from_utf8_lossy(&self.0[self.0.len().saturating_sub(LENGTH)..]);
        let text = text.trim();
        if text.is_empty() { Ok(()) } else { write!(f, ": {}", text.replace('\n', "; ")) }
    }
}

pub(crate) async fn exec_output(
    pods: Api<Pod>,
    name: &str,
    command: Vec<String>,
    params: &ExecParams,
) -> Result<Output, ExecError> {
    let container = container_of(&pods, name, params.container.as_deref(), &command).await?;
    let streams = AttachParams { container, ..AttachParams::default() }.stdin(params.stdin.is_some());
    let mut process = start(&pods, name, command, &streams).await?;
    let ran = std::mem::take(&mut process.ran);
    process.output(ran, params.stdin.clone(), params.limit).await
}

/// The container that is meant where none is given. `None` for a pod without containers, which no server has.
pub(crate) async fn default_container_of(pods: &Api<Pod>, name: &str) -> Result<Option<String>, Error> {
    let pod = summaries(pods).get(name).await?;
    Ok(default_container(&pod).map(str::to_owned))
}

/// The container of a command. `None` if it is not given and the pod must not be read: then the server decides.
pub(super) async fn container_of(
    pods: &Api<Pod>,
    name: &str,
    requested: Option<&str>,
    command: &[String],
) -> Result<Option<String>, ExecError> {
    if let Some(requested) = requested {
        return Ok(Some(requested.to_owned()));
    }
    match default_container_of(pods, name).await {
        Err(Error::Api(status)) if matches!(status.code, 401 | 403) => Ok(None),
        chosen => chosen.map_err(|source| ExecError::Request { ran: describe(command, name), source }),
    }
}

/// A process, and what it is called in errors.
pub(super) struct Started {
    pub(super) process: AttachedProcess,
    pub(super) ran: String,
}

/// Starts a command. With stdin, it is sure that the process will see its end.
pub(super) async fn start(
    pods: &Api<Pod>,
    name: &str,
    command: Vec<String>,
    streams: &AttachParams,
) -> Result<Started, ExecError> {
    let ran = describe(&command, name);
    let request = with_verb("exec", Request::new(pods.resource_url()).exec(name, command, streams));
    let client = Client::from(pods.clone());
    let connected = match request {
        Ok(request) => client.connect(request).await,
        Err(err) => Err(err),
    };
    let connection = match connected {
        Ok(connection) => connection,
        Err(source) => {
            let source = explained(source, pods, name, streams.container.as_deref()).await;
            return Err(ExecError::Request { ran, source });
        }
    };
    if streams.stdin && !connection.supports_stream_close() {
        return Err(ExecError::StdinUnsupported { ran });
    }
    Ok(Started { process: AttachedProcess::start(connection, streams), ran })
}

/// The error of a server that does not know the container says which ones there are, as that of kubectl does.
async fn explained(mut err: Error, pods: &Api<Pod>, name: &str, container: Option<&str>) -> Error {
    const BAD_REQUEST: u16 = 400;
    if let (Error::Api(status), Some(container)) = (&mut err, container)
        && status.code == BAD_REQUEST
        && let Ok(pod) = summaries(pods).get(name).await
        && container_names(&pod).all(|name| name != container)
    {
        status.message.push(' ');
        status.message.push_str(&out_of(&pod));
    }
    err
}

/// The beginning of the command, and its pod.
pub(super) fn describe(command: &[String], pod: &str) -> String {
    const LENGTH: usize = 200;
    let mut text = command.join(" ");
    if let Some((end, _)) = text.char_indices().nth(LENGTH) {
        text.replace_range(end.., "…");
    }
    format!("`{text}` in pod {pod}")
}

impl Started {
    async fn output(mut self, ran: String, input: Option<Bytes>, limit: usize) -> Result<Output, ExecError> {
        let (stdin, status) = (self.process.stdin_pipe(), self.process.take_status());
        let (stdout, stderr) = (self.process.stdout(), self.process.stderr());
        let write = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A command that does not read all of its input is no error.
                let _ = stdin.write_all(&input).await;
            }
        };
        let ((), stdout, stderr, ended) =
            tokio::join!(write, collect(stdout, limit), collect(stderr, limit), self.process.join());
        let (stdout, stderr) = match (ended, stdout, stderr) {
            (Ok(()), stdout, stderr) => (stdout, stderr),
            (Err(source), _, _) => return Err(ExecError::Disconnected { ran, source }),
        };
        let status = exit_status(&ran, status).await?;
        let cut = stdout.cut || stderr.cut;
        let output = Output { status, stdout: stdout.bytes, stderr: stderr.bytes, ran };
        if cut { Err(ExecError::OutputLimit { limit, output: Box::new(output) }) } else { Ok(output) }
    }
}

/// The exit status of a process that has ended.
pub(super) async fn exit_status(
    ran: &str,
    status: Option<impl Future<Output = Option<Status>>>,
) -> Result<ExitStatus, ExecError> {
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    let Some(status) = status else {
        return Err(ExecError::Disconnected { ran: ran.to_owned(), source: ChannelError::NoStatus });
    };
    ExitStatus::of(&status).ok_or_else(|| {
        let message = status.message.or(status.reason).unwrap_or_else(|| "no reason was given".to_owned());
        ExecError::NotRun { ran: ran.to_owned(), message }
    })
}

/// The first bytes of a stream, and whether there were more.
pub(super) struct Collected {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
}

/// Reads a stream to its end and keeps at most `limit` bytes.
pub(super) async fn collect(reader: Option<impl AsyncRead + Unpin>, limit: usize) -> Collected {
    let mut bytes = Vec::new();
    let Some(mut reader) = reader else { return Collected { bytes, cut: false } };
    let length = u64::try_from(limit).unwrap_or(u64::MAX);
    // A pipe in memory has no errors: a failed connection ends it, which the process reports.
    let _ = (&mut reader).take(length).read_to_end(&mut bytes).await;
    let rest = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await;
    Collected { bytes, cut: rest.is_ok_and(|discarded| discarded > 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: serde_json::Value) -> Status {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_exit_code_is_that_of_the_status() {
        let code = |json| ExitStatus::of(&status(json)).map(ExitStatus::code);
        assert_eq!(code(serde_json::json!({"status": "Success"})), Some(0));
        let causes = |reason, message| {
            serde_json::json!({"status": "Failure", "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "Other"}, {"reason": reason, "message": message}]}})
        };
        assert_eq!(code(causes("ExitCode", "137")), Some(137));
        assert_eq!(code(causes("ExitCode", "x")), None);
        assert_eq!(code(causes("Odd", "1")), None);
        assert_eq!(code(serde_json::json!({"status": "Failure", "reason": "InternalError"})), None);
        assert_eq!(code(serde_json::json!({})), None);
    }

    #[test]
    fn a_long_command_is_cut() {
        let described = describe(&["sh".into(), "é".repeat(1000)], "web");
        assert!(described.starts_with("`sh é") && described.ends_with("é…` in pod web"));
        assert_eq!(described.chars().count(), 214);
    }

    #[tokio::test]
    async fn what_is_over_the_limit_is_read_and_discarded() {
        for (limit, text, cut) in
            [(0, "", true), (3, "abc", true), (6, "abcdef", false), (9, "abcdef", false)]
        {
            let collected = collect(Some(&b"abcdef"[..]), limit).await;
            assert_eq!((collected.bytes.as_slice(), collected.cut), (text.as_bytes(), cut), "{limit}");
        }
    }

    #[test]
    fn a_failure_names_the_command_the_pod_the_code_and_the_error_output() {
        let output = |code, stderr: &str| Output {
            status: ExitStatus(code),
            stdout: Vec::new(),
            stderr: stderr.into(),
            ran: "`ls /x` in pod web".into(),
        };
        let text = |code, stderr| output(code, stderr).exit_ok().unwrap_err().to_string();
        assert_eq!(text(2, "ls: no\nreally\n"), "`ls /x` in pod web failed with exit code 2: ls: no; really");
        assert_eq!(text(1, " \n"), "`ls /x` in pod web failed with exit code 1");
        assert!(text(1, &"é".repeat(5000)).len() < 2000);
        assert!(output(0, "careful").exit_ok().is_ok());
    }
}
