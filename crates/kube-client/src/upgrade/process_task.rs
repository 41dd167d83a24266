//! The task between the websocket and the streams of a process.

use futures::channel::mpsc;
use futures::{Sink, SinkExt, Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use tokio::io::{AsyncReadExt, ReadHalf, SimplexStream};
use tokio::sync::oneshot;
use tokio::time::{Instant, interval_at};
use tokio_tungstenite::tungstenite::{Error as WsError, Message};

use super::pipe::Feed;
use super::process::TerminalSize;
use super::socket::{KEEP_ALIVE, hung_up, of_channel, sign_of_life, to_channel};
use super::streams::{CLOSE, RESIZE, Received, STDIN, Streams};
use super::{ChannelError, Connection};

/// The ends of the streams that the task holds.
pub(super) struct Ends {
    pub(super) stdin: Option<ReadHalf<SimplexStream>>,
    pub(super) stdout: Option<Feed>,
    pub(super) stderr: Option<Feed>,
    pub(super) status: Option<oneshot::Sender<Status>>,
    pub(super) sizes: Option<mpsc::Receiver<TerminalSize>>,
}

/// Runs until the server hangs up. The two directions do not wait for each other.
pub(super) async fn run(connection: Connection, ends: Ends) -> Result<(), ChannelError> {
    let closes_streams = connection.supports_stream_close();
    let (sink, stream) = connection.into_stream().split();
    let Ends { stdin, stdout, stderr, status, sizes } = ends;
    tokio::select! {
        ended = receive(stream, stdout, stderr, status) => ended,
        Err(err) = send(sink, stdin, sizes, closes_streams) => Err(err),
    }
}

async fn receive(
    mut messages: impl Stream<Item = Result<Message, WsError>> + Unpin,
    mut stdout: Option<Feed>,
    mut stderr: Option<Feed>,
    mut status: Option<oneshot::Sender<Status>>,
) -> Result<(), ChannelError> {
    let mut streams = Streams::default();
    while let Some(message) = messages.next().await {
        let message = match message {
            Ok(message) => message,
            Err(err) if streams.has_status() || hung_up(&err) => break,
            Err(err) => return Err(err.into()),
        };
        let Some((channel, data)) = of_channel(message) else { continue };
        match streams.receive(channel, data)? {
            Received::Stdout(data) => pass_on(&mut stdout, &data).await,
            Received::Stderr(data) => pass_on(&mut stderr, &data).await,
            Received::StdoutEnd => drop(stdout.take()),
            Received::StderrEnd => drop(stderr.take()),
            Received::Status(ending) => {
                if let Some(status) = status.take() {
                    let _ = status.send(*ending);
                }
            }
            Received::Nothing => {}
        }
    }
    Ok(())
}

async fn pass_on(feed: &mut Option<Feed>, data: &[u8]) {
    if let Some(feed) = feed {
        feed.send(data).await;
    }
}

/// Ends only with an error.
async fn send(
    mut sink: impl Sink<Message, Error = WsError> + Unpin,
    mut stdin: Option<ReadHalf<SimplexStream>>,
    mut sizes: Option<mpsc::Receiver<TerminalSize>>,
    closes_streams: bool,
) -> Result<(), ChannelError> {
    let mut alive = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    let mut buffer = vec![0; 16 << 10];
    loop {
        let message = tokio::select! {
            read = read(&mut stdin, &mut buffer) => match read {
                0 => {
                    stdin = None;
                    if !closes_streams {
                        continue;
                    }
                    to_channel(CLOSE, &[STDIN])
                }
                length => to_channel(STDIN, &buffer[..length]),
            },
            size = next_size(&mut sizes) => match size {
                Some(size) => to_channel(RESIZE, &serde_json::to_vec(&size).map_err(ChannelError::TerminalSize)?),
                None => {
                    sizes = None;
                    continue;
                }
            },
            _ = alive.tick() => sign_of_life(),
        };
        match sink.send(message).await {
            Ok(()) => {}
            // The receiving side tells how it ended.
            Err(err) if hung_up(&err) => std::future::pending().await,
            Err(err) => return Err(err.into()),
        }
    }
}

/// The next input; 0 bytes are its end. Waits for ever where there is none.
async fn read(stdin: &mut Option<ReadHalf<SimplexStream>>, buffer: &mut [u8]) -> usize {
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
