//! The channels of forwarded ports, as a pure machine.

use bytes::Bytes;

use super::ChannelError;

/// Sorts what comes from ports: each has a channel for data and one for an error, and each channel starts with the number of the port.
#[derive(Debug)]
pub(super) struct Ports {
    channels: Vec<Channel>,
}

#[derive(Debug)]
struct Channel {
    port: u16,
    /// The beginning of the number, until it is complete.
    announced: Option<Vec<u8>>,
    closed: bool,
}

/// What a message was, of the port with this index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    Data(usize, Bytes),
    /// The server sends nothing more on this port.
    End(usize),
    Error(usize, String),
    Nothing,
}

impl Ports {
    pub(super) fn new(ports: &[u16]) -> Self {
        let channel = |port| Channel { port, announced: Some(Vec::new()), closed: false };
        Self { channels: ports.iter().flat_map(|&port| [channel(port), channel(port)]).collect() }
    }

    /// Takes the data of a channel.
    pub(super) fn receive(&mut self, number: u8, data: Bytes) -> Result<Received, ChannelError> {
        if number == super::streams::CLOSE && self.channels.len() <= usize::from(number) {
            return Ok(data.first().map_or(Received::Nothing, |&closed| self.close(closed)));
        }
        let channel = self.channels.get_mut(usize::from(number)).ok_or_else(|| {
            ChannelError::Protocol(format!("data for channel {number}, which is no port's"))
        })?;
        let data = channel.after_announcement(data)?;
        let index = usize::from(number / 2);
        Ok(match number % 2 {
            _ if data.is_empty() || channel.closed => Received::Nothing,
            0 => Received::Data(index, data),
            _ => Received::Error(index, String::from_utf8_lossy(&data).into_owned()),
        })
    }

    fn close(&mut self, number: u8) -> Received {
        match self.channels.get_mut(usize::from(number)) {
            Some(channel) if !channel.closed => {
                channel.closed = true;
                if number.is_multiple_of(2) {
                    Received::End(usize::from(number / 2))
                } else {
                    Received::Nothing
                }
            }
            _ => Received::Nothing,
        }
    }
}

impl Channel {
    /// What is left of the data behind the number of the port, which has to be ours.
    fn after_announcement(&mut self, mut data: Bytes) -> Result<Bytes, ChannelError> {
        let Some(announced) = &mut self.announced else { return Ok(data) };
        announced.extend_from_slice(&data.split_to(data.len().min(2 - announced.len())));
        if let [low, high] = announced[..] {
            let port = u16::from_le_bytes([low, high]);
            if port != self.port {
                let text = format!("port {port} where {} was asked for", self.port);
                return Err(ChannelError::Protocol(text));
            }
            self.announced = None;
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(data: &'static [u8]) -> Bytes {
        Bytes::from_static(data)
    }

    #[test]
    fn each_channel_starts_with_its_port() {
        let mut ports = Ports::new(&[80, 8080]);
        assert_eq!(ports.receive(0, bytes(&[80, 0])).unwrap(), Received::Nothing);
        assert_eq!(ports.receive(2, bytes(&[0x90])).unwrap(), Received::Nothing);
        assert_eq!(ports.receive(2, bytes(&[0x1f, b'a', b'b'])).unwrap(), Received::Data(1, bytes(b"ab")));
        assert_eq!(ports.receive(0, bytes(b"PP")).unwrap(), Received::Data(0, bytes(b"PP")));
        assert_eq!(ports.receive(1, bytes(&[80, 0])).unwrap(), Received::Nothing);
        assert_eq!(ports.receive(1, bytes(b"refused")).unwrap(), Received::Error(0, "refused".to_owned()));
    }

    #[test]
    fn a_port_can_be_closed_once() {
        let mut ports = Ports::new(&[80]);
        assert_eq!(ports.receive(255, bytes(&[0])).unwrap(), Received::End(0));
        assert_eq!(ports.receive(255, bytes(&[0])).unwrap(), Received::Nothing);
        assert_eq!(ports.receive(255, bytes(&[1])).unwrap(), Received::Nothing);
        assert_eq!(ports.receive(255, bytes(&[9])).unwrap(), Received::Nothing);
        assert_eq!(ports.receive(0, bytes(&[80, 0, b'x'])).unwrap(), Received::Nothing);
    }

    #[test]
    fn another_port_or_channel_is_an_error() {
        let mut ports = Ports::new(&[80]);
        let err = ports.receive(0, bytes(&[81, 0])).unwrap_err();
        assert!(err.to_string().ends_with("port 81 where 80 was asked for"), "{err}");
        assert!(ports.receive(2, bytes(b"x")).is_err());
    }
}
