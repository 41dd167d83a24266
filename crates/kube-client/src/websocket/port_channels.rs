//! The channels of forwarded ports, without I/O.

use bytes::Bytes;

use super::ChannelError;

/// Decodes the messages of ports. Each port has a data channel and an error channel, and each channel starts with the port number.
#[derive(Debug)]
pub(super) struct PortChannels {
    channels: Vec<Channel>,
}

#[derive(Debug)]
struct Channel {
    port: u16,
    /// The bytes of the port number received so far; `None` once it is complete.
    announced: Option<Vec<u8>>,
    closed: bool,
}

/// What a message means, with the index of the port.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PortEvent {
    Data(usize, Bytes),
    /// The server sends no more data on this port.
    End(usize),
    Error(usize, String),
    Ignored,
}

impl PortChannels {
    pub(super) fn new(ports: &[u16]) -> Self {
        let channel = |port| Channel { port, announced: Some(Vec::new()), closed: false };
        Self { channels: ports.iter().flat_map(|&port| [channel(port), channel(port)]).collect() }
    }

    /// Processes a message on channel `number`.
    pub(super) fn receive(&mut self, number: u8, data: Bytes) -> Result<PortEvent, ChannelError> {
        if number == super::process_channels::CLOSE && self.channels.len() <= usize::from(number) {
            return Ok(data.first().map_or(PortEvent::Ignored, |&closed| self.close(closed)));
        }
        let channel = self.channels.get_mut(usize::from(number)).ok_or_else(|| {
            ChannelError::Protocol(format!("data on channel {number}, which belongs to no port"))
        })?;
        let data = channel.strip_port_number(data)?;
        let index = usize::from(number / 2);
        Ok(match number % 2 {
            _ if data.is_empty() || channel.closed => PortEvent::Ignored,
            0 => PortEvent::Data(index, data),
            _ => PortEvent::Error(index, String::from_utf8_lossy(&data).into_owned()),
        })
    }

    fn close(&mut self, number: u8) -> PortEvent {
        match self.channels.get_mut(usize::from(number)) {
            Some(channel) if !channel.closed => {
                channel.closed = true;
                if number.is_multiple_of(2) {
                    PortEvent::End(usize::from(number / 2))
                } else {
                    PortEvent::Ignored
                }
            }
            _ => PortEvent::Ignored,
        }
    }
}

impl Channel {
    /// Strips the port number at the beginning of the channel, and checks it.
    fn strip_port_number(&mut self, mut data: Bytes) -> Result<Bytes, ChannelError> {
        let Some(announced) = &mut self.announced else { return Ok(data) };
        announced.extend_from_slice(&data.split_to(data.len().min(2 - announced.len())));
        if let [low, high] = announced[..] {
            let port = u16::from_le_bytes([low, high]);
            if port != self.port {
                let text = format!("port {port} instead of {}", self.port);
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
        let mut ports = PortChannels::new(&[80, 8080]);
        assert_eq!(ports.receive(0, bytes(&[80, 0])).unwrap(), PortEvent::Ignored);
        assert_eq!(ports.receive(2, bytes(&[0x90])).unwrap(), PortEvent::Ignored);
        assert_eq!(ports.receive(2, bytes(&[0x1f, b'a', b'b'])).unwrap(), PortEvent::Data(1, bytes(b"ab")));
        assert_eq!(ports.receive(0, bytes(b"PP")).unwrap(), PortEvent::Data(0, bytes(b"PP")));
        assert_eq!(ports.receive(1, bytes(&[80, 0])).unwrap(), PortEvent::Ignored);
        assert_eq!(ports.receive(1, bytes(b"refused")).unwrap(), PortEvent::Error(0, "refused".to_owned()));
    }

    #[test]
    fn a_port_can_be_closed_once() {
        let mut ports = PortChannels::new(&[80]);
        assert_eq!(ports.receive(255, bytes(&[0])).unwrap(), PortEvent::End(0));
        assert_eq!(ports.receive(255, bytes(&[0])).unwrap(), PortEvent::Ignored);
        assert_eq!(ports.receive(255, bytes(&[1])).unwrap(), PortEvent::Ignored);
        assert_eq!(ports.receive(255, bytes(&[9])).unwrap(), PortEvent::Ignored);
        assert_eq!(ports.receive(0, bytes(&[80, 0, b'x'])).unwrap(), PortEvent::Ignored);
    }

    #[test]
    fn another_port_or_channel_is_an_error() {
        let mut ports = PortChannels::new(&[80]);
        let err = ports.receive(0, bytes(&[81, 0])).unwrap_err();
        assert!(err.to_string().ends_with("port 81 instead of 80"), "{err}");
        assert!(ports.receive(2, bytes(b"x")).is_err());
    }
}
