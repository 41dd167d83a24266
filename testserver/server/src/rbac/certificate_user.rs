//! The user whom a client certificate names in its subject.

use ring::digest::{SHA256, digest};
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::parse_x509_certificate;

use super::User;

/// Kubernetes' own attribute for the uid.
const UID: &str = "1.3.6.1.4.1.57683.2";

/// With this key, users have the hash of the certificate that they use.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// The common name is the user, each organization a group. `None` without a common name: then the certificate names nobody.
pub(super) fn user_of(certificate: &[u8]) -> Option<User> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    let mut user = User::default();
    for attribute in parsed.subject().iter_attributes() {
        // Strings that are not UTF-8, such as BMPString, are no names of users.
        let Ok(value) = attribute.as_str().map(str::to_owned) else { continue };
        let kind = attribute.attr_type();
        if *kind == OID_X509_COMMON_NAME {
            user.name = value;
        } else if *kind == OID_X509_ORGANIZATION_NAME {
            user.groups.push(value);
        } else if kind.to_id_string() == UID {
            user.uid = value;
        }
    }
    let hash: String =
        digest(&SHA256, certificate).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    (!user.name.is_empty()).then(|| user.extra(CREDENTIAL, format!("X509SHA256={hash}")))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    fn certificate(subject: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::new(["a.test".to_owned()]).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, value) in subject {
            params.distinguished_name.push(kind.clone(), DnValue::Utf8String((*value).to_owned()));
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_subject_is_the_user() {
        // rcgen keeps one value of a type, so the second organization is spelled as a custom type.
        let der = certificate(&[
            (DnType::OrganizationName, "system:masters"),
            (DnType::CountryName, "DE"),
            (DnType::CommonName, "ann"),
            (DnType::CustomDnType(vec![2, 5, 4, 10]), "équipe"),
            (DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), "7"),
        ]);
        let mut user = user_of(&der).unwrap();
        let credentials = user.extra.remove(CREDENTIAL).unwrap();
        assert!(credentials[0].starts_with("X509SHA256=") && credentials[0].len() == 75, "{credentials:?}");
        assert_eq!(user, User::new("ann").uid("7").group("system:masters").group("équipe"));
    }

    #[test]
    fn nobody_is_named_without_a_common_name_or_a_certificate() {
        assert_eq!(user_of(&certificate(&[(DnType::OrganizationName, "system:masters")])), None);
        assert_eq!(user_of(&certificate(&[(DnType::CommonName, "")])), None);
        let der = certificate(&[(DnType::CommonName, "ann")]);
        assert_eq!((user_of(&der[..der.len() - 1]), user_of(b"")), (None, None));
    }
}
