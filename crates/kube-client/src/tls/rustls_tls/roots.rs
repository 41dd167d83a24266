//! Whom to trust: given authorities, a file of them that may change, the public ones, or anyone.

use std::sync::Arc;

#[cfg(feature = "webpki-roots")]
use rustls::RootCertStore;
#[cfg(feature = "webpki-roots")]
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::RustlsTlsError;
use super::given::{Given, Shown};
use crate::config::Config;
use crate::tls::Peer;
use crate::tls::follow::FollowedAuthorities;

/// The verifier that `config` asks for.
pub(super) fn server_verifier(
    config: &Config,
    peer: &Peer,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
    let trust = match (Trust::of(config, provider)?, peer) {
        (Some(trust), Peer::Server { .. }) => trust,
        (None, _) => Trust::Public(public::verifier(provider)?),
        // Without public authorities, as in an empty container, the cluster's own are all there is.
        (Some(trust), Peer::Proxy) => match public::verifier(provider) {
            Ok(public) => Trust::Either(Box::new(trust), public),
            Err(_) => trust,
        },
    };
    Ok(Arc::new(Verifier { trust, algorithms: provider.signature_verification_algorithms }))
}

/// Checks by whom a certificate is signed as `trust` says; that the server holds the key of what it shows is always checked.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
}

#[derive(Debug)]
enum Trust {
    /// Anyone, as `insecure-skip-tls-verify` says.
    Anyone,
    Public(Arc<dyn ServerCertVerifier>),
    Given(Given),
    File(FollowedAuthorities<Given>),
    Either(Box<Trust>, Arc<dyn ServerCertVerifier>),
}

impl Trust {
    /// What `config` itself says, if anything.
    fn of(config: &Config, provider: &Arc<CryptoProvider>) -> Result<Option<Self>, RustlsTlsError> {
        if config.accept_invalid_certs {
            return Ok(Some(Self::Anyone));
        }
        let given = config.root_cert.as_deref();
        if let Some(path) = &config.root_cert_file {
            let provider = Arc::clone(provider);
            let make = move |certificates: &[Vec<u8>]| Given::new(certificates, &provider);
            let followed = FollowedAuthorities::new(path.clone(), given, make);
            return followed.map(|file| Some(Self::File(file))).map_err(RustlsTlsError::AddRootCertificate);
        }
        given
            .map(|certificates| Given::new(certificates, provider).map(Self::Given))
            .transpose()
            .map_err(RustlsTlsError::AddRootCertificate)
    }

    fn judge(&self, shown: &Shown<'_>) -> Result<ServerCertVerified, rustls::Error> {
        match self {
            Self::Anyone => Ok(ServerCertVerified::assertion()),
            Self::Public(public) => shown.judged_by(&**public),
            Self::Given(given) => given.judge(shown),
            Self::File(file) => file.current().judge(shown),
            Self::Either(one, public) => one.judge(shown).or_else(|_| shown.judged_by(&**public)),
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
        self.trust.judge(&Shown { end_entity, intermediates, server_name, ocsp_response, now })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The authorities of the platform, as the platform judges them.
#[cfg(not(feature = "webpki-roots"))]
mod public {
    use super::{Arc, CryptoProvider, RustlsTlsError, ServerCertVerifier};

    pub(super) fn verifier(
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
        let platform = rustls_platform_verifier::Verifier::new(Arc::clone(provider))
            .map_err(|err| RustlsTlsError::NoValidNativeRootCA(std::io::Error::other(err)))?;
        Ok(Arc::new(platform))
    }
}

/// Mozilla's authorities, built in: for images that have none.
#[cfg(feature = "webpki-roots")]
mod public {
    use super::{
        Arc, CryptoProvider, RootCertStore, RustlsTlsError, ServerCertVerifier, WebPkiServerVerifier,
    };

    pub(super) fn verifier(
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, RustlsTlsError> {
        let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
        let verifier = verifier.map_err(|err| RustlsTlsError::AddRootCertificate(err.into()))?;
        Ok(verifier)
    }
}

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
    fn a_changed_file_changes_whom_we_trust() {
        let (old, new) = (authority(), authority());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), old.certificate.pem()).unwrap();
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert_file = Some(file.path().to_owned());
        let verifier =
            server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap()).unwrap();
        let (signed_by_old, signed_by_new) = (server_certificate(&old), server_certificate(&new));
        assert!(trusts(&*verifier, &signed_by_old) && !trusts(&*verifier, &signed_by_new));

        std::fs::write(file.path(), "half a file\n").unwrap();
        assert!(trusts(&*verifier, &signed_by_old));
        std::fs::write(file.path(), [old.certificate.pem(), new.certificate.pem()].concat()).unwrap();
        assert!(trusts(&*verifier, &signed_by_old) && trusts(&*verifier, &signed_by_new));
    }

    #[test]
    fn given_authorities_are_the_only_ones() {
        let (ours, other) = (authority(), authority());
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![ours.certificate.der().to_vec()]);
        let verifier =
            server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap()).unwrap();
        assert!(trusts(&*verifier, &server_certificate(&ours)));
        assert!(!trusts(&*verifier, &server_certificate(&other)));
        config.accept_invalid_certs = true;
        let verifier =
            server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap()).unwrap();
        assert!(trusts(&*verifier, &server_certificate(&other)));
    }

    #[test]
    fn a_certificate_that_is_given_itself_is_trusted_as_long_as_it_is_valid() {
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
            let verifier =
                server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap()).unwrap();
            assert_eq!(trusts(&*verifier, &certificate), trusted);
            assert!(!trusts(&*verifier, &shown(authority, "host")), "one of its own making is not");
        }
    }

    /// As kubectl has it.
    #[test]
    fn a_servers_own_certificate_may_be_given_though_another_authority_signed_it() {
        let (signed, other) = (server_certificate(&authority()), server_certificate(&authority()));
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![signed.to_vec()]);
        let verifier =
            server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap()).unwrap();
        assert!(trusts(&*verifier, &signed));
        assert!(!trusts(&*verifier, &other));
        let elsewhere = ServerName::try_from("elsewhere").unwrap();
        assert!(verifier.verify_server_cert(&signed, &[], &elsewhere, &[], UnixTime::now()).is_err());
        let long_ago = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1));
        let host = ServerName::try_from("host").unwrap();
        assert!(verifier.verify_server_cert(&signed, &[], &host, &[], long_ago).is_err());
    }

    #[test]
    fn a_proxy_may_be_signed_by_the_clusters_authority_too() {
        let (ours, other) = (authority(), authority());
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![ours.certificate.der().to_vec()]);
        let verifier = server_verifier(&config, &Peer::Proxy, &crypto_provider().unwrap()).unwrap();
        assert!(trusts(&*verifier, &server_certificate(&ours)));
        assert!(!trusts(&*verifier, &server_certificate(&other)));
    }

    #[test]
    fn what_is_no_certificate_is_an_error() {
        let mut config = Config::new("https://host".parse().unwrap());
        config.root_cert = Some(vec![b"garbage".to_vec()]);
        let result = server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap());
        assert!(matches!(result, Err(RustlsTlsError::AddRootCertificate(_))));
        config.root_cert = None;
        config.root_cert_file = Some("/no/such/ca.crt".into());
        let Err(RustlsTlsError::AddRootCertificate(cause)) =
            server_verifier(&config, &Peer::Server { giver: None }, &crypto_provider().unwrap())
        else {
            panic!("expected an error");
        };
        assert!(cause.to_string().contains("/no/such/ca.crt"), "{cause}");
    }
}
