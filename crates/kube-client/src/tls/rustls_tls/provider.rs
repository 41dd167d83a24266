//! The cryptography provider of rustls.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use thiserror::Error;

/// The provider that the process has installed, or else the one of this build: aws-lc-rs if both are enabled, since ring is the default
/// and aws-lc-rs a deliberate choice.
pub(crate) fn crypto_provider() -> Result<Arc<CryptoProvider>, NoCryptoProvider> {
    CryptoProvider::get_default().cloned().or_else(built_in).ok_or(NoCryptoProvider)
}

/// The process has installed no provider, and the build has none.
#[derive(Debug, Error)]
#[error(
    "no cryptography for TLS: enable the feature `ring` or `aws-lc-rs` of kube, or install a rustls `CryptoProvider` first"
)]
pub(crate) struct NoCryptoProvider;

fn built_in() -> Option<Arc<CryptoProvider>> {
    #[cfg(feature = "aws-lc-rs")]
    return Some(Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    return Some(Arc::new(rustls::crypto::ring::default_provider()));
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    None
}

#[cfg(all(test, not(any(feature = "ring", feature = "aws-lc-rs"))))]
mod tests {
    use crate::{Client, Config, Error};

    #[tokio::test]
    async fn a_client_without_cryptography_is_an_error() {
        let config = Config::new("https://localhost:1".parse().unwrap());
        let err = Client::try_from(config).err().unwrap();
        let Error::Service(cause) = err else { panic!("{err:?}") };
        assert!(cause.to_string().contains("`ring` or `aws-lc-rs`"), "{cause}");
        // http needs no cryptography.
        Client::try_from(Config::new("http://localhost:1".parse().unwrap())).unwrap();
    }
}
