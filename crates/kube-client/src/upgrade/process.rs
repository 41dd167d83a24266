//! [`AttachedProcess`]: the streams of a process in a container.

use std::future::Future;

use futures::channel::mpsc;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube_core::subresource::AttachParams;
use serde::{Deserialize, Serialize};
use tokio::io::{ReadHalf, SimplexStream, WriteHalf};
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
/// Each stream can be taken once. Read those that were asked for: what is not read holds up the process when the buffer is full, as
/// with any pipe. Close the input by `shutdown`, dropping it does not tell anybody; processes that read to the end need version 5 of
/// the protocol for that (Kubernetes 1.30 and later).
#[derive(Debug)]
pub struct AttachedProcess {
    stdin: Option<WriteHalf<SimplexStream>>,
    stdout: Option<ReadHalf<SimplexStream>>,
    stderr: Option<ReadHalf<SimplexStream>>,
    status: Option<oneshot::Receiver<Status>>,
    terminal_size: Option<mpsc::Sender<TerminalSize>>,
    task: JoinHandle<Result<(), ChannelError>>,
}

/// Bytes that are buffered in each direction unless said otherwise.
const BUFFER: usize = 1024;

impl AttachedProcess {
    /// Starts the task that serves the streams.
    pub(crate) fn start(connection: Connection, ap: &AttachParams) -> Self {
        let pipe = |wanted: bool, size: Option<usize>| {
            wanted.then(|| tokio::io::simplex(size.unwrap_or(BUFFER).max(1))).unzip()
        };
        let (stdin_reader, stdin) = pipe(ap.stdin, ap.max_stdin_buf_size);
        let (stdout, stdout_writer) = pipe(ap.stdout, ap.max_stdout_buf_size);
        let (stderr, stderr_writer) = pipe(ap.stderr, ap.max_stderr_buf_size);
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

    /// Waits until the process has ended. Output that nobody has taken is thrown away.
    ///
    /// # Errors
    /// If the connection broke before the end. That the process failed is no error here but told by [`AttachedProcess::take_status`].
    pub async fn join(mut self) -> Result<(), ChannelError> {
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
