//! Errors of the upgrade to a websocket, and of its channels.

use http::StatusCode;
use thiserror::Error;
use tokio_tungstenite::tungstenite;

use crate::chain::ErrorChain;

/// Why there is no websocket.
#[derive(Debug, Error)]
pub enum UpgradeConnectionError {
    /// The response is a success other than 101.
    #[error("the server responded {0} instead of switching to a websocket")]
    ProtocolSwitch(StatusCode),
    /// The response has no `Upgrade: websocket`.
    #[error("the server's response has no `Upgrade: websocket` header")]
    MissingUpgradeWebSocketHeader,
    /// The response has no `Connection: Upgrade`.
    #[error("the server's response has no `Connection: Upgrade` header")]
    MissingConnectionUpgradeHeader,
    /// The response does not belong to the request.
    #[error("the server's `Sec-WebSocket-Accept` does not match the request")]
    SecWebSocketAcceptKeyMismatch,
    /// The server selected no subprotocol, or one that was not offered.
    #[error("the server selected none of the offered channel protocols")]
    SecWebSocketProtocolMismatch,
    /// The connection failed during the upgrade.
    #[error("the connection failed during the upgrade: {}", ErrorChain(.0))]
    GetPendingUpgrade(#[source] hyper::Error),
}

/// Why the connection of a process or of forwarded ports failed.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The websocket failed.
    #[error("the websocket failed: {}", ErrorChain(.0))]
    WebSocket(#[source] tungstenite::Error),
    /// The connection ended before the status of the process arrived. The output may be incomplete.
    #[error("the connection ended before the status of the process arrived: its output may be incomplete")]
    NoStatus,
    /// A terminal size could not be encoded.
    #[error("the terminal size cannot be encoded: {}", ErrorChain(.0))]
    TerminalSize(#[source] serde_json::Error),
    /// The server violated the channel protocol.
    #[error("the server violated the channel protocol: {0}")]
    Protocol(String),
    /// `abort` was called.
    #[error("the connection was aborted")]
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
