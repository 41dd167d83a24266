//! The client certificates of a connection, as a request extension.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use rustls::pki_types::CertificateDer;
use tower_service::Service;

/// The verified certificates of a client, leaf first.
///
/// An extension of every request on a connection with a client certificate.
///
/// ```
/// use kube_serve::listener::PeerCertificates;
///
/// fn peer<B>(request: &http::Request<B>) -> Option<&[u8]> {
///     request.extensions().get::<PeerCertificates>()?.leaf()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct PeerCertificates(Arc<[CertificateDer<'static>]>);

impl PeerCertificates {
    pub(super) fn of(chain: Option<&[CertificateDer<'static>]>) -> Option<Self> {
        chain.filter(|chain| !chain.is_empty()).map(|chain| Self(chain.into()))
    }

    /// The peer's own certificate, as DER.
    pub fn leaf(&self) -> Option<&[u8]> {
        self.0.first().map(AsRef::as_ref)
    }
}

/// Adds [`PeerCertificates`] to the extensions of each request.
#[derive(Clone, Debug)]
pub(super) struct WithPeer<S> {
    pub(super) service: S,
    pub(super) peer: Option<PeerCertificates>,
}

impl<S, B> Service<http::Request<B>> for WithPeer<S>
where
    S: Service<http::Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        if let Some(peer) = &self.peer {
            request.extensions_mut().insert(peer.clone());
        }
        self.service.call(request)
    }
}
