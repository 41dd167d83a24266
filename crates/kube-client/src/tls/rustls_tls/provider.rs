//! The cryptography that rustls uses.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;

/// What the process has installed, or else the one that this crate was built with: aws-lc-rs where both are on, since ring is on by
/// default and whoever adds aws-lc-rs means it.
pub(crate) fn crypto_provider() -> Arc<CryptoProvider> {
    CryptoProvider::get_default().cloned().unwrap_or_else(built_in)
}

#[cfg(feature = "aws-lc-rs")]
fn built_in() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
fn built_in() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
fn built_in() -> Arc<CryptoProvider> {
    panic!(
        "no cryptography for TLS: enable the feature `ring` or `aws-lc-rs` of kube, or install a rustls CryptoProvider before making a Client"
    )
}
