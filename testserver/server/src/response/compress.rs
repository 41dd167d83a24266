//! Compression of large responses.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderValue, Response, header, request::Parts};

use super::body::Body;

/// Smaller bodies are not compressed.
const THRESHOLD: usize = 128 * 1024;

/// Compresses a large document for a client that accepts gzip. As on genuine servers, the header has to name `gzip` as such: neither `*`
/// nor a quality counts. Streams stay as they are.
pub(crate) fn compress(parts: &Parts, response: Response<Body>) -> Response<Body> {
    let accepted = parts.headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let accepts = accepted.is_some_and(|text| text.split(',').any(|coding| coding.trim() == "gzip"));
    if !accepts || response.headers().contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let bytes = match body.into_lines() {
        Ok(lines) => return Response::from_parts(head, Body::lines(lines)),
        Err(bytes) => bytes,
    };
    if bytes.len() < THRESHOLD {
        return Response::from_parts(head, Body::whole(bytes));
    }
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(head, Body::whole(gzip(&bytes)))
}

fn gzip(bytes: &Bytes) -> Vec<u8> {
    // Speed matters more than size, on genuine servers too.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("invariant: writing to a vector does not fail")
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
        for (accepted, size, wanted) in [
            ("gzip", THRESHOLD, true),
            ("br, gzip", THRESHOLD, true),
            ("gzip", THRESHOLD - 1, false),
            ("*", THRESHOLD, false),
            ("gzip;q=0.5", THRESHOLD, false),
            ("identity", THRESHOLD, false),
        ] {
            let response = compressed(accepted, size);
            assert_eq!(response.headers().contains_key(header::CONTENT_ENCODING), wanted, "{accepted}");
            let Err(bytes) = response.into_body().into_lines() else { panic!("a document") };
            let mut text = Vec::new();
            if wanted {
                flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
            } else {
                text = bytes.to_vec();
            }
            assert_eq!(text.len(), size);
        }
    }
}
