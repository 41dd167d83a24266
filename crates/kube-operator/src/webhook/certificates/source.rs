//! What a webhook server asks of a source of certificates.

use std::{fmt, path::PathBuf};

use futures::future::BoxFuture;
use kube_core::ApiResource;
use kube_serve::listener::TlsSettings;

/// A source of certificates for a [`WebhookServer`](crate::webhook::WebhookServer).
pub trait CertificateSource: Send + 'static {
    /// Obtains the first certificate. The keeper replaces it in the settings when there is a new one, until it is dropped.
    ///
    /// # Errors
    /// If there is no usable certificate.
    fn start(self) -> BoxFuture<'static, Result<Serving, CertificateError>>;

    /// What the deployment of the program has to provide, for [`Manifests`](crate::manifests::Manifests). By default
    /// [`CertificateNeeds::Unknown`].
    fn needs(&self) -> CertificateNeeds {
        CertificateNeeds::Unknown
    }
}

/// What a source of certificates expects of the deployment of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateNeeds {
    /// Nothing that is known here: whoever deploys the program arranges it.
    #[default]
    Unknown,
    /// A certificate and its key in files, such as those of a mounted Secret.
    Files {
        /// The path of the certificate.
        certificate: PathBuf,
        /// The path of the private key.
        key: PathBuf,
    },
    /// Permission to keep a certificate in a Secret, and to write its CA into objects.
    SelfSigned {
        /// The namespace of Service and Secret.
        namespace: String,
        /// The Service that API servers call.
        service: String,
        /// The Secret.
        secret: String,
        /// The objects with a `caBundle`: their resources and names.
        targets: Vec<(ApiResource, String)>,
    },
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
