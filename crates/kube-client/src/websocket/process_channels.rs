//! The channels of a process, without I/O.

use bytes::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use super::ChannelError;

/// Input of the process.
pub(super) const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;
/// Sizes of the terminal.
pub(super) const RESIZE: u8 = 4;
/// Its one byte is the number of the channel to close (version 5 only).
pub(super) const CLOSE: u8 = 255;

/// Decodes the messages of a process.
#[derive(Debug, Default)]
pub(super) struct ProcessChannels {
    /// The part of the status that has been received.
    status: Vec<u8>,
    has_status: bool,
}

/// What a message means.
#[derive(Debug, PartialEq)]
pub(super) enum ProcessEvent {
    Stdout(Bytes),
    Stderr(Bytes),
    StdoutEnd,
    StderrEnd,
    /// The exit status. At most once.
    Status(Box<Status>),
    /// Ignored: servers open each channel with an empty message.
    Ignored,
}

impl ProcessChannels {
    /// Processes a message on `channel`.
    pub(super) fn receive(&mut self, channel: u8, data: Bytes) -> Result<ProcessEvent, ChannelError> {
        Ok(match channel {
            CLOSE => match data.first() {
                Some(&STDOUT) => ProcessEvent::StdoutEnd,
                Some(&STDERR) => ProcessEvent::StderrEnd,
                _ => ProcessEvent::Ignored,
            },
            STDIN | STDOUT | STDERR | STATUS | RESIZE if data.is_empty() => ProcessEvent::Ignored,
            STDOUT => ProcessEvent::Stdout(data),
            STDERR => ProcessEvent::Stderr(data),
            STATUS if !self.has_status => self.receive_status(&data)?,
            STATUS => return Err(ChannelError::Protocol("more than one status".to_owned())),
            _ => {
                return Err(ChannelError::Protocol(format!(
                    "data on channel {channel}, which only the client writes"
                )));
            }
        })
    }

    /// Whether the exit status has been received.
    pub(super) fn has_status(&self) -> bool {
        self.has_status
    }

    fn receive_status(&mut self, data: &[u8]) -> Result<ProcessEvent, ChannelError> {
        self.status.extend_from_slice(data);
        match serde_json::from_slice::<Status>(&self.status) {
            Ok(status) => {
                self.has_status = true;
                Ok(ProcessEvent::Status(Box::new(status)))
            }
            Err(err) if err.is_eof() && self.status.len() < MAX_STATUS => Ok(ProcessEvent::Ignored),
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
    fn stdout_and_stderr_are_separate() {
        let mut streams = ProcessChannels::default();
        assert_eq!(streams.receive(1, bytes("")).unwrap(), ProcessEvent::Ignored);
        assert_eq!(streams.receive(1, bytes("out")).unwrap(), ProcessEvent::Stdout(bytes("out")));
        assert_eq!(streams.receive(2, bytes("err")).unwrap(), ProcessEvent::Stderr(bytes("err")));
        assert_eq!(streams.receive(255, Bytes::from_static(&[1])).unwrap(), ProcessEvent::StdoutEnd);
        assert_eq!(streams.receive(255, Bytes::from_static(&[2])).unwrap(), ProcessEvent::StderrEnd);
        assert_eq!(streams.receive(255, Bytes::from_static(&[3])).unwrap(), ProcessEvent::Ignored);
    }

    #[test]
    fn a_status_may_arrive_in_parts_but_only_once() {
        let mut streams = ProcessChannels::default();
        assert_eq!(streams.receive(3, bytes(r#"{"status":"#)).unwrap(), ProcessEvent::Ignored);
        assert!(!streams.has_status());
        let ProcessEvent::Status(status) = streams.receive(3, bytes(r#""Success"}"#)).unwrap() else {
            panic!()
        };
        assert_eq!(status.status.as_deref(), Some("Success"));
        assert!(streams.has_status());
        assert!(streams.receive(3, bytes("{}")).is_err());
    }

    #[test]
    fn an_invalid_status_or_channel_is_an_error() {
        assert!(ProcessChannels::default().receive(3, bytes("command terminated")).is_err());
        for channel in [0, 4, 5, 254] {
            assert!(ProcessChannels::default().receive(channel, bytes("x")).is_err());
        }
    }
}
