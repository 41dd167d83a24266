//! What can go wrong when a connection is upgraded, and afterwards.

use http::StatusCode;
use thiserror::Error;
use tokio_tungstenite::tungstenite;

use crate::chain::ErrorChain;

/// Why there is no websocket.
#[derive(Debug, Error)]
pub enum UpgradeConnectionError {
    /// The server answered with success, but did not switch protocols.
    #[error("the server answered {0} instead of switching to a websocket")]
    ProtocolSwitch(StatusCode),
    /// The answer has no `Upgrade: websocket`.
    #[error("the server's answer has no `Upgrade: websocket` header")]
    MissingUpgradeWebSocketHeader,
    /// The answer has no `Connection: Upgrade`.
    #[error("the server's answer has no `Connection: Upgrade` header")]
    MissingConnectionUpgradeHeader,
    /// The answer belongs to another request, or to none.
    #[error("the server's `Sec-WebSocket-Accept` does not match the request")]
    SecWebSocketAcceptKeyMismatch,
    /// The server chose a protocol that was not offered, or none.
    #[error("the server chose none of the channel protocols that were offered")]
    SecWebSocketProtocolMismatch,
    /// The connection broke before it was handed over.
    #[error("the connection was not handed over: {}", ErrorChain(.0))]
    GetPendingUpgrade(#[source] hyper::Error),
}

/// Why a process or a forwarded port came to a bad end on this side.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The websocket broke.
    #[error("the websocket broke: {}", ErrorChain(.0))]
    WebSocket(#[source] tungstenite::Error),
    /// The connection ended before the status of the process arrived. The output may be cut off.
    #[error("the connection ended before the status of the process arrived: its output may be incomplete")]
    NoStatus,
    /// A terminal size could not be encoded.
    #[error("the terminal size cannot be encoded: {}", ErrorChain(.0))]
    TerminalSize(#[source] serde_json::Error),
    /// The server sent something that is not of the protocol.
    #[error("the server does not keep to the channel protocol: {0}")]
    Protocol(String),
    /// It was ended by a call to `abort`.
    #[error("ended by a call to abort")]
    Aborted,
    /// The task that drives the connection panicked.
    #[error("the task of the connection panicked")]
    Panicked,
}

impl From<tungstenite::Error> for ChannelError {
    fn from(err: tungstenite::Error) -> Self {
        Self::WebSocket(err)
    }
}
