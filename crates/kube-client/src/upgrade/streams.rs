//! The channels of a process, as a pure machine.

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use super::ChannelError;

/// The process reads from it.
pub(super) const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// Takes the sizes of the terminal.
pub(super) const RESIZE: u8 = 4;
/// Closes the channel that its one byte names (version 5 only).
pub(super) const CLOSE: u8 = 255;

/// Sorts what comes from a process.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The status as far as it has come.
    status: Vec<u8>,
    has_status: bool,
}

/// What a message was.
#[derive(Debug, PartialEq)]
pub(super) enum Received {
    Stdout(Bytes),
    Stderr(Bytes),
    StdoutEnd,
    StderrEnd,
    /// How the process ended. Comes at most once.
    Status(Box<Status>),
    /// Nothing to pass on: servers open each channel with an empty message.
    Nothing,
}

impl Streams {
    /// Takes the data of a channel.
    pub(super) fn receive(&mut self, channel: u8, data: Bytes) -> Result<Received, ChannelError> {
        Ok(match channel {
            CLOSE => match data.first() {
                Some(&STDOUT) => Received::StdoutEnd,
                Some(&STDERR) => Received::StderrEnd,
                _ => Received::Nothing,
            },
            STDIN | STDOUT | STDERR | STATUS | RESIZE if data.is_empty() => Received::Nothing,
            STDOUT => Received::Stdout(data),
            STDERR => Received::Stderr(data),
            STATUS if !self.has_status => self.receive_status(&data)?,
            STATUS => return Err(ChannelError::Protocol("more than one status".to_owned())),
            _ => {
                return Err(ChannelError::Protocol(format!(
                    "data for channel {channel}, which we only write"
                )));
            }
        })
    }

    /// Whether it is known how the process ended. What happens to the connection then is of no interest.
    pub(super) fn has_status(&self) -> bool {
        self.has_status
    }

    fn receive_status(&mut self, data: &[u8]) -> Result<Received, ChannelError> {
        self.status.extend_from_slice(data);
        match serde_json::from_slice::<Status>(&self.status) {
            Ok(status) => {
                self.has_status = true;
                Ok(Received::Status(Box::new(status)))
            }
            Err(err) if err.is_eof() && self.status.len() < MAX_STATUS => Ok(Received::Nothing),
            Err(err) => Err(ChannelError::Protocol(format!("the status cannot be read: {err}"))),
        }
    }
}

/// A status is a few hundred bytes.
const MAX_STATUS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[test]
    fn output_and_errors_are_told_apart() {
        let mut streams = Streams::default();
        assert_eq!(streams.receive(1, bytes("")).unwrap(), Received::Nothing);
        assert_eq!(streams.receive(1, bytes("out")).unwrap(), Received::Stdout(bytes("out")));
        assert_eq!(streams.receive(2, bytes("err")).unwrap(), Received::Stderr(bytes("err")));
        assert_eq!(streams.receive(255, Bytes::from_static(&[1])).unwrap(), Received::StdoutEnd);
        assert_eq!(streams.receive(255, Bytes::from_static(&[2])).unwrap(), Received::StderrEnd);
        assert_eq!(streams.receive(255, Bytes::from_static(&[3])).unwrap(), Received::Nothing);
    }

    #[test]
    fn a_status_may_come_in_pieces_but_only_once() {
        let mut streams = Streams::default();
        assert_eq!(streams.receive(3, bytes(r#"{"status":"#)).unwrap(), Received::Nothing);
        assert!(!streams.has_status());
        let Received::Status(status) = streams.receive(3, bytes(r#""Success"}"#)).unwrap() else { panic!() };
        assert_eq!(status.status.as_deref(), Some("Success"));
        assert!(streams.has_status());
        assert!(streams.receive(3, bytes("{}")).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        assert!(Streams::default().receive(3, bytes("command terminated")).is_err());
        for channel in [0, 4, 5, 254] {
            assert!(Streams::default().receive(channel, bytes("x")).is_err());
        }
    }
}
