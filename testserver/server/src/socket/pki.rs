//! The certificates of a server: its CA, its own certificate, and those of users.

use std::net::IpAddr;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};

use super::start_error::StartError;
use crate::{
    User, ids,
    secret::Secret,
    storage::{CertificateAuthority, IssuedCredential, KeyFiles},
};

/// The CA of one server, and the server certificate: issued by it, or given.
pub(super) struct Pki {
    pub(super) ca: String,
    pub(super) served: ServingCertificate,
    is_given: bool,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate chain and its key in PEM.
#[derive(Clone, Debug)]
pub(crate) struct ServingCertificate {
    pub(crate) chain: String,
    pub(crate) key: Secret,
}

/// Whether a server certificate can have this name, so that clients find it: an IP address, or a DNS name, which may begin with `*.`.
pub(super) fn is_certificate_name(name: &str) -> bool {
    let is_dns = |name: &str| matches!(ServerName::try_from(name), Ok(ServerName::DnsName(_)));
    // Certificates have names without the dot of the root.
    name.parse::<IpAddr>().is_ok() || is_dns(name.strip_prefix("*.").unwrap_or(name)) && !name.ends_with('.')
}

/// The names that every server certificate has.
const NAMES: [&str; 5] = ["localhost", "kubernetes", "kubernetes.default.svc", "127.0.0.1", "::1"];

impl Pki {
    /// Issues a server certificate, with these names besides the usual ones, unless one is `given`, by the CA of the data directory; a new
    /// CA is stored there.
    pub(super) fn open(
        keys: Option<&KeyFiles>,
        more_names: &[String],
        given: Option<ServingCertificate>,
    ) -> Result<Self, StartError> {
        let ca = match keys.map(KeyFiles::ca).transpose()?.flatten() {
            Some(ca) => ca,
            None => {
                let ca = new_ca().map_err(StartError::Certificates)?;
                keys.map(|keys| keys.store_ca(&ca)).transpose()?;
                ca
            }
        };
        let key = KeyPair::from_pem(&ca.key);
        let key = key.map_err(|why| {
            keys.map_or(StartError::Certificates(why.clone()), |keys| keys.damaged("ca.key", why).into())
        })?;
        let issuer = Issuer::new(ca_params().map_err(StartError::Certificates)?, key);
        let is_given = given.is_some();
        let issue = || ServingCertificate::issue(&issuer, more_names).map_err(StartError::Certificates);
        let served = given.map_or_else(issue, Ok)?;
        Ok(Self { ca: ca.certificate, served, is_given, issuer })
    }

    /// What clients have to trust: the CA, or the given certificate itself, whose CA is not known here.
    pub(super) fn trusted(&self) -> &str {
        if self.is_given { &self.served.chain } else { &self.ca }
    }

    /// Issues a client certificate: the name as common name, a group as organization, as Kubernetes reads them.
    pub(super) fn issue(&self, name: &str, groups: &[String]) -> Result<ClientCredential, rcgen::Error> {
        let mut client = CertificateParams::new([])?;
        client.distinguished_name.push(DnType::CommonName, name);
        // rcgen holds one value per attribute; the server looks up users by the certificate itself.
        if let Some(group) = groups.first() {
            client.distinguished_name.push(DnType::OrganizationName, group.as_str());
        }
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = client.signed_by(&key, &self.issuer)?;
        let der = certificate.der().to_vec();
        Ok(ClientCredential::Certificate { pem: certificate.pem(), key: key.serialize_pem(), der })
    }
}

impl ServingCertificate {
    fn issue(issuer: &Issuer<'static, KeyPair>, more_names: &[String]) -> Result<Self, rcgen::Error> {
        let mut names = NAMES.map(String::from).to_vec();
        for name in more_names {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, "kube-testserver");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let chain = server.signed_by(&key, issuer)?.pem();
        Ok(Self { chain, key: Secret::new(key.serialize_pem()) })
    }
}

fn ca_params() -> Result<CertificateParams, rcgen::Error> {
    let mut authority = CertificateParams::new([])?;
    authority.distinguished_name.push(DnType::CommonName, "kube-testserver CA");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(authority)
}

fn new_ca() -> Result<CertificateAuthority, rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = ca_params()?.self_signed(&key)?.pem();
    Ok(CertificateAuthority { certificate, key: key.serialize_pem() })
}

/// A user and its credential.
#[derive(Clone, Debug)]
pub(super) struct ClientIdentity {
    pub(super) user: User,
    pub(super) credential: ClientCredential,
}

#[derive(Clone)]
pub(super) enum ClientCredential {
    Token(String),
    Certificate { pem: String, key: String, der: Vec<u8> },
}

/// Gives every user a credential: the configured token, else the one of the data directory, else a certificate with TLS or a random token
/// without.
pub(super) fn issue(
    users: Vec<User>,
    pki: Option<&Pki>,
    keys: Option<&KeyFiles>,
) -> Result<Vec<ClientIdentity>, StartError> {
    let mut stored = keys.map(KeyFiles::credentials).transpose()?.unwrap_or_default();
    let count_before = stored.len();
    let mut identities = Vec::new();
    for user in users {
        let credential = match (&user.token, pki) {
            (Some(token), _) => ClientCredential::Token(token.expose().to_owned()),
            (None, pki) => {
                let of_user = stored.iter().filter(|one| one.user == user.name && one.groups == user.groups);
                match of_user.filter_map(|one| ClientCredential::stored(one, pki.is_some())).next() {
                    Some(credential) => credential,
                    None => {
                        let issued = match pki {
                            Some(pki) => {
                                pki.issue(&user.name, &user.groups).map_err(StartError::Certificates)?
                            }
                            None => ClientCredential::Token(ids::uid()),
                        };
                        stored.push(issued.to_stored(&user));
                        issued
                    }
                }
            }
        };
        identities.push(ClientIdentity { credential, user });
    }
    if let Some(keys) = keys
        && stored.len() > count_before
    {
        keys.store_credentials(&stored)?;
    }
    Ok(identities)
}

impl ClientCredential {
    /// The stored credential of the wanted kind. A certificate that cannot be read is issued anew.
    fn stored(stored: &IssuedCredential, certificate: bool) -> Option<Self> {
        if !certificate {
            return stored.token.clone().map(Self::Token);
        }
        let (pem, key) = (stored.certificate.clone()?, stored.key.clone()?);
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?.to_vec();
        Some(Self::Certificate { pem, key, der })
    }

    fn to_stored(&self, user: &User) -> IssuedCredential {
        let (user, groups) = (user.name.clone(), user.groups.clone());
        let (token, certificate, key) = match self {
            Self::Token(token) => (Some(token.clone()), None, None),
            Self::Certificate { pem, key, .. } => (None, Some(pem.clone()), Some(key.clone())),
        };
        IssuedCredential { user, groups, token, certificate, key }
    }
}

impl std::fmt::Debug for ClientCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate { .. } => "Certificate",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_certificates_are_dns_names_and_addresses() {
        let long = "a".repeat(64);
        for (name, valid) in [
            ("host.docker.internal", true),
            ("*.svc", true),
            ("192.0.2.1", true),
            ("2001:db8::1", true),
            ("", false),
            ("two words", false),
            ("https://host", false),
            ("host:6443", false),
            ("a..b", false),
            ("a.*.b", false),
            ("bücher.example", false),
            ("-a.example", false),
            ("a-.example", false),
            ("192.0.2", false),
            ("*.192.0.2.1", false),
            ("a.example.", false),
            (long.as_str(), false),
        ] {
            assert_eq!(is_certificate_name(name), valid, "{name:?}");
        }
    }
}
