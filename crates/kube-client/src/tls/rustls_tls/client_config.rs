//! rustls's client settings and the https connector, from the settings of a [`Config`].

use std::sync::Arc;

use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, Error, InconsistentKeys, SignatureScheme};
use secrecy::ExposeSecret;

use super::RustlsTlsError;
use super::verifier::server_verifier;
use crate::config::{ClientIdentityPem, Config};
use crate::tls::identity::{CurrentIdentity, IdentitySource};
use crate::tls::{Alpn, Peer, TlsError};

/// The settings of rustls: the server verifier, and the client certificate if there is one.
pub(crate) fn client_config(
    provider: Arc<CryptoProvider>,
    config: &Config,
    peer: &Peer,
) -> Result<ClientConfig, TlsError> {
    let verifier = server_verifier(config, peer, &provider).map_err(TlsError::Rustls)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|err| TlsError::Rustls(RustlsTlsError::AddRootCertificate(err.into())))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let source = match peer {
        Peer::Server { identity_provider } => {
            IdentitySource::of(&config.auth_info, identity_provider.clone())?
        }
        Peer::Proxy => None,
    };
    let identity_may_change = source.as_ref().is_some_and(IdentitySource::may_change);
    let mut tls = match source {
        Some(source) => {
            let identity = CurrentIdentity::new(source, move |pem| certified_key(pem, &provider));
            builder
                .with_client_cert_resolver(Arc::new(ClientCertResolver(identity.map_err(TlsError::Rustls)?)))
        }
        None => builder.with_no_client_auth(),
    };
    if identity_may_change || config.root_cert_file.is_some() {
        // A resumed session keeps the client certificate that it started with and does not verify the server's certificate again.
        tls.resumption = Resumption::disabled();
    }
    Ok(tls)
}

/// Presents the current client certificate.
#[derive(Debug)]
struct ClientCertResolver(CurrentIdentity<CertifiedKey>);

impl ResolvesClientCert for ClientCertResolver {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.0.current()
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// Parses both, and checks that the key matches the certificate. Other PEM sections are ignored.
fn certified_key(
    identity: &ClientIdentityPem,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, RustlsTlsError> {
    let chain = CertificateDer::pem_slice_iter(&identity.certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(RustlsTlsError::InvalidIdentityPem)?;
    if chain.is_empty() {
        return Err(RustlsTlsError::MissingCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose_secret().as_bytes());
    let key = key.map_err(|err| match err {
        pem::Error::NoItemsFound => RustlsTlsError::MissingPrivateKey,
        err => RustlsTlsError::InvalidIdentityPem(err),
    })?;
    let key = provider.key_provider.load_private_key(key).map_err(RustlsTlsError::InvalidPrivateKey)?;
    let identity = CertifiedKey::new(chain, key);
    match identity.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(identity),
        // rustls parses only version 3. Servers accept version 1 from clients, and so does kubectl.
        Err(Error::InvalidCertificate(_)) if contains_public_key(&identity) => Ok(identity),
        Err(err) => Err(RustlsTlsError::InvalidPrivateKey(err)),
    }
}

/// Whether the public key of the private one is in the client's certificate, byte for byte.
fn contains_public_key(identity: &CertifiedKey) -> bool {
    let certificate = identity.cert.first().map_or(&[][..], |certificate| certificate.as_ref());
    identity
        .key
        .public_key()
        .is_some_and(|key| certificate.windows(key.as_ref().len()).any(|part| part == key.as_ref()))
}

/// Adds TLS to the https connections of `connector`; http URLs stay without.
pub(crate) fn https_connector<H>(
    config: &Config,
    mut tls: ClientConfig,
    connector: H,
    peer: &Peer,
    alpn: Alpn,
) -> Result<HttpsConnector<H>, RustlsTlsError> {
    // Not by the builder of hyper-rustls: it offers HTTP/2 only with the feature that compiles the HTTP/2 of hyper too.
    tls.alpn_protocols = match alpn {
        Alpn::Http2OrHttp1 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        Alpn::Http1 => Vec::new(),
    };
    let resolver: Arc<dyn ResolveServerName + Send + Sync> = match (&config.tls_server_name, peer) {
        (Some(name), Peer::Server { .. }) => {
            let name = ServerName::try_from(name.clone()).map_err(RustlsTlsError::InvalidServerName)?;
            Arc::new(FixedServerNameResolver::new(name))
        }
        _ => Arc::new(DefaultServerNameResolver::default()),
    };
    Ok(HttpsConnector::new(connector, tls, false, resolver))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::rustls_tls::crypto_provider;

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["me".into()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn parse(certificate: &str, key: &str) -> Result<CertifiedKey, RustlsTlsError> {
        let pem =
            ClientIdentityPem { certificate: certificate.as_bytes().to_vec(), key: key.to_owned().into() };
        certified_key(&pem, &crypto_provider().unwrap())
    }

    #[test]
    fn each_invalid_identity_has_its_own_error() {
        let ((certificate, key), (_, other_key)) = (made(), made());
        assert_eq!(parse(&certificate, &key).unwrap().cert.len(), 1);
        assert!(matches!(parse("", &key), Err(RustlsTlsError::MissingCertificate)));
        assert!(matches!(parse(&certificate, ""), Err(RustlsTlsError::MissingPrivateKey)));
        assert!(matches!(parse(&certificate, &certificate), Err(RustlsTlsError::MissingPrivateKey)));
        assert!(matches!(parse(&certificate, &other_key), Err(RustlsTlsError::InvalidPrivateKey(_))));
        assert!(matches!(
            parse("-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----", &key),
            Err(RustlsTlsError::InvalidPrivateKey(_))
        ));
        let cut = &certificate[..certificate.len() / 2];
        assert!(matches!(parse(cut, &key), Err(RustlsTlsError::InvalidIdentityPem(_))));
    }

    /// As `openssl x509 -req` makes them without an extensions file.
    #[cfg(feature = "openssl-tls")]
    #[test]
    fn a_client_certificate_of_version_1_is_used_with_its_own_key() {
        let key = || openssl::pkey::PKey::from_rsa(openssl::rsa::Rsa::generate(2048).unwrap()).unwrap();
        let (own, other) = (key(), key());
        let mut certificate = openssl::x509::X509::builder().unwrap();
        certificate.set_version(0).unwrap();
        certificate.set_pubkey(&own).unwrap();
        certificate.set_not_before(&openssl::asn1::Asn1Time::days_from_now(0).unwrap()).unwrap();
        certificate.set_not_after(&openssl::asn1::Asn1Time::days_from_now(1).unwrap()).unwrap();
        certificate.sign(&own, openssl::hash::MessageDigest::sha256()).unwrap();
        let certificate = String::from_utf8(certificate.build().to_pem().unwrap()).unwrap();
        let pem = |key: &openssl::pkey::PKey<openssl::pkey::Private>| {
            String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap()
        };
        assert_eq!(parse(&certificate, &pem(&own)).unwrap().cert.len(), 1);
        assert!(matches!(parse(&certificate, &pem(&other)), Err(RustlsTlsError::InvalidPrivateKey(_))));
    }
}
