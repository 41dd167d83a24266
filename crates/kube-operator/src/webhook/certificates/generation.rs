//! One certificate authority with the one serving certificate that it signs.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Serialize};

/// Seconds since 1970.
pub(super) type Timestamp = u64;

/// Clocks of API servers may be behind by this much.
pub(super) const SKEW: u64 = 3600;

/// A CA certificate, and the certificate that it signed. The key of the CA is not kept: it can sign nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Generation {
    /// PEM, as everything here.
    pub(super) ca: String,
    pub(super) certificate: String,
    pub(super) key: Key,
    /// The DNS names and IP addresses in the certificate.
    pub(super) names: Vec<String>,
    pub(super) issued: Timestamp,
    pub(super) expires: Timestamp,
}

/// A private key, which is not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Key(pub(super) String);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// Makes a CA, and a certificate for these names signed by it.
pub(super) fn issue(
    names: &[String],
    validity: Duration,
    now: Timestamp,
) -> Result<Generation, rcgen::Error> {
    let expires = now.saturating_add(validity.as_secs());
    let named = |mut params: CertificateParams, name: &str| {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_before = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.saturating_sub(SKEW));
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(expires);
        params
    };
    let mut authority = named(CertificateParams::default(), &format!("webhook-ca-{now}"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

    let first = names.first().map_or("webhook", String::as_str);
    let mut leaf = named(CertificateParams::new(names)?, first);
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = leaf.signed_by(&key, &authority)?;
    Ok(Generation {
        ca: authority.pem(),
        certificate: certificate.pem(),
        key: Key(key.serialize_pem()),
        names: names.to_vec(),
        issued: now,
        expires,
    })
}
