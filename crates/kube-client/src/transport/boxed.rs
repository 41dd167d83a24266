//! One type for every connection and connector: with TLS or without, direct or through a proxy.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt};
use tower_service::Service;

/// A type-erased connector.
pub(crate) type BoxConnector = BoxCloneSyncService<Uri, BoxIo, BoxError>;

/// A connector that [`boxed`] accepts.
pub(crate) trait Connector:
    Service<Uri, Response: Io + 'static, Error: Into<BoxError>, Future: Send + 'static>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<C> Connector for C where
    C: Service<Uri, Response: Io + 'static, Error: Into<BoxError>, Future: Send + 'static>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Erases the type of a connector.
pub(crate) fn boxed<C: Connector>(connector: C) -> BoxConnector {
    BoxCloneSyncService::new(connector.map_response(BoxIo::new).map_err(Into::into))
}

/// A type-erased connection.
pub(crate) struct BoxIo(Box<dyn Io>);

/// The requirements on a connection.
pub(crate) trait Io: Read + Write + Connection + Unpin + Send {}

impl<T: Read + Write + Connection + Unpin + Send> Io for T {}

impl BoxIo {
    fn new(io: impl Read + Write + Connection + Unpin + Send + 'static) -> Self {
        Self(Box::new(io))
    }
}

impl Connection for BoxIo {
    fn connected(&self) -> Connected {
        self.0.connected()
    }
}

impl Read for BoxIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buf)
    }
}

impl Write for BoxIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write_vectored(cx, bufs)
    }
}
