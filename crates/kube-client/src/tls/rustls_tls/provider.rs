//! The cryptography provider of rustls.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use thiserror::Error;

/// The provider that the process has installed, or else the one of this build, which is installed: aws-lc-rs if both are enabled, since
/// ring is the default and aws-lc-rs a deliberate choice.
pub(crate) fn crypto_provider() -> Result<Arc<CryptoProvider>, NoCryptoProvider> {
    if CryptoProvider::get_default().is_none()
        && let Some(provider) = built_in()
    {
        // Programs of the 5.0 line use rustls' defaults after they made a client. An error: another thread was faster.
        let _ = provider.install_default();
    }
    CryptoProvider::get_default().cloned().ok_or(NoCryptoProvider)
}

/// The process has installed no provider, and the build has none.
#[derive(Debug, Error)]
#[error(
    "no cryptography for TLS: enable the feature `ring` or `aws-lc-rs` of kube, or install a rustls `CryptoProvider` first"
)]
pub(crate) struct NoCryptoProvider;

fn built_in() -> Option<CryptoProvider> {
    #[cfg(feature = "aws-lc-rs")]
    return Some(rustls::crypto::aws_lc_rs::default_provider());
    #[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
    return Some(rustls::crypto::ring::default_provider());
    #[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
    None
}

#[cfg(all(test, not(any(feature = "ring", feature = "aws-lc-rs"))))]
mod tests_without_provider {
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

#[cfg(all(test, any(feature = "ring", feature = "aws-lc-rs")))]
mod tests {
    use rustls::crypto::CryptoProvider;

    use crate::{Client, Config};

    /// In a separate process, where no other test has installed one.
    #[tokio::test]
    async fn a_client_installs_a_provider_if_the_process_has_none() {
        const NAME: &str =
            "tls::rustls_tls::provider::tests::a_client_installs_a_provider_if_the_process_has_none";
        const CHILD: &str = "KUBE_CLIENT_TEST_PROVIDER";
        if std::env::var_os(CHILD).is_none() {
            for url in ["https://localhost:1", "http://localhost:1"] {
                let mut child = std::process::Command::new(std::env::current_exe().unwrap());
                let output = child.args(["--exact", NAME]).env(CHILD, url).output().unwrap();
                let printed = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success() && printed.contains("1 passed"), "{url}: {printed}");
            }
            return;
        }
        assert!(CryptoProvider::get_default().is_none());
        Client::try_from(Config::new(std::env::var(CHILD).unwrap().parse().unwrap())).unwrap();
        assert!(CryptoProvider::get_default().is_some());
    }
}
