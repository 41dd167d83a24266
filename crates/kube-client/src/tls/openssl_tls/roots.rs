//! Whom to trust: given authorities, a file of them that may change, the platform's, or anyone.

use openssl::error::ErrorStack;
use openssl::ssl::SslRef;
use openssl::x509::X509;
use openssl::x509::store::{X509Store, X509StoreBuilder};
use openssl::x509::verify::X509VerifyFlags;

use super::SslConnectorError;
use crate::config::Config;
use crate::tls::Peer;
use crate::tls::follow::FollowedAuthorities;

/// Whom to trust, looked up for each connection.
pub(super) enum Trust {
    /// Anyone, as `insecure-skip-tls-verify` says.
    Anyone,
    /// Those of the platform alone.
    Platform,
    Fixed {
        certificates: Vec<X509>,
        and_platform: bool,
    },
    File {
        file: FollowedAuthorities<Vec<X509>>,
        and_platform: bool,
    },
}

impl Trust {
    pub(super) fn of(config: &Config, peer: &Peer) -> Result<Self, SslConnectorError> {
        if config.accept_invalid_certs {
            return Ok(Self::Anyone);
        }
        let and_platform = matches!(peer, Peer::Proxy);
        let parse = |certificates: &[Vec<u8>]| {
            let parsed: Result<Vec<_>, ErrorStack> =
                certificates.iter().map(|der| X509::from_der(der)).collect();
            parsed.map_err(Into::into)
        };
        let given = config.root_cert.as_deref();
        if let Some(path) = &config.root_cert_file {
            let file = FollowedAuthorities::new(path.clone(), given, parse);
            let file = file.map_err(SslConnectorError::AddRootCertificate)?;
            return Ok(Self::File { file, and_platform });
        }
        match given {
            None => Ok(Self::Platform),
            Some(given) => {
                let certificates = parse(given).map_err(SslConnectorError::AddRootCertificate)?;
                Ok(Self::Fixed { certificates, and_platform })
            }
        }
    }

    /// The authorities of the moment; `None` for those that OpenSSL takes by itself.
    pub(super) fn store(&self) -> Result<Option<X509Store>, ErrorStack> {
        match self {
            Self::Anyone | Self::Platform => Ok(None),
            Self::Fixed { certificates, and_platform } => store(certificates, *and_platform).map(Some),
            Self::File { file, and_platform } => store(&file.current(), *and_platform).map(Some),
        }
    }

    /// For one connection.
    pub(super) fn set_on(&self, connection: &mut SslRef) -> Result<(), ErrorStack> {
        match self.store()? {
            Some(store) => connection.set_verify_cert_store(store),
            None => Ok(()),
        }
    }
}

fn store(certificates: &[X509], and_platform: bool) -> Result<X509Store, ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    // What is given is trusted, whoever has signed it: a server's own certificate, too.
    store.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
    for certificate in certificates {
        store.add_cert(certificate.clone())?;
    }
    if and_platform {
        store.set_default_paths()?;
    }
    Ok(store.build())
}
