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

use super::port_channels::{PortChannels, PortEvent};
use super::process_channels::CLOSE;
use super::socket::{ChannelReceiver, ChannelSender, split};
use super::{ChannelError, Connection};

/// Connections to ports of a pod over one websocket, which carries the data of all in one order: a stream that is not read holds up the
/// others as soon as its buffer of 64 KiB is full.
///
/// The streams stay open when this is dropped. The connection closes when all streams are dropped, when the server closes it, or by
/// [`Portforwarder::abort`]. If the pod refuses a port, its stream ends and [`Portforwarder::take_error`] returns the reason.
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

/// Buffered bytes per direction.
const BUFFER: usize = 64 << 10;

impl Portforwarder {
    /// Spawns the task behind the streams.
    pub(crate) fn start(connection: Connection, numbers: &[u16]) -> Self {
        let (ports, ends) = numbers
            .iter()
            .map(|&number| {
                let (near, far) = tokio::io::duplex(BUFFER);
                let (error_sender, error) = oneshot::channel();
                let (reader, writer) = tokio::io::split(far);
                let end = TaskEnd { writer: Some(writer), error: Some(error_sender) };
                (Port { number, stream: Some(near), error: Some(error) }, (reader, end))
            })
            .unzip::<_, _, Vec<_>, Vec<_>>();
        let closes_streams = connection.supports_stream_close();
        let task =
            tokio::spawn(run(connection.into_stream(), closes_streams, PortChannels::new(numbers), ends));
        let abort = task.abort_handle();
        Self { ports, task, abort }
    }

    /// The connection to a port. `None` if the port was not requested, or its stream is taken.
    pub fn take_stream(&mut self, port: u16) -> Option<DuplexStream> {
        self.ports.iter_mut().find(|each| each.number == port)?.stream.take()
    }

    /// The server's error message for a port. `None` if the port was not requested, or its error is taken; the future returns `None` when
    /// the connection ends without an error.
    pub fn take_error(&mut self, port: u16) -> Option<impl Future<Output = Option<String>> + use<>> {
        let error = self.ports.iter_mut().find(|each| each.number == port)?.error.take()?;
        Some(async move { error.await.ok() })
    }

    /// Closes the connection, which ends all streams.
    pub fn abort(&self) {
        self.abort.abort();
    }

    /// Waits until the connection has closed. ProcessChannels that were not taken are dropped first.
    ///
    /// # Errors
    /// If the connection failed or was aborted.
    pub async fn join(self) -> Result<(), ChannelError> {
        drop(self.ports);
        let ended = self.task.await;
        ended.unwrap_or_else(|err| {
            Err(if err.is_panic() { ChannelError::Panicked } else { ChannelError::Aborted })
        })
    }
}

/// The task's end of a stream. Without a writer, the stream has been dropped.
struct TaskEnd {
    writer: Option<WriteHalf<DuplexStream>>,
    error: Option<oneshot::Sender<String>>,
}

impl TaskEnd {
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

    /// Whether the stream has been dropped. An empty write fails only then.
    async fn is_dropped(&mut self) -> bool {
        match &mut self.writer {
            Some(writer) => writer.write(&[]).await.is_err(),
            None => true,
        }
    }
}

/// How often to check for dropped streams: tokio does not notify of the drop of a stream whose write half has ended.
const DROP_CHECK_INTERVAL: Duration = Duration::from_millis(250);

async fn run<T>(
    socket: WebSocketStream<T>,
    closes_streams: bool,
    ports: PortChannels,
    ends: Vec<(ReadHalf<DuplexStream>, TaskEnd)>,
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

/// Returns only errors.
async fn send<T>(
    mut sender: ChannelSender<T>,
    mut outgoing: Outgoing,
    closes_streams: bool,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        tokio::select! {
            Some((channel, data)) = outgoing.next() => match data {
                Some(data) => sender.send(channel, &data).await?,
                None if closes_streams => sender.send(CLOSE, &[channel]).await?,
                None => {}
            },
            () = sender.ping_due() => sender.ping().await?,
        }
    }
}

/// Returns when the server closes the connection, or when all streams are dropped.
async fn receive<T>(
    mut receiver: ChannelReceiver<T>,
    mut ports: PortChannels,
    mut ends: Vec<TaskEnd>,
) -> Result<(), ChannelError>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut drop_check = tokio::time::interval(DROP_CHECK_INTERVAL);
    loop {
        tokio::select! {
            received = receiver.next() => match received? {
                Some((channel, data)) => deliver(&mut ends, ports.receive(channel, data)?).await,
                None => return Ok(()),
            },
            _ = drop_check.tick() => {
                if all_dropped(&mut ends).await {
                    return Ok(());
                }
            }
        }
    }
}

/// What programs write: the channel, and data or its end.
type Outgoing = SelectAll<BoxStream<'static, (u8, Option<bytes::Bytes>)>>;

fn outgoing(readers: Vec<ReadHalf<DuplexStream>>) -> Outgoing {
    let streams = readers.into_iter().zip((0_u8..=254).step_by(2)).map(|(reader, channel)| {
        let data = ReaderStream::with_capacity(reader, 16 << 10).map(move |data| (channel, data.ok()));
        data.chain(futures::stream::once(std::future::ready((channel, None)))).boxed()
    });
    futures::stream::select_all(streams)
}

async fn deliver(ends: &mut [TaskEnd], received: PortEvent) {
    match received {
        PortEvent::Data(index, data) => ends[index].send(&data).await,
        PortEvent::End(index) => ends[index].close().await,
        PortEvent::Error(index, text) => {
            if let Some(error) = ends[index].error.take() {
                let _ = error.send(text);
            }
            ends[index].close().await;
        }
        PortEvent::Ignored => {}
    }
}

async fn all_dropped(ends: &mut [TaskEnd]) -> bool {
    for end in ends {
        if !end.is_dropped().await {
            return false;
        }
    }
    true
}
