//! The user whom a client certificate names in its subject.

use ring::digest::{SHA256, digest};
use yasna::{
    ASN1Result, BERReader, BERReaderSeq, Tag,
    models::{ObjectIdentifier, TaggedDerValue},
};

use super::User;

const COMMON_NAME: &[u64] = &[2, 5, 4, 3];
const ORGANIZATION: &[u64] = &[2, 5, 4, 10];
/// Kubernetes' own attribute for the uid.
const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];

/// With this key, users have the hash of the certificate that they use.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// The common name is the user, each organization a group. `None` without a common name: then the certificate names nobody.
pub(super) fn user_of(certificate: &[u8]) -> Option<User> {
    let subject = yasna::parse_der(certificate, subject).ok()?;
    let mut user = User::default();
    for (kind, value) in subject {
        // Strings that are not UTF-8, such as BMPString, are no names of users.
        let Ok(value) = String::from_utf8(value.value().to_vec()) else { continue };
        match kind.components().as_slice() {
            COMMON_NAME => user.name = value,
            ORGANIZATION => user.groups.push(value),
            UID => user.uid = value,
            _ => {}
        }
    }
    let hash: String =
        digest(&SHA256, certificate).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    (!user.name.is_empty()).then(|| user.extra(CREDENTIAL, format!("X509SHA256={hash}")))
}

type Attribute = (ObjectIdentifier, TaggedDerValue);

/// The attributes of the subject, in their order (RFC 5280, 4.1).
fn subject(reader: BERReader<'_, '_>) -> ASN1Result<Vec<Attribute>> {
    reader.read_sequence(|certificate| {
        let subject = certificate.next().read_sequence(|fields| {
            let _version = fields.read_optional(|version| {
                version.read_tagged(Tag::context(0), |version| version.read_der())
            })?;
            for _serial_algorithm_issuer_validity in 0..4 {
                fields.next().read_der()?;
            }
            let names = fields.next().collect_sequence_of(|name| name.collect_set_of(attribute))?;
            rest(fields)?;
            Ok(names.into_iter().flatten().collect())
        })?;
        rest(certificate)?;
        Ok(subject)
    })
}

fn attribute(reader: BERReader<'_, '_>) -> ASN1Result<Attribute> {
    reader.read_sequence(|pair| Ok((pair.next().read_oid()?, pair.next().read_tagged_der()?)))
}

/// Reads to the end of a sequence, which the parser requires.
fn rest(sequence: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    while sequence.read_optional(|field| field.read_der())?.is_some() {}
    Ok(())
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
            (DnType::CustomDnType(ORGANIZATION.to_vec()), "équipe"),
            (DnType::CustomDnType(UID.to_vec()), "7"),
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
