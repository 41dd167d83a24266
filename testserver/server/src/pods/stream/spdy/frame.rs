//! Encoding and decoding of frames.

use bytes::{Buf, BufMut, Bytes, BytesMut};

const CONTROL: u32 = 0x8003_0000;
const FIN: u8 = 1;
/// The most data in one frame.
pub(super) const CHUNK: usize = 16 * 1024;

/// A frame from the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// SYN_STREAM, with its compressed headers.
    Open {
        stream: u32,
        headers: Bytes,
        last: bool,
    },
    Data {
        stream: u32,
        data: Bytes,
        last: bool,
    },
    /// Headers of an open stream: ignored, but decompressed to keep the compression state.
    Headers(Bytes),
    Reset {
        stream: u32,
    },
    Ping(u32),
    GoAway,
    /// Any other frame, such as SETTINGS and WINDOW_UPDATE.
    Other,
}

/// Buffers incoming bytes until they form frames.
#[derive(Debug, Default)]
pub(super) struct Decoder(BytesMut);

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next complete frame. After an error, nothing more can be decoded.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, &'static str> {
        let Some((head, rest)) = self.0.split_at_checked(8) else { return Ok(None) };
        let mut head = head;
        let (first, second) = (head.get_u32(), head.get_u32());
        let length = (second & 0x00ff_ffff) as usize;
        if rest.len() < length {
            return Ok(None);
        }
        self.0.advance(8);
        let body = self.0.split_to(length).freeze();
        let last = (second >> 24) as u8 & FIN != 0;
        if first & 0x8000_0000 == 0 {
            return Ok(Some(Frame::Data { stream: first, data: body, last }));
        }
        if first & 0x7fff_0000 != CONTROL & 0x7fff_0000 {
            return Err("a frame of a version other than 3");
        }
        control(first & 0xffff, body, last).map(Some).ok_or("the frame is too short")
    }
}

fn control(kind: u32, mut body: Bytes, last: bool) -> Option<Frame> {
    Some(match kind {
        1 => {
            let stream = body.try_get_u32().ok()?;
            // Associated stream and priority.
            body.try_get_u32().ok()?;
            body.try_get_u16().ok()?;
            Frame::Open { stream, headers: body, last }
        }
        2 | 8 => {
            body.try_get_u32().ok()?;
            Frame::Headers(body)
        }
        3 => Frame::Reset { stream: body.try_get_u32().ok()? },
        6 => Frame::Ping(body.try_get_u32().ok()?),
        7 => Frame::GoAway,
        _ => Frame::Other,
    })
}

/// Data of a stream, at most [`CHUNK`] bytes.
pub(super) fn data(stream: u32, data: &[u8], last: bool) -> Bytes {
    let mut frame = BytesMut::with_capacity(8 + data.len());
    frame.put_u32(stream);
    frame.put_u32(flagged(data.len(), last));
    frame.put_slice(data);
    frame.freeze()
}

/// SYN_REPLY.
pub(super) fn accepted(stream: u32, headers: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(12 + headers.len());
    frame.put_u32(CONTROL | 2);
    frame.put_u32(flagged(4 + headers.len(), false));
    frame.put_u32(stream);
    frame.put_slice(headers);
    frame.freeze()
}

pub(super) fn pong(id: u32) -> Bytes {
    let mut frame = BytesMut::with_capacity(12);
    frame.put_u32(CONTROL | 6);
    frame.put_u32(4);
    frame.put_u32(id);
    frame.freeze()
}

fn flagged(length: usize, last: bool) -> u32 {
    let length = u32::try_from(length).expect("invariant: our own frames are of a few kilobytes");
    length | if last { u32::from(FIN) << 24 } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(bytes: &[u8], step: usize) -> Vec<Frame> {
        let mut decoder = Decoder::default();
        let mut all = Vec::new();
        for chunk in bytes.chunks(step) {
            decoder.push(chunk);
            while let Some(frame) = decoder.next().unwrap() {
                all.push(frame);
            }
        }
        all
    }

    #[test]
    fn frames_are_decoded_wherever_they_are_split() {
        let open = [&[0x80, 3, 0, 1, 1, 0, 0, 12][..], &[0, 0, 0, 5, 0, 0, 0, 0, 0, 0], b"hh"].concat();
        let bytes =
            [&open[..], &data(5, b"abc", true), &pong(9), &accepted(5, b"x"), &[0x80, 3, 0, 4, 0, 0, 0, 0]]
                .concat();
        let expected = [
            Frame::Open { stream: 5, headers: Bytes::from_static(b"hh"), last: true },
            Frame::Data { stream: 5, data: Bytes::from_static(b"abc"), last: true },
            Frame::Ping(9),
            Frame::Headers(Bytes::from_static(b"x")),
            Frame::Other,
        ];
        for step in 1..bytes.len() {
            assert_eq!(frames(&bytes, step), expected);
        }
    }

    #[test]
    fn invalid_frames_are_reported() {
        let next = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            decoder.next()
        };
        assert!(next(b"\x80\x02\0\x01\0\0\0\0").unwrap_err().contains("version"));
        assert!(next(b"\x80\x03\0\x01\0\0\0\0").unwrap_err().contains("short"));
        assert_eq!(next(b"\x80\x03\0"), Ok(None));
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next() {}
        }
    }
}
