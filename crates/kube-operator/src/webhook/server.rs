//! Webhooks over HTTPS.

use std::{fmt, io, net::SocketAddr, panic::AssertUnwindSafe, time::Duration};

use axum::Router;
use futures::{FutureExt, future::BoxFuture};
use kube_core::panic::panic_message;
use kube_serve::listener::{Listener, Served};

use super::{
    certificates::{CertificateError, CertificateSource, Serving},
    error::WebhooksError,
    router::Webhooks,
};

/// API servers need one each, over HTTP/2.
const MAX_CONNECTIONS: usize = 1024;

/// A bound socket with webhooks, and other routes beside them.
///
/// ```no_run
/// # async fn serve(webhooks: kube_operator::webhook::Webhooks, stop: impl Future<Output = ()>)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// use kube_operator::webhook::{WebhookServer, certificates::CertificateFiles};
///
/// let certificates = CertificateFiles::new("/tmp/k8s-webhook-server/serving-certs");
/// let server = WebhookServer::bind(([0, 0, 0, 0], 9443).into(), webhooks, certificates).await?;
/// server.serve(stop).await;
/// # Ok(()) }
/// ```
pub struct WebhookServer {
    listener: Listener,
    router: Router,
    keeper: BoxFuture<'static, ()>,
}

/// The webhook server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookServerError {
    /// The webhooks cannot be served together.
    #[error(transparent)]
    Webhooks(#[from] WebhooksError),
    /// There is no usable certificate.
    #[error("the webhook server has no certificate: {0}")]
    Certificate(#[from] CertificateError),
    /// The address cannot be bound.
    #[error("the webhook server cannot listen on {addr}: {reason}")]
    Bind {
        /// The requested address.
        addr: SocketAddr,
        /// The operating system's reason.
        #[source]
        reason: io::Error,
    },
}

impl WebhookServer {
    /// Obtains a certificate and binds the address; port 0 takes a free one. Connections are queued until [`serve`](Self::serve). At most
    /// 1024 are open at the same time, and one that makes no request within 30 s is closed.
    ///
    /// # Errors
    /// If the webhooks have one path, there is no usable certificate, or the address is in use.
    pub async fn bind(
        addr: SocketAddr,
        webhooks: Webhooks,
        certificates: impl CertificateSource,
    ) -> Result<Self, WebhookServerError> {
        let router = webhooks.router()?;
        let Serving { tls, keeper } = certificates.start().await?;
        let listener =
            Listener::bind(addr).await.map_err(|reason| WebhookServerError::Bind { addr, reason })?;
        Ok(Self { listener: listener.tls(tls).max_connections(MAX_CONNECTIONS), router, keeper })
    }

    /// Serves these routes beside the webhooks, whose paths come first. A second call replaces the routes of the first.
    #[must_use]
    pub fn routes(mut self, routes: Router) -> Self {
        self.router = self.router.fallback_service(routes);
        self
    }

    /// How long running requests may continue after shutdown; 10 s by default.
    #[must_use]
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.listener = self.listener.drain_deadline(deadline);
        self
    }

    /// The bound address.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is ready, then lets running requests finish. Keeps the certificate current meanwhile. Dropping the future
    /// closes all connections at once.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Served {
        let Self { listener, router, keeper } = self;
        let serving = listener.serve(router, shutdown);
        let kept = async {
            if let Err(panic) = AssertUnwindSafe(keeper).catch_unwind().await {
                let message = panic_message(&*panic);
                tracing::error!(
                    message,
                    "what keeps the certificate current panicked: it is not renewed any more"
                );
            }
            std::future::pending().await
        };
        tokio::select! {
            served = serving => served,
            never = kept => never,
        }
    }
}

impl fmt::Debug for WebhookServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookServer").field("listener", &self.listener).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
pub(super) mod tests;
