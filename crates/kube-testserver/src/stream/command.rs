//! A process on a websocket.

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
use crate::kubelet::{Kubelet, SessionRecorder, Streams};

/// How long a client may take to close its side after the end. Closing at once could lose what is still on its way.
pub(super) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Output is sent in pieces of at most this.
const CHUNK: usize = 16 * 1024;

/// Serves until the process has ended and its outcome is sent, or the client is gone; then the process is dropped.
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
        // An empty message tells the client that it is connected.
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
        // What still comes in is read away, so that nothing that was sent is lost to a reset.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, input).await);
    }
}

/// Where the messages of the client go.
struct ClientInput {
    stdin: Option<tokio::io::DuplexStream>,
    sizes: tokio::sync::mpsc::UnboundedSender<crate::kubelet::TerminalSize>,
    recorder: SessionRecorder,
}

impl ClientInput {
    /// Returns when the client is gone.
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
                        // The process has closed its input; what else comes is lost, as in a pipe.
                        self.stdin = None;
                    }
                }
                Input::StdinEnd => self.stdin = None,
                Input::Resized(size) => {
                    self.recorder.resized(size);
                    // A process that has ended has no terminal.
                    let _ = self.sizes.send(size);
                }
                Input::Nothing => {}
            }
        }
    }
}

/// Sends what the process prints until it prints no more; `false` when the client is gone.
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
        let (channel, wanted, open, piece) = tokio::select! {
            biased;
            read = stdout.read(&mut out), if out_open => {
                (STDOUT, request.stdout, &mut out_open, &out[..read.unwrap_or(0)])
            }
            read = stderr.read(&mut err), if err_open => {
                (err_channel, err_wanted, &mut err_open, &err[..read.unwrap_or(0)])
            }
        };
        *open = !piece.is_empty();
        // Output that nobody wants is read all the same: the process must not have to wait.
        if wanted && sent && !piece.is_empty() {
            sent = send(sink, channel, piece).await;
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
