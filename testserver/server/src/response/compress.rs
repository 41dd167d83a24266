//! Compression of large responses, and of watches that begin with what exists.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use futures::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, Response, header, request::Parts};

use super::body::Body;

/// Smaller bodies are not compressed.
const THRESHOLD: usize = 128 * 1024;

/// The largest number of events in one gzip member: so many are in memory at once.
const EVENTS: usize = 256;

/// A response extension: the events of a watch that `sendInitialEvents`, which are compressed on request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialEvents;

/// As on genuine servers, the header has to name `gzip` as such: neither `*` nor a quality counts.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|text| text.split(',').any(|coding| coding.trim() == "gzip"))
}

/// Compresses a large document for a client that accepts gzip. Streams stay as they are.
pub(crate) fn compress(parts: &Parts, response: Response<Body>) -> Response<Body> {
    if !accepts_gzip(&parts.headers) || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (head, body) = response.into_parts();
    match body.into_lines() {
        Ok(lines) => Response::from_parts(head, Body::lines(lines)),
        Err(bytes) if bytes.len() < THRESHOLD => Response::from_parts(head, Body::whole(bytes)),
        Err(bytes) => labelled(Response::from_parts(head, Body::whole(gzip(&bytes)))),
    }
}

/// Compresses the events of a watch that begins with what exists. As on genuine servers, each flush ends a gzip member: what is there at
/// once is one member (or several, of many events), later events are members of their own.
pub(crate) fn compress_events(response: Response<Body>) -> Response<Body> {
    if response.extensions().get::<InitialEvents>().is_none() {
        return response;
    }
    let (head, body) = response.into_parts();
    match body.into_lines() {
        Err(whole) => Response::from_parts(head, Body::whole(whole)),
        Ok(lines) => {
            let members = lines.ready_chunks(EVENTS).flat_map(|chunk| {
                // Nothing follows an error: the connection breaks.
                let error = chunk.iter().position(Result::is_err);
                let (mut events, mut members) = (Vec::new(), Vec::new());
                for line in chunk.into_iter().take(error.map_or(EVENTS, |at| at + 1)) {
                    match line {
                        Ok(event) => events.push(event),
                        Err(error) => members.push(Err(error)),
                    }
                }
                if !events.is_empty() {
                    members.insert(0, Ok(member(&events).into()));
                }
                stream::iter(members)
            });
            labelled(Response::from_parts(head, Body::lines(members.boxed())))
        }
    }
}

fn labelled(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

fn gzip(document: &Bytes) -> Vec<u8> {
    let mut encoder = encoder();
    let written = encoder.write_all(document).and_then(|()| encoder.finish());
    written.expect("invariant: writing to a vector does not fail")
}

/// One member of a stream. It is flushed before its end: what stands behind the last flush of a member is not delivered by Go's reader
/// until the next member begins, which may be a minute later.
fn member(events: &[Bytes]) -> Vec<u8> {
    let mut encoder = encoder();
    let written = events.iter().try_for_each(|event| encoder.write_all(event)).and_then(|()| encoder.flush());
    written.and_then(|()| encoder.finish()).expect("invariant: writing to a vector does not fail")
}

/// Speed matters more than size, on genuine servers too.
fn encoder() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::fast())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn compressed(accepted: &str, size: usize) -> Response<Body> {
        let request = http::Request::get("/").header(header::ACCEPT_ENCODING, accepted);
        let parts = request.body(()).unwrap().into_parts().0;
        compress(&parts, Response::new(Body::whole(vec![b'x'; size])))
    }

    #[test]
    fn large_documents_are_compressed_on_request() {
        for (accepted, size, is_compressed) in [
            ("gzip", THRESHOLD, true),
            ("br, gzip", THRESHOLD, true),
            ("gzip", THRESHOLD - 1, false),
            ("*", THRESHOLD, false),
            ("gzip;q=0.5", THRESHOLD, false),
            ("identity", THRESHOLD, false),
        ] {
            let response = compressed(accepted, size);
            assert_eq!(
                response.headers().contains_key(header::CONTENT_ENCODING),
                is_compressed,
                "{accepted}"
            );
            let Err(bytes) = response.into_body().into_lines() else { panic!("a document") };
            let mut text = Vec::new();
            if is_compressed {
                flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
            } else {
                text = bytes.to_vec();
            }
            assert_eq!(text.len(), size);
        }
    }

    /// What of a member has been decompressed where its flush ends, in four bytes of their own.
    fn up_to_the_flush(member: &[u8]) -> Vec<u8> {
        const HEADER: usize = 10;
        let end = member.windows(4).position(|bytes| bytes == [0, 0, 0xff, 0xff]).unwrap_or(HEADER);
        let mut text = Vec::with_capacity(100);
        flate2::Decompress::new(false)
            .decompress_vec(&member[HEADER..end + 4], &mut text, flate2::FlushDecompress::Sync)
            .unwrap();
        text
    }

    #[tokio::test]
    async fn events_that_are_there_at_once_are_one_member() {
        let (sender, later) = futures::channel::mpsc::unbounded();
        let first = stream::iter([Ok(Bytes::from("a\n")), Ok("b\n".into())]);
        let mut response = Response::new(Body::lines(first.chain(later).boxed()));
        response.extensions_mut().insert(InitialEvents);
        let response = compress_events(response);
        assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
        let Ok(mut members) = response.into_body().into_lines() else { panic!("a stream") };
        let text = |member: &Bytes| {
            let mut text = String::new();
            flate2::read::GzDecoder::new(&member[..]).read_to_string(&mut text).unwrap();
            text
        };
        let member = members.next().await.unwrap().unwrap();
        assert_eq!(text(&member), "a\nb\n");
        assert_eq!(up_to_the_flush(&member), b"a\nb\n", "Go reads on before it delivers the rest");
        sender.unbounded_send(Ok("c\n".into())).unwrap();
        sender.unbounded_send(Err(std::io::Error::other("reset"))).unwrap();
        assert_eq!(text(&members.next().await.unwrap().unwrap()), "c\n");
        assert!(members.next().await.unwrap().is_err(), "a broken connection stays one");
    }
}
