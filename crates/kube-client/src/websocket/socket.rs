//! A connection that was upgraded to a websocket.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Error as WsError, Message, error::ProtocolError};

use super::ChannelError;
use super::handshake::Negotiated;
use super::keepalive::Keepalive;

/// A websocket of a [`Client`](crate::Client) to an API server.
///
/// It uses its own HTTP/1.1 connection, which closes when this is dropped.
#[derive(Debug)]
pub struct Connection {
    stream: WebSocketStream<TokioIo<Upgraded>>,
    negotiated: Negotiated,
}

impl Connection {
    pub(crate) async fn new(upgraded: Upgraded, negotiated: Negotiated) -> Self {
        let stream = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await;
        Self { stream, negotiated }
    }

    /// The websocket itself. The first byte of each message is the number of its channel.
    pub fn into_stream(self) -> WebSocketStream<TokioIo<Upgraded>> {
        self.stream
    }

    /// Whether one stream can be closed while the others stay open: from version 5 of the channel protocol on.
    pub fn supports_stream_close(&self) -> bool {
        self.negotiated.closes_streams
    }
}

/// Time between pings. They also keep proxies and NAT from dropping a quiet connection.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// A server that sends nothing for this long, although it was pinged, is dead.
const SILENCE_LIMIT: Duration = Duration::from_secs(50);

/// The two directions of a websocket. One task must poll both concurrently.
pub(super) fn split<T>(socket: WebSocketStream<T>) -> (ChannelSender<T>, ChannelReceiver<T>)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let keepalive = Arc::new(Mutex::new(Keepalive::default()));
    let (sink, stream) = socket.split();
    let mut ping_interval = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    // After a long wait the sender sends one ping, not one for each missed tick.
    ping_interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    (
        ChannelSender { sink, keepalive: Arc::clone(&keepalive), ping_interval },
        ChannelReceiver { stream, keepalive, waiting_since: None },
    )
}

/// Sends messages and pings to the server.
pub(super) struct ChannelSender<T> {
    sink: SplitSink<WebSocketStream<T>, Message>,
    keepalive: Arc<Mutex<Keepalive>>,
    ping_interval: Interval,
}

impl<T: AsyncRead + AsyncWrite + Unpin> ChannelSender<T> {
    /// Sends data to a channel.
    pub(super) async fn send(&mut self, channel: u8, data: &[u8]) -> Result<(), ChannelError> {
        self.keepalive.lock().input();
        self.push(encode(channel, data)).await
    }

    /// Returns when a ping is due. Cancel safe.
    pub(super) async fn ping_due(&mut self) {
        self.ping_interval.tick().await;
    }

    /// Sends a ping.
    pub(super) async fn ping(&mut self) -> Result<(), ChannelError> {
        let payload = self.keepalive.lock().ping();
        self.push(Message::Ping(payload)).await
    }

    async fn push(&mut self, message: Message) -> Result<(), ChannelError> {
        match self.sink.send(message).await {
            Ok(()) => Ok(()),
            // The receiving side reports how it ended.
            Err(err) if is_closed(&err) => std::future::pending().await,
            Err(err) => Err(err.into()),
        }
    }
}

/// Receives messages from the server.
pub(super) struct ChannelReceiver<T> {
    stream: SplitStream<WebSocketStream<T>>,
    keepalive: Arc<Mutex<Keepalive>>,
    /// Since when `next` has been waiting for a message.
    waiting_since: Option<Instant>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> ChannelReceiver<T> {
    /// The next data and its channel; `None` when the server has closed the connection. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<(u8, Bytes)>, ChannelError> {
        loop {
            let since = *self.waiting_since.get_or_insert_with(Instant::now);
            let message = timeout_at(since + SILENCE_LIMIT, self.stream.next()).await;
            self.waiting_since = None;
            match message {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(Message::Pong(payload)))) => self.keepalive.lock().pong(&payload),
                Ok(Some(Ok(message))) => {
                    if let Some(data) = decode(message) {
                        return Ok(Some(data));
                    }
                }
                Ok(Some(Err(err))) if is_closed(&err) => return Ok(None),
                Ok(Some(Err(err))) => return Err(err.into()),
                Err(_) if self.keepalive.lock().must_answer() => return Err(unresponsive()),
                Err(_) => {}
            }
        }
    }
}

fn unresponsive() -> ChannelError {
    let text = format!("the server sent nothing for {SILENCE_LIMIT:?}, not even a pong");
    ChannelError::WebSocket(WsError::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, text)))
}

/// A message with its channel.
fn encode(channel: u8, data: &[u8]) -> Message {
    let mut message = Vec::with_capacity(data.len() + 1);
    message.push(channel);
    message.extend_from_slice(data);
    Message::Binary(message.into())
}

/// The channel and the data of a message; `None` for control frames and empty messages.
fn decode(message: Message) -> Option<(u8, Bytes)> {
    let mut data = match message {
        Message::Binary(data) => data,
        Message::Text(text) => Bytes::from(text),
        _ => return None,
    };
    let channel = *data.first()?;
    Some((channel, data.split_off(1)))
}

/// Whether the peer has closed the connection. API servers do so without a closing handshake.
fn is_closed(err: &WsError) -> bool {
    match err {
        WsError::ConnectionClosed | WsError::AlreadyClosed => true,
        // `SendAfterClosing`: the peer's closing message came while data was being sent.
        WsError::Protocol(err) => {
            matches!(err, ProtocolError::ResetWithoutClosingHandshake | ProtocolError::SendAfterClosing)
        }
        WsError::Io(err) => err.kind() == std::io::ErrorKind::UnexpectedEof,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn missed_pings_are_sent_once() {
        let (near, _far) = tokio::io::duplex(64);
        let socket = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        let (mut sender, _receiver) = split(socket);
        tokio::time::advance(PING_INTERVAL * 10).await;
        sender.ping_due().await;
        let first = Instant::now();
        sender.ping_due().await;
        assert_eq!(first.elapsed(), PING_INTERVAL);
    }

    #[test]
    fn the_first_byte_is_the_channel() {
        assert_eq!(decode(encode(3, b"abc")), Some((3, Bytes::from_static(b"abc"))));
        assert_eq!(decode(encode(0, b"")), Some((0, Bytes::new())));
        assert_eq!(decode(Message::text("\u{1}a")), Some((1, Bytes::from_static(b"a"))));
        assert_eq!(decode(Message::Binary(Bytes::new())), None);
        assert_eq!(decode(Message::Ping(Bytes::new())), None);
    }
}
