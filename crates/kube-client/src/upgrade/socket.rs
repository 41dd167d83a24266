//! A connection that has become a websocket.

use std::time::Duration;

use bytes::Bytes;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Error as WsError, Message, error::ProtocolError};

use super::handshake::Agreed;

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

/// How often a sign of life is sent, so that nobody on the way takes a quiet connection for a dead one. That the server itself is gone
/// is noticed by the connection's own probes.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// What is sent as a sign of life.
pub(super) fn sign_of_life() -> Message {
    Message::Ping(Bytes::new())
}

/// A message to a channel.
pub(super) fn to_channel(channel: u8, data: &[u8]) -> Message {
    let mut message = Vec::with_capacity(data.len() + 1);
    message.push(channel);
    message.extend_from_slice(data);
    Message::Binary(message.into())
}

/// The channel and the data of a message; `None` for one that is no data.
pub(super) fn of_channel(message: Message) -> Option<(u8, Bytes)> {
    let mut data = match message {
        Message::Binary(data) => data,
        Message::Text(text) => Bytes::from(text),
        _ => return None,
    };
    let channel = *data.first()?;
    Some((channel, data.split_off(1)))
}

/// Whether the other side has just hung up. API servers do that without a closing handshake.
pub(super) fn hung_up(err: &WsError) -> bool {
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

    #[test]
    fn the_first_byte_is_the_channel() {
        assert_eq!(of_channel(to_channel(3, b"abc")), Some((3, Bytes::from_static(b"abc"))));
        assert_eq!(of_channel(to_channel(0, b"")), Some((0, Bytes::new())));
        assert_eq!(of_channel(Message::text("\u{1}a")), Some((1, Bytes::from_static(b"a"))));
        assert_eq!(of_channel(Message::Binary(Bytes::new())), None);
        assert_eq!(of_channel(sign_of_life()), None);
    }
}
