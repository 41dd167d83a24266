use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// A certificate authority of one server's own, and the server's certificate from it.
pub(super) struct Pki {
    pub(super) ca: String,
    pub(super) chain: String,
    pub(super) key: String,
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
        Ok(Self { ca, chain, key: key.serialize_pem() })
    }
}
