//! TLS of a listener: certificates, client CAs, reload.

use std::{fmt, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring::Ticketer},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{
        ClientCertVerifierBuilder, ServerSessionMemoryCache, WebPkiClientVerifier, danger::ClientCertVerifier,
    },
    sign::{CertifiedKey, SingleCertAndKey},
};
use tokio::sync::watch;

/// The TLS side of a [`Listener`](super::Listener): certificate chain and key, replaceable while it runs.
///
/// Cloning is cheap and all clones share one configuration: keep one and call [`reload`](Self::reload) when the
/// certificate is renewed. Connections that are open keep what they began with; new ones get the new certificate.
/// ALPN always offers `h2` and `http/1.1`.
#[derive(Clone)]
pub struct TlsSettings {
    current: Arc<watch::Sender<Arc<ServerConfig>>>,
}

/// Why a certificate chain or key was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The chain is not PEM, or holds no certificate.
    #[error("the certificate chain must be PEM with at least one CERTIFICATE block")]
    Certificate(#[source] Option<rustls::pki_types::pem::Error>),
    /// The key is not PEM, or not a private key.
    #[error("the private key must be one PEM block (PKCS#8, PKCS#1 or SEC1)")]
    PrivateKey(#[source] rustls::pki_types::pem::Error),
    /// Chain and key were read but do not go together, or rustls does not support them.
    #[error("the certificate and the private key cannot be used together")]
    Unusable(#[source] rustls::Error),
}

impl TlsSettings {
    /// Reads a chain (leaf first) and its key from PEM and offers no client authentication.
    ///
    /// # Errors
    /// [`TlsError`] says which of the two inputs is wrong.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        Ok(Self::new(server_config(chain, key, None)?))
    }

    /// As [`from_pem`](Self::from_pem), and accepts client certificates of these authorities; a client may also do without.
    /// Requests carry [`PeerCertificates`](super::PeerCertificates).
    ///
    /// # Errors
    /// [`TlsError`] says which of the inputs is wrong.
    pub fn from_pem_with_clients(chain: &[u8], key: &[u8], authorities: &[u8]) -> Result<Self, TlsError> {
        let verifier = client_verifier(authorities)?.allow_unauthenticated();
        Ok(Self::new(server_config(chain, key, Some(built(verifier)?))?))
    }

    /// Refuses clients without a certificate of these authorities from now on, and keeps the certificate; on error nothing changes.
    /// Requests carry [`PeerCertificates`](super::PeerCertificates). Sessions from before are not resumed. Other settings of a
    /// configuration that was given to [`new`](Self::new) become rustls' defaults.
    ///
    /// # Errors
    /// The authorities are no certificates in PEM.
    pub fn require_clients(&self, authorities: &[u8]) -> Result<(), TlsError> {
        let verifier = built(client_verifier(authorities)?)?;
        let mut result = Ok(());
        // In one step, or a certificate that comes meanwhile would be lost.
        self.current.send_if_modified(|current| {
            result = requiring(current, verifier).map(|config| *current = with_alpn(config));
            result.is_ok()
        });
        result.map_err(TlsError::Unusable)
    }

    /// Takes a finished rustls configuration, for client authentication or certificates chosen by name.
    /// Its ALPN list is replaced by `h2`, `http/1.1`.
    pub fn new(config: ServerConfig) -> Self {
        Self { current: Arc::new(watch::Sender::new(with_alpn(config))) }
    }

    /// Uses a new chain and key for connections accepted from now on; on error the old ones stay. Everything else stays as it is,
    /// client authentication too. Sessions of the old certificate are not resumed: where sessions are kept, they are kept in a new
    /// memory cache from now on, and where tickets are given, a new [`Ticketer`] of this process gives them. To share either
    /// between processes, use [`replace`](Self::replace) instead.
    ///
    /// # Errors
    /// As [`from_pem`](Self::from_pem).
    pub fn reload(&self, chain: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let (chain, key) = (certificates(chain)?, private_key(key)?);
        let mut result = Ok(());
        // In one step, or a configuration that comes meanwhile would be lost.
        self.current.send_if_modified(|current| {
            result = renewed(current, chain, key).map(|config| *current = Arc::new(config));
            result.is_ok()
        });
        result.map_err(TlsError::Unusable)
    }

    /// Uses a new rustls configuration for connections accepted from now on.
    pub fn replace(&self, config: ServerConfig) {
        self.current.send_replace(with_alpn(config));
    }

    pub(super) fn current(&self) -> Arc<ServerConfig> {
        self.current.borrow().clone()
    }
}

impl fmt::Debug for TlsSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsSettings").finish_non_exhaustive()
    }
}

fn with_alpn(mut config: ServerConfig) -> Arc<ServerConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// The same with another certificate, and none of the sessions. What was off stays off.
fn renewed(
    config: &ServerConfig,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = config.clone();
    let certified = CertifiedKey::from_der(chain, key, config.crypto_provider())?;
    config.cert_resolver = Arc::new(SingleCertAndKey::from(certified));
    if config.session_storage.can_cache() {
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
    }
    if config.ticketer.enabled() {
        config.ticketer = Ticketer::new()?;
    }
    Ok(config)
}

/// The same certificate for clients that this verifier accepts.
fn requiring(
    config: &ServerConfig,
    verifier: Arc<dyn ClientCertVerifier>,
) -> Result<ServerConfig, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(config.crypto_provider()));
    let builder = builder.with_safe_default_protocol_versions()?.with_client_cert_verifier(verifier);
    Ok(builder.with_cert_resolver(Arc::clone(&config.cert_resolver)))
}

fn client_verifier(authorities: &[u8]) -> Result<ClientCertVerifierBuilder, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(authorities)? {
        roots.add(authority).map_err(TlsError::Unusable)?;
    }
    Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()))
}

fn built(verifier: ClientCertVerifierBuilder) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    verifier.build().map_err(|error| TlsError::Unusable(rustls::Error::General(error.to_string())))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::Certificate(Some(error)))?;
    if chain.is_empty() { Err(TlsError::Certificate(None)) } else { Ok(chain) }
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(TlsError::PrivateKey)
}

/// As many sessions as rustls keeps by default.
const SESSIONS: usize = 256;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn server_config(
    chain: &[u8],
    key: &[u8],
    clients: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, TlsError> {
    let chain = certificates(chain)?;
    let key = private_key(key)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Unusable)?;
    let config = match clients {
        Some(verifier) => config.with_client_cert_verifier(verifier),
        None => config.with_no_client_auth(),
    };
    config.with_single_cert(chain, key).map_err(TlsError::Unusable)
}
