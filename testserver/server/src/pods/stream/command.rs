//! A process over a websocket.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use super::{
    channel::{self, ERROR, Input, STDERR, STDOUT},
    request::CommandRequest,
};
use crate::pods::{Kubelet, SessionRecorder, Streams};

/// How long a client may take to close its side at the end. An immediate close could lose data in flight.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest chunk of output in one message.
const CHUNK: usize = 16 * 1024;

/// Serves until the process has ended and its exit status is sent, or until the client disconnects; then the process is dropped.
pub(super) async fn serve<I>(io: I, protocol: &'static str, request: CommandRequest, kubelet: &Kubelet)
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, None).await;
    let (mut sink, source) = socket.split();
    let (script, streams, recorder) =
        kubelet.start_command(request.container.clone(), request.argv.clone(), request.tty);
    let Streams { stdin, stdout, stderr, sizes } = streams;
    let input = ClientInput { stdin: request.stdin.then_some(stdin), sizes, recorder: recorder.clone() };
    let mut input = pin!(input.run(source, protocol));
    let process = async {
        // An empty first message tells the client that it is connected.
        let first = if request.stdout {
            STDOUT
        } else if request.stderr {
            STDERR
        } else {
            ERROR
        };
        let opened = send(&mut sink, first, b"").await;
        let (exit, sent) = tokio::join!(script, output(&mut sink, &request, stdout, stderr));
        recorder.ended(&exit);
        let status = channel::exit_status(&exit).to_string();
        if opened && sent && send(&mut sink, ERROR, status.as_bytes()).await {
            drop(sink.send(channel::close_normal()).await);
        }
    };
    let ended = tokio::select! {
        () = process => true,
        () = input.as_mut() => false,
    };
    if ended {
        // Remaining input is drained: a reset could discard data that was sent.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, input).await);
    }
}

/// Distributes the messages of the client.
struct ClientInput {
    stdin: Option<tokio::io::DuplexStream>,
    sizes: tokio::sync::mpsc::UnboundedSender<crate::pods::TerminalSize>,
    recorder: SessionRecorder,
}

impl ClientInput {
    /// Returns when the client has disconnected.
    async fn run<I>(mut self, mut source: SplitStream<WebSocketStream<I>>, protocol: &str)
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        while let Some(Ok(message)) = source.next().await {
            let data = match message {
                Message::Binary(data) => data,
                Message::Text(text) => Bytes::from(text),
                Message::Close(_) => return,
                _ => continue,
            };
            match Input::read(protocol, data) {
                Input::Stdin(data) => {
                    if let Some(stdin) = &mut self.stdin
                        && stdin.write_all(&data).await.is_err()
                    {
                        // The process has closed its input; the rest is discarded, as with a pipe.
                        self.stdin = None;
                    }
                }
                Input::StdinEnd => self.stdin = None,
                Input::Resized(size) => {
                    self.recorder.resized(size);
                    // The process has ended.
                    let _ = self.sizes.send(size);
                }
                Input::Nothing => {}
            }
        }
    }
}

/// Sends the output of the process until its end. Returns `false` when the client has disconnected.
async fn output<I>(
    sink: &mut SplitSink<WebSocketStream<I>, Message>,
    request: &CommandRequest,
    mut stdout: tokio::io::DuplexStream,
    mut stderr: tokio::io::DuplexStream,
) -> bool
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    let (mut out, mut err) = (vec![0; CHUNK], vec![0; CHUNK]);
    let (mut out_open, mut err_open, mut sent) = (true, true, true);
    // A terminal has one output.
    let (err_channel, err_wanted) =
        if request.tty { (STDOUT, request.stdout) } else { (STDERR, request.stderr) };
    while out_open || err_open {
        let (channel, requested, open, chunk) = tokio::select! {
            biased;
            read = stdout.read(&mut out), if out_open => {
                (STDOUT, request.stdout, &mut out_open, &out[..read.unwrap_or(0)])
            }
            read = stderr.read(&mut err), if err_open => {
                (err_channel, err_wanted, &mut err_open, &err[..read.unwrap_or(0)])
            }
        };
        *open = !chunk.is_empty();
        // Unrequested output is drained, so that the process does not block.
        if requested && sent && !chunk.is_empty() {
            sent = send(sink, channel, chunk).await;
        }
    }
    sent
}

async fn send<I>(sink: &mut SplitSink<WebSocketStream<I>, Message>, channel: u8, data: &[u8]) -> bool
where
    I: AsyncRead + AsyncWrite + Unpin,
{
    sink.send(Message::Binary(channel::message(channel, data))).await.is_ok()
}
