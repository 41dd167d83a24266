//! Channels of a process in websocket messages: one byte for the channel, then data.

use bytes::Bytes;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use crate::pods::{Exit, TerminalSize};

/// Numbered channels; single channels cannot be closed.
pub(super) const V4: &str = "v4.channel.k8s.io";
/// [`V4`] with a channel that closes other channels.
pub(super) const V5: &str = "v5.channel.k8s.io";

const STDIN: u8 = 0;
pub(super) const STDOUT: u8 = 1;
pub(super) const STDERR: u8 = 2;
/// Carries the exit status at the end.
pub(super) const ERROR: u8 = 3;
const RESIZE: u8 = 4;
/// Version 5: closes the channel whose number is the data.
const CLOSE: u8 = 255;

/// A message of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    Stdin(Bytes),
    /// End of standard input.
    StdinEnd,
    Resized(TerminalSize),
    Nothing,
}

impl Input {
    /// Unknown messages are ignored, as on genuine servers.
    pub(super) fn read(protocol: &str, mut message: Bytes) -> Self {
        if message.is_empty() {
            return Self::Nothing;
        }
        let channel = message.split_to(1)[0];
        match channel {
            STDIN if message.is_empty() => Self::Nothing,
            STDIN => Self::Stdin(message),
            RESIZE => serde_json::from_slice(&message).map_or(Self::Nothing, Self::Resized),
            CLOSE if protocol == V5 && message.first() == Some(&STDIN) => Self::StdinEnd,
            _ => Self::Nothing,
        }
    }
}

/// A normal close. Clients treat a close frame without a code as a failure.
pub(super) fn close_normal() -> Message {
    Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }))
}

/// Encodes a message of the server.
pub(super) fn message(channel: u8, data: &[u8]) -> Bytes {
    [&[channel], data].concat().into()
}

/// How a process ended, as the `Status` that the error channel carries.
pub(super) fn exit_status(exit: &Exit) -> Value {
    match exit {
        Exit::Code(0) => json!({"metadata": {}, "status": "Success"}),
        Exit::Code(code) => json!({
            "metadata": {},
            "status": "Failure",
            "message": format!("command terminated with non-zero exit code: exit status {code}"),
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
        }),
        Exit::Failed(why) => json!({
            "metadata": {},
            "status": "Failure",
            "message": format!("Internal error occurred: {why}"),
            "reason": "InternalError",
            "details": {"causes": [{"message": why}]},
            "code": 500,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_input_resizes_and_ends() {
        let read = |protocol, message: &'static [u8]| Input::read(protocol, Bytes::from_static(message));
        assert_eq!(read(V5, b"\0abc"), Input::Stdin(Bytes::from_static(b"abc")));
        let size = TerminalSize { width: 80, height: 24 };
        assert_eq!(read(V5, b"\x04{\"Width\":80,\"Height\":24}"), Input::Resized(size));
        assert_eq!(read(V5, b"\xff\0"), Input::StdinEnd);
        for nothing in [&b""[..], b"\0", b"\x01out", b"\xff\x01", b"\xff", b"\x04{", b"\x09x"] {
            assert_eq!(read(V5, nothing), Input::Nothing, "{nothing:?}");
        }
        assert_eq!(read(V4, b"\xff\0"), Input::Nothing, "version 4 cannot close a channel");
    }
}
