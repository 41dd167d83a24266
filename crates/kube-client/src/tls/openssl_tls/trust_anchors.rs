//! The CA certificates that servers are verified against: configured ones, a file of them that may change, or the platform's.

use openssl::error::ErrorStack;
use openssl::ssl::SslRef;
use openssl::x509::X509;
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::verify::X509VerifyFlags;
use tower::BoxError;

use super::SslConnectorError;
use crate::config::Config;
use crate::tls::Peer;
use crate::tls::ca_file::CaFile;

/// Where the CA certificates come from. Each connection reads them.
pub(super) enum TrustAnchors {
    /// Servers are not verified (`insecure-skip-tls-verify`).
    Insecure,
    /// The platform's only.
    Platform,
    Fixed {
        certificates: Vec<X509>,
        and_platform: bool,
    },
    File {
        file: CaFile<Vec<X509>>,
        and_platform: bool,
    },
}

impl TrustAnchors {
    pub(super) fn of(config: &Config, peer: &Peer) -> Result<Self, SslConnectorError> {
        if config.accept_invalid_certs {
            return Ok(Self::Insecure);
        }
        let and_platform = matches!(peer, Peer::Proxy);
        let configured = config.root_cert.as_deref();
        if let Some(path) = &config.root_cert_file {
            let file = CaFile::new(path.clone(), configured, parse);
            let file = file.map_err(SslConnectorError::AddRootCertificate)?;
            return Ok(Self::File { file, and_platform });
        }
        match configured {
            None => Ok(Self::Platform),
            Some(configured) => {
                let certificates = parse(configured).map_err(SslConnectorError::AddRootCertificate)?;
                Ok(Self::Fixed { certificates, and_platform })
            }
        }
    }

    /// The current CA certificates; `None` for OpenSSL's default.
    pub(super) fn store(&self) -> Result<Option<X509Store>, ErrorStack> {
        match self {
            Self::Insecure | Self::Platform => Ok(None),
            Self::Fixed { certificates, and_platform } => store(certificates, *and_platform).map(Some),
            Self::File { file, and_platform } => store(&file.current(), *and_platform).map(Some),
        }
    }

    /// Sets the CA certificates for one connection.
    pub(super) fn set_on(&self, connection: &mut SslRef) -> Result<(), ErrorStack> {
        match self.store()? {
            Some(store) => connection.set_verify_cert_store(store),
            None => Ok(()),
        }
    }
}

/// The certificates that are valid. One that is not must not make the others useless.
fn parse(certificates: &[Vec<u8>]) -> Result<Vec<X509>, BoxError> {
    let (mut parsed, mut first_error) = (Vec::new(), None);
    for der in certificates {
        match X509::from_der(der) {
            Ok(certificate) => parsed.push(certificate),
            Err(err) => {
                tracing::warn!(%err, "a CA certificate is not valid and is ignored");
                first_error.get_or_insert(err);
            }
        }
    }
    match first_error.filter(|_| parsed.is_empty()) {
        Some(err) => Err(err.into()),
        None => Ok(parsed),
    }
}

fn store(certificates: &[X509], and_platform: bool) -> Result<X509Store, ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    // A configured certificate is a trust anchor without its issuer, also if it is the certificate of the server.
    store.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
    for certificate in certificates {
        store.add_cert(certificate.clone())?;
    }
    if and_platform {
        store.set_default_paths()?;
    }
    Ok(store.build())
}
