//! [`Portforwarder`]: connections to ports of a pod, and the task that serves them.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_tungstenite::WebSocketStream;
use tokio_util::io::ReaderStream;

use super::ports::{Ports, Received};
use super::socket::{Receiver, Sender, split};
use super::streams::CLOSE;
use super::{ChannelError, Connection};

/// Connections to ports of a pod, all in one websocket.
///
/// The streams live on without it: the task behind them ends when all of them are dropped, when the server hangs up, or by
/// [`Portforwarder::abort`]. A connection that the pod refuses is an error by [`Portforwarder::take_error`], and the end of its stream.
#[derive(Debug)]
pub struct Portforwarder {
    ports: Vec<Port>,
    task: JoinHandle<Result<(), ChannelError>>,
    abort: AbortHandle,
}

#[derive(Debug)]
struct Port {
    number: u16,
    stream: Option<DuplexStream>,
    error: Option<oneshot::Receiver<String>>,
}

/// Bytes that are buffered in each direction.
const BUFFER: usize = 64 << 10;

impl Portforwarder {
    /// Starts the task that serves the streams.
    pub(crate) fn start(connection: Connection, numbers: &[u16]) -> Self {
        let (ports, ends) = numbers
            .iter()
            .map(|&number| {
                let (near, far) = tokio::io::duplex(BUFFER);
                let (error_sender, error) = oneshot::channel();
                let (reader, writer) = tokio::io::split(far);
                let end = End { writer: Some(writer), error: Some(error_sender) };
                (Port { number, stream: Some(near), error: Some(error) }, (reader, end))
            })
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let closes_streams = connection.supports_stream_close();
        let task = tokio::spawn(run(connection.into_stream(), closes_streams, Ports::new(numbers), ends));
        let abort = task.abort_handle();
        Self { ports, task, abort }
    }

    /// The connection to a port. `None` if it was not asked for, or is taken.
    pub fn take_stream(&mut self, port: u16) -> Option<DuplexStream> {
        self.ports.iter_mut().find(|each| each.number == port)?.stream.take()
    }

    /// What went wrong with a port, in the words of the server. The future gives `None` when the connection ends without.
    pub fn take_error(&mut self, port: u16) -> Option<impl Future<Output = Option<String>> + use<>> {
        let error = self.ports.iter_mut().find(|each| each.number == port)?.error.take()?;
        Some(async move { error.await.ok() })
    }

    /// Closes the connection; its streams then come to an end.
    pub fn abort(&self) {
        self.abort.abort();
    }

    /// Waits until the connection has ended. Streams that nobody has taken are closed.
    ///
    /// # Errors
    /// If the connection broke.
    pub async fn join(self) -> Result<(), ChannelError> {
        drop(self.ports);
        let ended = self.task.await;
        ended.unwrap_or_else(|err| {
            Err(if err.is_panic() { ChannelError::Panicked } else { ChannelError::Aborted })
        })
    }
}

/// The task's end of a stream. Without a writer nobody is there to read.
struct End {
    writer: Option<WriteHalf<DuplexStream>>,
    error: Option<oneshot::Sender<String>>,
}

impl End {
    async fn send(&mut self, data: &[u8]) {
        if let Some(writer) = &mut self.writer
            && writer.write_all(data).await.is_err()
        {
            self.writer = None;
        }
    }

    async fn close(&mut self) {
        if let Some(writer) = &mut self.writer {
            let _ = writer.shutdown().await;
        }
    }

    /// Whether the stream has been dropped. An empty write asks just that.
    async fn is_gone(&mut self) -> bool {
        match &mut self.writer {
            Some(writer) => writer.write(&[]).await.is_err(),
            None => true,
        }
    }
}

/// How often streams that have said all they will are looked at: there is nothing that tells of their being dropped.
const LOOK: Duration = Duration::from_millis(250);

async fn run<T>(
    socket: WebSocketStream<T>,
    closes_streams: bool,
    ports: Ports,
    ends: Vec<(ReadHalf<DuplexStream>, End)>,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (sender, receiver) = split(socket);
    let (readers, ends): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    tokio::select! {
        ended = receive(receiver, ports, ends) => ended,
        Err(err) = send(sender, outgoing(readers), closes_streams) => Err(err),
    }
}

/// Ends only with an error.
async fn send<T>(mut sender: Sender<T>, mut said: Outgoing, closes_streams: bool) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        tokio::select! {
            Some((channel, data)) = said.next() => match data {
                Some(data) => sender.send(channel, &data).await?,
                None if closes_streams => sender.send(CLOSE, &[channel]).await?,
                None => {}
            },
            () = sender.until_due() => sender.ping().await?,
        }
    }
}

/// Ends when the server hangs up, or when nobody is there any more to receive.
async fn receive<T>(
    mut receiver: Receiver<T>,
    mut ports: Ports,
    mut ends: Vec<End>,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut look = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            received = receiver.next() => match received? {
                Some((channel, data)) => pass_on(&mut ends, ports.receive(channel, data)?).await,
                None => return Ok(()),
            },
            _ = look.tick() => {
                if all_gone(&mut ends).await {
                    return Ok(());
                }
            }
        }
    }
}

/// What is said on this side: the channel, and data or the end of it.
type Outgoing = SelectAll<BoxStream<'static, (u8, Option<bytes::Bytes>)>>;

fn outgoing(readers: Vec<ReadHalf<DuplexStream>>) -> Outgoing {
    let streams = readers.into_iter().zip((0_u8..=254).step_by(2)).map(|(reader, channel)| {
        let data = ReaderStream::with_capacity(reader, 16 << 10).map(move |data| (channel, data.ok()));
        data.chain(futures::stream::once(std::future::ready((channel, None)))).boxed()
    });
    futures::stream::select_all(streams)
}

async fn pass_on(ends: &mut [End], received: Received) {
    match received {
        Received::Data(index, data) => ends[index].send(&data).await,
        Received::End(index) => ends[index].close().await,
        Received::Error(index, text) => {
            if let Some(error) = ends[index].error.take() {
                let _ = error.send(text);
            }
            ends[index].close().await;
        }
        Received::Nothing => {}
    }
}

async fn all_gone(ends: &mut [End]) -> bool {
    for end in ends {
        if !end.is_gone().await {
            return false;
        }
    }
    true
}
