//! [`AttachedProcess`]: the streams of a process in a container, and the task that serves them.

use std::future::Future;

use futures::StreamExt;
use futures::channel::mpsc;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube_core::subresource::AttachParams;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, DuplexStream, ReadHalf, SimplexStream, WriteHalf};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;

use super::pipe::{PipeWriter, forward};
use super::process_channels::{CLOSE, ProcessChannels, ProcessEvent, RESIZE, STDIN};
use super::socket::{ChannelReceiver, ChannelSender, split};
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

/// The streams of a process in a container. Dropping this closes the connection, which ends all streams.
///
/// Each stream can be taken once. The process sees the end of its input only with version 5 of the channel protocol (Kubernetes 1.30 and
/// later).
///
/// # Input
/// Take [`AttachedProcess::stdin_pipe`]: dropping it closes the input, and writes after the process has ended, or after this was dropped
/// or aborted, are errors (`BrokenPipe`). [`AttachedProcess::stdin`] is of a type that can report neither: close it by `shutdown`; what is
/// written after the end is discarded.
///
/// # Unread output
/// Up to `max_stdout_buf_size` and `max_stderr_buf_size` bytes of output are buffered, 1 MiB each unless set. When a buffer is full, the
/// process, the other stream and the status wait for its reader, as with a full pipe. That includes a reader that was taken and dropped,
/// because tokio's `SimplexStream` does not report the drop. So do not request a stream that you do not read
/// (`AttachParams::stdout(false)`), or do not take it: [`AttachedProcess::join`] reads and discards it.
///
/// # Incomplete output
/// The end of a stream does not mean that the output is complete: a failed connection ends the streams too. The output is complete
/// if [`AttachedProcess::join`] returns `Ok`, or if [`AttachedProcess::take_status`] returns a status.
///
/// ```no_run
/// # use {k8s_openapi::api::core::v1::Pod, kube_client::{Api, api::AttachParams}};
/// # async fn copy(pods: Api<Pod>) -> Result<(), Box<dyn std::error::Error>> {
/// let params = AttachParams::default().stderr(false);
/// let mut process = pods.exec("web", ["tar", "cf", "-", "/data"], &params).await?;
/// let mut stdout = process.stdout().ok_or("stdout is taken")?;
/// let status = process.take_status().ok_or("the status is taken")?;
/// let mut archive = tokio::io::sink(); // for example a file
/// tokio::io::copy(&mut stdout, &mut archive).await?;
/// process.join().await?; // on an error the archive may be incomplete
/// let succeeded = status.await.is_some_and(|status| status.status.as_deref() == Some("Success"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AttachedProcess {
    stdin: Option<DuplexStream>,
    /// In bytes.
    stdin_buffer: usize,
    runtime: Handle,
    stdout: Option<ReadHalf<SimplexStream>>,
    stderr: Option<ReadHalf<SimplexStream>>,
    status: Option<oneshot::Receiver<Status>>,
    terminal_size: Option<mpsc::Sender<TerminalSize>>,
    task: JoinHandle<Result<(), ChannelError>>,
}

/// The default of `max_stdin_buf_size`, in bytes.
const INPUT_BUFFER: usize = 1024;

/// The default of `max_stdout_buf_size` and `max_stderr_buf_size`, in bytes. The buffer grows with its content up to this size.
const OUTPUT_BUFFER: usize = 1 << 20;

impl AttachedProcess {
    /// The streams that `ap` asks for, of a process whose connection [`Client::connect`](crate::Client::connect) has opened with the same
    /// parameters. [`Api::exec`](crate::Api::exec) does both; between them, a program can ask the connection what the server supports.
    ///
    /// ```no_run
    /// # use kube_client::{Client, Result, api::{AttachParams, AttachedProcess}, client::with_verb, core::Request};
    /// # async fn start(client: Client) -> Result<Option<AttachedProcess>> {
    /// let params = AttachParams::default().stdin(true);
    /// let request = Request::new("/api/v1/namespaces/default/pods").exec("web", ["cat"], &params);
    /// let connection = client.connect(with_verb("exec", request)?).await?;
    /// // Without this, the process never sees the end of its input.
    /// Ok(connection.supports_stream_close().then(|| AttachedProcess::start(connection, &params)))
    /// # }
    /// ```
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(connection: Connection, ap: &AttachParams) -> Self {
        let pipe = |wanted: bool, size: usize| wanted.then(|| tokio::io::simplex(size.max(1))).unzip();
        let stdin_buffer = ap.max_stdin_buf_size.unwrap_or(INPUT_BUFFER).max(1);
        let (stdin, stdin_reader) = ap.stdin.then(|| tokio::io::duplex(stdin_buffer)).unzip();
        let (stdout, stdout_writer) = pipe(ap.stdout, ap.max_stdout_buf_size.unwrap_or(OUTPUT_BUFFER));
        let (stderr, stderr_writer) = pipe(ap.stderr, ap.max_stderr_buf_size.unwrap_or(OUTPUT_BUFFER));
        let (terminal_size, sizes) = ap.tty.then(|| mpsc::channel(4)).unzip();
        let (status_sender, status) = oneshot::channel();
        let ends = TaskEnds {
            stdin: stdin_reader,
            stdout: stdout_writer.map(PipeWriter::new),
            stderr: stderr_writer.map(PipeWriter::new),
            status: Some(status_sender),
            sizes,
        };
        let closes_streams = connection.supports_stream_close();
        let task = tokio::spawn(run(connection.into_stream(), closes_streams, ends));
        let runtime = Handle::current();
        Self { stdin, stdin_buffer, runtime, stdout, stderr, status: Some(status), terminal_size, task }
    }

    /// The input of the process. `None` if it was not requested, or is taken.
    ///
    /// Dropping it closes the input. A write is an error (`BrokenPipe`) once the process has ended, and once this was dropped or aborted,
    /// as is a write that waits at that time.
    pub fn stdin_pipe(&mut self) -> Option<impl AsyncWrite + Send + Unpin + use<>> {
        self.stdin.take()
    }

    /// The input of the process, of a type that cannot report the end of the process. `None` if it was not requested, or is taken.
    ///
    /// Close it by `shutdown`: dropping it does not. What is written after the end of the process is discarded; after a minute without a
    /// write nothing is read any more. Prefer [`AttachedProcess::stdin_pipe`].
    pub fn stdin(&mut self) -> Option<WriteHalf<SimplexStream>> {
        let pipe = self.stdin.take()?;
        let (reader, writer) = tokio::io::simplex(self.stdin_buffer);
        self.runtime.spawn(forward(reader, pipe));
        Some(writer)
    }

    /// The output of the process. `None` if it was not requested, or is taken.
    pub fn stdout(&mut self) -> Option<ReadHalf<SimplexStream>> {
        self.stdout.take()
    }

    /// The error output of the process. `None` if it was not requested, or is taken.
    pub fn stderr(&mut self) -> Option<ReadHalf<SimplexStream>> {
        self.stderr.take()
    }

    /// The exit status of the process: `Success`, or `Failure` with the exit code among the causes. The future returns `None` if the
    /// connection ends first.
    pub fn take_status(&mut self) -> Option<impl Future<Output = Option<Status>> + use<>> {
        let status = self.status.take()?;
        Some(async move { status.await.ok() })
    }

    /// Sends sizes of the terminal. `None` if there is no terminal, or the sender is taken.
    pub fn terminal_size(&mut self) -> Option<mpsc::Sender<TerminalSize>> {
        self.terminal_size.take()
    }

    /// Closes the connection. The process may continue to run.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Waits until the process has ended. Closes stdin and discards output, as far as they were not taken.
    ///
    /// # Errors
    /// If the connection ended before the status of the process arrived; the output may be incomplete then. A failure of the process itself
    /// is not an error here, but the status of [`AttachedProcess::take_status`].
    pub async fn join(mut self) -> Result<(), ChannelError> {
        drop(self.stdin.take());
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

/// The task's ends of the streams.
pub(super) struct TaskEnds {
    pub(super) stdin: Option<DuplexStream>,
    pub(super) stdout: Option<PipeWriter>,
    pub(super) stderr: Option<PipeWriter>,
    pub(super) status: Option<oneshot::Sender<Status>>,
    pub(super) sizes: Option<mpsc::Receiver<TerminalSize>>,
}

/// Runs until the server closes the connection. The two directions do not wait for each other.
pub(super) async fn run<T>(
    socket: WebSocketStream<T>,
    closes_streams: bool,
    ends: TaskEnds,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (sender, receiver) = split(socket);
    let TaskEnds { stdin, stdout, stderr, status, sizes } = ends;
    tokio::select! {
        ended = receive(receiver, stdout, stderr, status) => ended,
        Err(err) = send(sender, stdin, sizes, closes_streams) => Err(err),
    }
}

async fn receive<T>(
    mut receiver: ChannelReceiver<T>,
    mut stdout: Option<PipeWriter>,
    mut stderr: Option<PipeWriter>,
    mut status: Option<oneshot::Sender<Status>>,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut streams = ProcessChannels::default();
    loop {
        let (channel, data) = match receiver.next().await {
            Ok(Some(received)) => received,
            // After the status, an error of the connection no longer matters.
            Ok(None) | Err(_) if streams.has_status() => return Ok(()),
            Ok(None) => return Err(ChannelError::NoStatus),
            Err(err) => return Err(err),
        };
        match streams.receive(channel, data)? {
            ProcessEvent::Stdout(data) => deliver(&mut stdout, &data).await,
            ProcessEvent::Stderr(data) => deliver(&mut stderr, &data).await,
            ProcessEvent::StdoutEnd => drop(stdout.take()),
            ProcessEvent::StderrEnd => drop(stderr.take()),
            ProcessEvent::Status(ending) => {
                if let Some(status) = status.take() {
                    let _ = status.send(*ending);
                }
            }
            ProcessEvent::Ignored => {}
        }
    }
}

async fn deliver(writer: &mut Option<PipeWriter>, data: &[u8]) {
    if let Some(writer) = writer {
        writer.send(data).await;
    }
}

/// Returns only errors.
async fn send<T>(
    mut sender: ChannelSender<T>,
    mut stdin: Option<DuplexStream>,
    mut sizes: Option<mpsc::Receiver<TerminalSize>>,
    closes_streams: bool,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut buffer = vec![0; 16 << 10];
    loop {
        tokio::select! {
            read = read(&mut stdin, &mut buffer) => match read {
                0 => {
                    stdin = None;
                    if closes_streams {
                        sender.send(CLOSE, &[STDIN]).await?;
                    }
                }
                length => sender.send(STDIN, &buffer[..length]).await?,
            },
            size = next_size(&mut sizes) => match size {
                Some(size) => {
                    let size = serde_json::to_vec(&size).map_err(ChannelError::TerminalSize)?;
                    sender.send(RESIZE, &size).await?;
                }
                None => sizes = None,
            },
            () = sender.ping_due() => sender.ping().await?,
        }
    }
}

/// The next input; 0 bytes at its end. Never returns without stdin.
async fn read(stdin: &mut Option<DuplexStream>, buffer: &mut [u8]) -> usize {
    match stdin {
        Some(stdin) => stdin.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

async fn next_size(sizes: &mut Option<mpsc::Receiver<TerminalSize>>) -> Option<TerminalSize> {
    match sizes {
        Some(sizes) => sizes.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
