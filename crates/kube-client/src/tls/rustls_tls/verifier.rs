//! The verifier of servers: against configured CA certificates, a file of them that may change, or the public ones.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::RustlsTlsError;
use super::configured_cas::{ConfiguredCas, Presented};
use super::public_cas::public_verifier;
use crate::config::Config;
use crate::tls::Peer;
use crate::tls::ca_file::CaFile;

/// The verifier that `config` describes.
pub(super) fn server_verifier(
    config: &Config,
    peer: &Peer,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let trust = match (TrustPolicy::of(config, provider)?, peer) {
        (Some(trust), Peer::Server { .. }) => trust,
        (None, _) => TrustPolicy::Public(public_verifier(provider)?),
        // A container image without public CA certificates has only the cluster's own.
        (Some(trust), Peer::Proxy) => match public_verifier(provider) {
            Ok(public) => TrustPolicy::Either(Box::new(trust), public),
            Err(_) => trust,
        },
    };
    Ok(Arc::new(Verifier { trust, algorithms: provider.signature_verification_algorithms }))
}

/// Verifies the certificate as `trust` says, and that the server holds its key. Where certificates are not verified, they are not parsed
/// either: whoever can replace them can have any key.
#[derive(Debug)]
struct Verifier {
    trust: TrustPolicy,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum TrustPolicy {
    /// Certificates are not verified (`insecure-skip-tls-verify`).
    Insecure,
    Public(Arc<dyn ServerCertVerifier>),
    Configured(ConfiguredCas),
    File(CaFile<ConfiguredCas>),
    Either(Box<TrustPolicy>, Arc<dyn ServerCertVerifier>),
}

impl TrustPolicy {
    /// `None` if `config` has no CA certificates.
    fn of(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Option<Self>, RustlsTlsError> {
        if config.accept_invalid_certs {
            return Ok(Some(Self::Insecure));
        }
        let configured = config.root_cert.as_deref();
        if let Some(path) = &config.root_cert_file {
            let provider = Arc::clone(provider);
            let convert = move |certificates: &[Vec<u8>]| ConfiguredCas::new(certificates, &provider);
            let followed = CaFile::new(path.clone(), configured, convert);
            return followed.map(|file| Some(Self::File(file))).map_err(RustlsTlsError::AddRootCertificate);
        }
        configured
            .map(|certificates| ConfiguredCas::new(certificates, provider).map(Self::Configured))
            .transpose()
            .map_err(RustlsTlsError::AddRootCertificate)
    }

    fn verify(&self, presented: &Presented<'_>) -> Result<ServerCertVerified, rustls::Error> {
        match self {
            Self::Insecure => Ok(ServerCertVerified::assertion()),
            Self::Public(public) => presented.verify_with(&**public),
            Self::Configured(cas) => cas.verify(presented),
            Self::File(file) => file.current().verify(presented),
            Self::Either(one, public) => one.verify(presented).or_else(|_| presented.verify_with(&**public)),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.trust.verify(&Presented { end_entity, intermediates, server_name, ocsp_response, now })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.trust {
            TrustPolicy::Insecure => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls12_signature(message, cert, dss, &self.algorithms),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.trust {
            TrustPolicy::Insecure => Ok(HandshakeSignatureValid::assertion()),
            _ => verify_tls13_signature(message, cert, dss, &self.algorithms),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self.trust {
            TrustPolicy::Insecure => ALL_SCHEMES.to_vec(),
            _ => self.algorithms.supported_schemes(),
        }
    }
}

/// A server may have a key of which the provider cannot verify signatures.
const ALL_SCHEMES: &[SignatureScheme] = &[
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ECDSA_NISTP521_SHA512,
    SignatureScheme::ED25519,
    SignatureScheme::ED448,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
    SignatureScheme::RSA_PKCS1_SHA256,
    SignatureScheme::RSA_PKCS1_SHA384,
    SignatureScheme::RSA_PKCS1_SHA512,
    SignatureScheme::RSA_PKCS1_SHA1,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::rustls_tls::crypto_provider;

    struct Authority {
        certificate: rcgen::Certificate,
        issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    }

    fn authority() -> Authority {
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Authority { certificate, issuer: rcgen::Issuer::new(params, key) }
    }

    fn server_certificate(of: &Authority) -> CertificateDer<'static> {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["host".to_owned()]).unwrap();
        params.signed_by(&key, &of.issuer).unwrap().der().clone()
    }

    fn trusts(verifier: &dyn ServerCertVerifier, certificate: &CertificateDer<'_>) -> bool {
        let name = ServerName::try_from("host").unwrap();
        verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now()).is_ok()
    }

    #[test]
    fn a_changed_ca_file_is_reloaded() {
        let (old, new) = (authority(), authority());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), old.certificate.pem()).unwrap();
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert_file = Some(file.path().to_owned());
        let verifier =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap())
                .unwrap();
        let (signed_by_old, signed_by_new) = (server_certificate(&old), server_certificate(&new));
        assert!(trusts(&*verifier, &signed_by_old) && !trusts(&*verifier, &signed_by_new));

        std::fs::write(file.path(), "half a file\n").unwrap();
        assert!(trusts(&*verifier, &signed_by_old));
        std::fs::write(file.path(), [old.certificate.pem(), new.certificate.pem()].concat()).unwrap();
        assert!(trusts(&*verifier, &signed_by_old) && trusts(&*verifier, &signed_by_new));
    }

    #[test]
    fn configured_cas_replace_the_public_ones() {
        let (ours, other) = (authority(), authority());
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![ours.certificate.der().to_vec()]);
        let verifier =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap())
                .unwrap();
        assert!(trusts(&*verifier, &server_certificate(&ours)));
        assert!(!trusts(&*verifier, &server_certificate(&other)));
        config.accept_invalid_certs = true;
        let verifier =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap())
                .unwrap();
        assert!(trusts(&*verifier, &server_certificate(&other)));
    }

    #[test]
    fn a_configured_server_certificate_is_trusted_while_it_is_valid() {
        let shown = |change: fn(&mut rcgen::CertificateParams), name: &str| {
            let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            change(&mut params);
            params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone()
        };
        let authority: fn(&mut rcgen::CertificateParams) =
            |params| params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let expired: fn(&mut rcgen::CertificateParams) = |params| {
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        };
        for (certificate, trusted) in [
            (shown(authority, "host"), true),
            (shown(|params| params.is_ca = rcgen::IsCa::ExplicitNoCa, "host"), true),
            (shown(|_| {}, "host"), true),
            (shown(authority, "other"), false),
            (shown(expired, "host"), false),
        ] {
            let mut config = Config::new("https://host".parse().unwrap());
            config.root_cert = Some(vec![certificate.to_vec()]);
            let verifier = server_verifier(
                &config,
                &Peer::Server { identity_provider: None },
                &crypto_provider().unwrap(),
            )
            .unwrap();
            assert_eq!(trusts(&*verifier, &certificate), trusted);
            assert!(
                !trusts(&*verifier, &shown(authority, "host")),
                "another certificate of the same form is not"
            );
        }
    }

    /// As kubectl does.
    #[test]
    fn a_configured_server_certificate_is_trusted_though_another_ca_signed_it() {
        let (signed, other) = (server_certificate(&authority()), server_certificate(&authority()));
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![signed.to_vec()]);
        let verifier =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap())
                .unwrap();
        assert!(trusts(&*verifier, &signed));
        assert!(!trusts(&*verifier, &other));
        let elsewhere = ServerName::try_from("elsewhere").unwrap();
        assert!(verifier.verify_server_cert(&signed, &[], &elsewhere, &[], UnixTime::now()).is_err());
        let long_ago = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1));
        let host = ServerName::try_from("host").unwrap();
        assert!(verifier.verify_server_cert(&signed, &[], &host, &[], long_ago).is_err());
    }

    #[test]
    fn a_proxy_with_a_certificate_of_the_clusters_ca_is_trusted() {
        let (ours, other) = (authority(), authority());
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![ours.certificate.der().to_vec()]);
        let verifier = server_verifier(&config, &Peer::Proxy, &crypto_provider().unwrap()).unwrap();
        assert!(trusts(&*verifier, &server_certificate(&ours)));
        assert!(!trusts(&*verifier, &server_certificate(&other)));
    }

    #[test]
    fn an_invalid_ca_certificate_does_not_make_the_others_useless() {
        let ours = authority();
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec(), ours.certificate.der().to_vec()]);
        let verifier =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap())
                .unwrap();
        assert!(trusts(&*verifier, &server_certificate(&ours)));
    }

    #[test]
    fn an_invalid_ca_certificate_alone_is_an_error() {
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec()]);
        let result =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap());
        assert!(matches!(result, Err(RustlsTlsError::AddRootCertificate(_))));
        config.root_cert = None;
        config.root_cert_file = Some("/no/such/ca.crt".into());
        let Err(RustlsTlsError::AddRootCertificate(cause)) =
            server_verifier(&config, &Peer::Server { identity_provider: None }, &crypto_provider().unwrap())
        else {
            panic!("expected an error");
        };
        assert!(cause.to_string().contains("/no/such/ca.crt"), "{cause}");
    }
}
