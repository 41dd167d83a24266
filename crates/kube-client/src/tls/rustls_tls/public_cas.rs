//! The verifier of servers with public certificates: against the CA certificates of the system, or built-in ones.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;

use super::RustlsTlsError;

/// Against Mozilla's CA certificates, for container images without any.
#[cfg(feature = "webpki-roots")]
pub(super) fn public_verifier(
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let roots = rustls::RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    webpki_verifier(roots, provider)
}

/// Against the CA certificates of the system, which are files. Unusable ones are logged and ignored.
#[cfg(all(not(feature = "webpki-roots"), unix, not(target_vendor = "apple"), not(target_os = "android")))]
pub(super) fn public_verifier(
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = rustls::RootCertStore::empty();
    let (usable, ignored) = roots.add_parsable_certificates(found.certs);
    for err in &found.errors {
        tracing::warn!(%err, "cannot read CA certificates of the system");
    }
    if ignored > 0 {
        tracing::warn!(ignored, usable, "ignored invalid CA certificates of the system");
    }
    if roots.is_empty() {
        let cause = found.errors.into_iter().next().map(std::io::Error::other);
        let none = || std::io::Error::new(std::io::ErrorKind::NotFound, "found none in the system's files");
        return Err(RustlsTlsError::NoValidNativeRootCA(cause.unwrap_or_else(none)));
    }
    webpki_verifier(roots, provider)
}

/// By the operating system.
#[cfg(all(
    not(feature = "webpki-roots"),
    not(all(unix, not(target_vendor = "apple"), not(target_os = "android")))
))]
pub(super) fn public_verifier(
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let platform = rustls_platform_verifier::Verifier::new(Arc::clone(provider))
        .map_err(|err| RustlsTlsError::NoValidNativeRootCA(std::io::Error::other(err)))?;
    Ok(Arc::new(platform))
}

#[cfg(any(feature = "webpki-roots", all(unix, not(target_vendor = "apple"), not(target_os = "android"))))]
fn webpki_verifier(
    roots: rustls::RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let builder =
        rustls::client::WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider));
    let verifier = builder.build().map_err(|err| RustlsTlsError::AddRootCertificate(err.into()))?;
    Ok(verifier)
}
