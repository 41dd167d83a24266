//! What a TLS connection leads to, and the protocols that it offers.

use std::sync::Arc;

use super::identity::IdentityProvider;

/// The HTTP versions of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Alpn {
    /// HTTP/2 and HTTP/1.1, both offered in ALPN.
    Http2OrHttp1,
    /// HTTP/1.1 only: upgrades, token requests, connectors of custom stacks. OpenSSL offers it in ALPN, rustls sends no ALPN.
    Http1,
}

/// The peer decides which certificates to trust and whether to present the client certificate.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    /// The cluster's API server. The certificate of `identity_provider` is presented if the user has no other.
    Server { identity_provider: Option<Arc<dyn IdentityProvider>> },
    /// A proxy: verified against the cluster's or the public CA certificates, without a client certificate.
    #[cfg_attr(not(feature = "http-proxy"), allow(dead_code, reason = "only HTTP proxies use TLS"))]
    Proxy,
}
