use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::{User, ids};

/// The CA of one server, and the server certificate it issued.
pub(super) struct Pki {
    pub(super) ca: String,
    pub(super) chain: String,
    pub(super) key: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Pki {
    pub(super) fn generate() -> Result<Self, rcgen::Error> {
        let mut authority = CertificateParams::new([])?;
        authority.distinguished_name.push(DnType::CommonName, "kube-testserver CA");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority_key = KeyPair::generate()?;
        let ca = authority.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(authority, authority_key);

        let names = ["localhost", "kubernetes", "kubernetes.default.svc", "127.0.0.1", "::1"];
        let mut server = CertificateParams::new(names.map(String::from))?;
        server.distinguished_name.push(DnType::CommonName, "kube-testserver");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let chain = server.signed_by(&key, &issuer)?.pem();
        Ok(Self { ca, chain, key: key.serialize_pem(), issuer })
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

/// Issues a credential to every user: the configured token, else a certificate with TLS, else a random token.
pub(super) fn issue(users: Vec<User>, pki: Option<&Pki>) -> Result<Vec<ClientIdentity>, rcgen::Error> {
    let credential = |user: &User| match (&user.token, pki) {
        (Some(token), _) => Ok(ClientCredential::Token(token.clone())),
        (None, Some(pki)) => pki.issue(&user.name, &user.groups),
        (None, None) => Ok(ClientCredential::Token(ids::uid())),
    };
    users.into_iter().map(|user| Ok(ClientIdentity { credential: credential(&user)?, user })).collect()
}

impl std::fmt::Debug for ClientCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate { .. } => "Certificate",
        })
    }
}
