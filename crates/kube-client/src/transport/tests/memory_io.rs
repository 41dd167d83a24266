//! In-memory connections.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;

/// The client's end of a connection on which the server has negotiated HTTP/2 or HTTP/1.1.
pub(crate) struct MemoryIo {
    io: TokioIo<DuplexStream>,
    http2: bool,
    /// The error of each read.
    read_error: Option<&'static str>,
}

impl MemoryIo {
    pub(crate) fn http2(io: DuplexStream) -> Self {
        Self { io: TokioIo::new(io), http2: true, read_error: None }
    }

    pub(crate) fn http1(io: DuplexStream) -> Self {
        Self { io: TokioIo::new(io), http2: false, read_error: None }
    }

    pub(super) fn failing_http1(read_error: &'static str) -> Self {
        Self { read_error: Some(read_error), ..Self::http1(tokio::io::duplex(1 << 16).0) }
    }
}

impl Connection for MemoryIo {
    fn connected(&self) -> Connected {
        if self.http2 { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for MemoryIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.read_error {
            Some(text) => Poll::Ready(Err(io::Error::other(text))),
            None => Pin::new(&mut self.io).poll_read(cx, buf),
        }
    }
}

impl Write for MemoryIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
