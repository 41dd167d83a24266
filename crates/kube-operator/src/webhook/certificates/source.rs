//! What a webhook server asks of a source of certificates.

use std::fmt;

use futures::future::BoxFuture;
use kube_serve::listener::TlsSettings;

/// A source of certificates for a [`WebhookServer`](crate::webhook::WebhookServer).
pub trait CertificateSource: Send + 'static {
    /// Obtains the first certificate. The keeper replaces it in the settings when there is a new one, until it is dropped.
    ///
    /// # Errors
    /// If there is no usable certificate.
    fn start(self) -> BoxFuture<'static, Result<Serving, CertificateError>>;
}

/// A certificate in use.
pub struct Serving {
    /// The settings for [`Listener::tls`](kube_serve::listener::Listener::tls).
    pub tls: TlsSettings,
    /// Replaces the certificate when there is a new one. Never ends; does nothing unless polled.
    pub keeper: BoxFuture<'static, ()>,
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// There is no usable certificate: the message names the file or object, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{subject}: {reason}")]
pub struct CertificateError {
    subject: String,
    #[source]
    reason: Box<dyn std::error::Error + Send + Sync>,
}

impl CertificateError {
    pub(super) fn new(
        subject: impl fmt::Display,
        reason: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { subject: subject.to_string(), reason: reason.into() }
    }
}
