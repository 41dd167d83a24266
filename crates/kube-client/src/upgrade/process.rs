//! [`AttachedProcess`]: the streams of a process in a container.

use std::future::Future;

use futures::channel::mpsc;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube_core::subresource::AttachParams;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncWriteExt, ReadHalf, SimplexStream, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::pipe::Feed;
use super::process_task::{Ends, run};
use super::{ChannelError, Connection};

/// The size of a terminal in characters.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TerminalSize {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

/// A process in a container whose streams are here. Dropping it closes the connection; readers then come to an end.
///
/// Each stream can be taken once. Close the input by `shutdown`, dropping it does not tell anybody; processes that read to the end
/// need version 5 of the protocol for that (Kubernetes 1.30 and later).
///
/// # Output that nobody reads
/// Up to `max_stdout_buf_size` and `max_stderr_buf_size` bytes of output wait for their reader, 1 MiB each unless set. A reader that
/// takes nothing beyond that holds up the process, the other stream and the status, as a full pipe does. That includes a reader that
/// was taken and dropped, because tokio's `SimplexStream` does not report that its reader is gone. So do not ask for a stream that is
/// of no interest (`AttachParams::stdout(false)`), or do not take it: [`AttachedProcess::join`] reads on and discards the output.
///
/// # Output that was cut off
/// The end of a stream does not say that the output is complete: a connection that breaks ends the streams too. The output is complete
/// if [`AttachedProcess::join`] is `Ok`, or if [`AttachedProcess::take_status`] gives a status.
///
/// ```no_run
/// # use {k8s_openapi::api::core::v1::Pod, kube_client::{Api, api::AttachParams}};
/// # async fn copy(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
/// let params = AttachParams::default().stderr(false);
/// let mut process = pods.exec("web", ["tar", "cf", "-", "/data"], &params).await?;
/// let mut stdout = process.stdout().ok_or("asked for")?;
/// let status = process.take_status().ok_or("not taken yet")?;
/// let mut archive = tokio::io::sink(); // for example a file
/// tokio::io::copy(&mut stdout, &mut archive).await?;
/// process.join().await?; // an error: the archive may be cut off
/// let succeeded = status.await.is_some_and(|status| status.status.as_deref() == Some("Success"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AttachedProcess {
    stdin: Option<WriteHalf<SimplexStream>>,
    stdout: Option<ReadHalf<SimplexStream>>,
    stderr: Option<ReadHalf<SimplexStream>>,
    status: Option<oneshot::Receiver<Status>>,
    terminal_size: Option<mpsc::Sender<TerminalSize>>,
    task: JoinHandle<Result<(), ChannelError>>,
}

/// Bytes of input that are buffered unless said otherwise.
const INPUT_BUFFER: usize = 1024;

/// Bytes that are buffered of each output unless said otherwise. Memory is used for what waits there, not ahead of it.
const OUTPUT_BUFFER: usize = 1 << 20;

impl AttachedProcess {
    /// Starts the task that serves the streams.
    pub(crate) fn start(connection: Connection, ap: &AttachParams) -> Self {
        let pipe = |wanted: bool, size: usize| wanted.then(|| tokio::io::simplex(size.max(1))).unzip();
        let (stdin_reader, stdin) = pipe(ap.stdin, ap.max_stdin_buf_size.unwrap_or(INPUT_BUFFER));
        let (stdout, stdout_writer) = pipe(ap.stdout, ap.max_stdout_buf_size.unwrap_or(OUTPUT_BUFFER));
        let (stderr, stderr_writer) = pipe(ap.stderr, ap.max_stderr_buf_size.unwrap_or(OUTPUT_BUFFER));
        let (terminal_size, sizes) = ap.tty.then(|| mpsc::channel(4)).unzip();
        let (status_sender, status) = oneshot::channel();
        let ends = Ends {
            stdin: stdin_reader,
            stdout: stdout_writer.map(Feed::new),
            stderr: stderr_writer.map(Feed::new),
            status: Some(status_sender),
            sizes,
        };
        let closes_streams = connection.supports_stream_close();
        let task = tokio::spawn(run(connection.into_stream(), closes_streams, ends));
        Self { stdin, stdout, stderr, status: Some(status), terminal_size, task }
    }

    /// What the process reads. `None` if it was not asked for, or is taken.
    pub fn stdin(&mut self) -> Option<WriteHalf<SimplexStream>> {
        self.stdin.take()
    }

    /// What the process writes. `None` if it was not asked for, or is taken.
    pub fn stdout(&mut self) -> Option<ReadHalf<SimplexStream>> {
        self.stdout.take()
    }

    /// The errors that the process writes. `None` if they were not asked for, or are taken.
    pub fn stderr(&mut self) -> Option<ReadHalf<SimplexStream>> {
        self.stderr.take()
    }

    /// How the process ends: `Success`, or `Failure` with its exit code among the causes. The future gives `None` if the connection
    /// ends before that is known.
    pub fn take_status(&mut self) -> Option<impl Future<Output = Option<Status>> + use<>> {
        let status = self.status.take()?;
        Some(async move { status.await.ok() })
    }

    /// Takes sizes for the terminal. `None` if there is no terminal, or it is taken.
    pub fn terminal_size(&mut self) -> Option<mpsc::Sender<TerminalSize>> {
        self.terminal_size.take()
    }

    /// Closes the connection. What the process does then is its own affair.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Waits until the process has ended. Input that nobody has taken is closed, output that nobody has taken is read and discarded.
    ///
    /// # Errors
    /// If the connection ended before the status of the process arrived; the output may be cut off then. That the process failed is no
    /// error here: [`AttachedProcess::take_status`] tells that.
    pub async fn join(mut self) -> Result<(), ChannelError> {
        if let Some(mut stdin) = self.stdin.take() {
            // It is in memory: this neither waits nor fails.
            let _ = stdin.shutdown().await;
        }
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let ((), (), ended) = tokio::join!(discard(stdout), discard(stderr), &mut self.task);
        ended.unwrap_or_else(|err| {
            Err(if err.is_panic() { ChannelError::Panicked } else { ChannelError::Aborted })
        })
    }
}

impl Drop for AttachedProcess {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn discard(reader: Option<ReadHalf<SimplexStream>>) {
    if let Some(mut reader) = reader {
        let _ = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await;
    }
}
