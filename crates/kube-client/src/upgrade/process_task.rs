//! The task between the websocket and the streams of a process.

use futures::StreamExt;
use futures::channel::mpsc;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadHalf, SimplexStream};
use tokio::sync::oneshot;
use tokio_tungstenite::WebSocketStream;

use super::ChannelError;
use super::pipe::Feed;
use super::process::TerminalSize;
use super::socket::{Receiver, Sender, split};
use super::streams::{CLOSE, RESIZE, Received, STDIN, Streams};

/// The ends of the streams that the task holds.
pub(super) struct Ends {
    pub(super) stdin: Option<ReadHalf<SimplexStream>>,
    pub(super) stdout: Option<Feed>,
    pub(super) stderr: Option<Feed>,
    pub(super) status: Option<oneshot::Sender<Status>>,
    pub(super) sizes: Option<mpsc::Receiver<TerminalSize>>,
}

/// Runs until the server hangs up. The two directions do not wait for each other.
pub(super) async fn run<T>(
    socket: WebSocketStream<T>,
    closes_streams: bool,
    ends: Ends,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (sender, receiver) = split(socket);
    let Ends { stdin, stdout, stderr, status, sizes } = ends;
    tokio::select! {
        ended = receive(receiver, stdout, stderr, status) => ended,
        Err(err) = send(sender, stdin, sizes, closes_streams) => Err(err),
    }
}

async fn receive<T>(
    mut receiver: Receiver<T>,
    mut stdout: Option<Feed>,
    mut stderr: Option<Feed>,
    mut status: Option<oneshot::Sender<Status>>,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut streams = Streams::default();
    loop {
        let (channel, data) = match receiver.next().await {
            Ok(Some(received)) => received,
            // How the connection ends does not matter once it is known how the process ended.
            Ok(None) | Err(_) if streams.has_status() => return Ok(()),
            Ok(None) => return Err(ChannelError::NoStatus),
            Err(err) => return Err(err),
        };
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
}

async fn pass_on(feed: &mut Option<Feed>, data: &[u8]) {
    if let Some(feed) = feed {
        feed.send(data).await;
    }
}

/// Ends only with an error.
async fn send<T>(
    mut sender: Sender<T>,
    mut stdin: Option<ReadHalf<SimplexStream>>,
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
            () = sender.until_due() => sender.ping().await?,
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

#[cfg(test)]
mod tests;
