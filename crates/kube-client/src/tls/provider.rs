//! The cryptography that rustls uses.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// What the process has installed, or else the one that this crate was built with.
pub(super) fn crypto_provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(built_in)
}

#[cfg(feature = "ring")]
fn built_in() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

#[cfg(not(feature = "ring"))]
fn built_in() -> Arc<CryptoProvider> {
    panic!(
        "no cryptography for TLS: enable the feature `ring` of kube, or install a rustls CryptoProvider before making a Client"
    )
}
