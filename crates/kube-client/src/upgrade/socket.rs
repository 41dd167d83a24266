//! A connection that has become a websocket.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Error as WsError, Message, error::ProtocolError};

use super::ChannelError;
use super::handshake::Agreed;
use super::pulse::Pulse;

/// The websocket of a [`Client`](crate::Client) to an API server, one message a piece.
///
/// It has an HTTP/1.1 connection of its own, which is closed when this is dropped.
#[derive(Debug)]
pub struct Connection {
    stream: WebSocketStream<TokioIo<Upgraded>>,
    agreed: Agreed,
}

impl Connection {
    pub(crate) async fn new(upgraded: Upgraded, agreed: Agreed) -> Self {
        let stream = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await;
        Self { stream, agreed }
    }

    /// The websocket itself. Whoever reads it splits the channels, too: the first byte of each message is the channel's number.
    pub fn into_stream(self) -> WebSocketStream<TokioIo<Upgraded>> {
        self.stream
    }

    /// Whether one stream can be closed while the others go on: so in version 5 of the channel protocol, and not before.
    pub fn supports_stream_close(&self) -> bool {
        self.agreed.closes_streams
    }
}

/// How often a sign of life is asked for. It also tells those on the way that a quiet connection is not a dead one.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// A server that has said nothing for so long, and was asked meanwhile, is gone.
const SILENCE: Duration = Duration::from_secs(50);

/// The two directions of a websocket. They have to be driven at the same time, and by one task.
pub(super) fn split<T>(socket: WebSocketStream<T>) -> (Sender<T>, Receiver<T>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let pulse = Arc::new(Mutex::new(Pulse::default()));
    let (sink, stream) = socket.split();
    let mut alive = interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    // A sender that was busy for long asks once, not once for each ping that was due meanwhile.
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    (Sender { sink, pulse: Arc::clone(&pulse), alive }, Receiver { stream, pulse, waiting_since: None })
}

/// The way to the server.
pub(super) struct Sender<T> {
    sink: SplitSink<WebSocketStream<T>, Message>,
    pulse: Arc<Mutex<Pulse>>,
    alive: Interval,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Sender<T> {
    /// Sends data to a channel.
    pub(super) async fn send(&mut self, channel: u8, data: &[u8]) -> Result<(), ChannelError> {
        beat(&self.pulse, Pulse::input);
        self.push(to_channel(channel, data)).await
    }

    /// Comes back when a sign of life is due. Nothing is lost if it is dropped before.
    pub(super) async fn until_due(&mut self) {
        self.alive.tick().await;
    }

    /// Asks for a sign of life.
    pub(super) async fn ping(&mut self) -> Result<(), ChannelError> {
        let payload = beat(&self.pulse, Pulse::ping);
        self.push(Message::Ping(payload)).await
    }

    async fn push(&mut self, message: Message) -> Result<(), ChannelError> {
        match self.sink.send(message).await {
            Ok(()) => Ok(()),
            // The receiving side tells how it ended.
            Err(err) if hung_up(&err) => std::future::pending().await,
            Err(err) => Err(err.into()),
        }
    }
}

/// The way from the server.
pub(super) struct Receiver<T> {
    stream: SplitStream<WebSocketStream<T>>,
    pulse: Arc<Mutex<Pulse>>,
    /// Since when nothing has come while somebody was ready to take it.
    waiting_since: Option<Instant>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Receiver<T> {
    /// The next data and its channel; `None` when the server has hung up. Nothing is lost if it is dropped before.
    pub(super) async fn next(&mut self) -> Result<Option<(u8, Bytes)>, ChannelError> {
        loop {
            let since = *self.waiting_since.get_or_insert_with(Instant::now);
            let message = timeout_at(since + SILENCE, self.stream.next()).await;
            self.waiting_since = None;
            match message {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(Message::Pong(payload)))) => beat(&self.pulse, |pulse| pulse.pong(&payload)),
                Ok(Some(Ok(message))) => {
                    if let Some(data) = of_channel(message) {
                        return Ok(Some(data));
                    }
                }
                Ok(Some(Err(err))) if hung_up(&err) => return Ok(None),
                Ok(Some(Err(err))) => return Err(err.into()),
                Err(_) if beat(&self.pulse, |pulse| pulse.has_to_answer()) => return Err(gone()),
                Err(_) => {}
            }
        }
    }
}

fn beat<R>(pulse: &Mutex<Pulse>, act: impl FnOnce(&mut Pulse) -> R) -> R {
    // It is whole at all times, so a panic elsewhere leaves it usable.
    act(&mut pulse.lock().unwrap_or_else(PoisonError::into_inner))
}

fn gone() -> ChannelError {
    let text = format!("the server gave no sign of life for {SILENCE:?}");
    ChannelError::WebSocket(WsError::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text)))
}

/// A message to a channel.
fn to_channel(channel: u8, data: &[u8]) -> Message {
    let mut message = Vec::with_capacity(data.len() + 1);
    message.push(channel);
    message.extend_from_slice(data);
    Message::Binary(message.into())
}

/// The channel and the data of a message; `None` for one that is no data.
fn of_channel(message: Message) -> Option<(u8, Bytes)> {
    let mut data = match message {
        Message::Binary(data) => data,
        Message::Text(text) => Bytes::from(text),
        _ => return None,
    };
    let channel = *data.first()?;
    Some((channel, data.split_off(1)))
}

/// Whether the other side has just hung up. API servers do that without a closing handshake.
fn hung_up(err: &WsError) -> bool {
    match err {
        WsError::ConnectionClosed | WsError::AlreadyClosed => true,
        WsError::Protocol(err) => matches!(err, ProtocolError::ResetWithoutClosingHandshake),
        WsError::Io(err) => err.kind() == std::io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_was_busy_for_long_is_due_once() {
        let (near, _far) = tokio::io::duplex(64);
        let socket = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        let (mut sender, _receiver) = split(socket);
        tokio::time::advance(KEEP_ALIVE * 10).await;
        sender.until_due().await;
        let first = Instant::now();
        sender.until_due().await;
        assert_eq!(first.elapsed(), KEEP_ALIVE);
    }

    #[test]
    fn the_first_byte_is_the_channel() {
        assert_eq!(of_channel(to_channel(3, b"abc")), Some((3, Bytes::from_static(b"abc"))));
        assert_eq!(of_channel(to_channel(0, b"")), Some((0, Bytes::new())));
        assert_eq!(of_channel(Message::text("\u{1}a")), Some((1, Bytes::from_static(b"a"))));
        assert_eq!(of_channel(Message::Binary(Bytes::new())), None);
        assert_eq!(of_channel(Message::Ping(Bytes::new())), None);
    }
}
