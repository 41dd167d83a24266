//! Certificate signing requests, trust bundles and the names of signers.

use std::collections::HashMap;

use serde_json::Value;
use x509_parser::pem::Pem;

use super::values::text;
use crate::{object::names, schema::ErrorList};

pub(super) fn signing_request(value: &Value, at: &str, errors: &mut ErrorList) {
    const HEADER: &str = "-----BEGIN CERTIFICATE REQUEST-----";
    let decoded =
        base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text(value, "request")).unwrap_or_default();
    if !String::from_utf8_lossy(&decoded).contains(HEADER) {
        errors.invalid(
            format!("{at}.request"),
            &value["request"],
            "PEM block type must be CERTIFICATE REQUEST",
        );
    }
    signer(value, at, errors);
    if value["expirationSeconds"].as_i64().is_some_and(|seconds| seconds < 600) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(format!("{at}.expirationSeconds"), &value["expirationSeconds"], why);
    }
}

/// The certificates of a trust bundle: CAs, each of them once.
pub(super) fn bundle(value: &Value, at: &str, errors: &mut ErrorList) {
    if !text(value, "signerName").is_empty() {
        signer(value, at, errors);
    }
    let why = bad_anchors(text(value, "trustBundle"));
    errors.problem(format!("{at}.trustBundle"), "\"<value omitted>\"", why);
}

fn bad_anchors(bundle: &str) -> Option<String> {
    let mut anchors = HashMap::new();
    for (i, block) in Pem::iter_from_buffer(bundle.as_bytes()).map_while(Result::ok).enumerate() {
        if block.label != "CERTIFICATE" {
            return Some(format!("entry {i} has bad block type: {}", block.label));
        }
        match block.parse_x509() {
            Err(_) => return Some(format!("entry {i} does not parse as X.509")),
            Ok(certificate) if !certificate.is_ca() => {
                return Some(format!("entry {i} does not have the CA bit set"));
            }
            Ok(_) => {}
        }
        if let Some(first) = anchors.insert(block.contents, i) {
            return Some(format!("duplicate trust anchor (indices [{first} {i}])"));
        }
    }
    anchors.is_empty().then(|| "at least one trust anchor must be provided".to_owned())
}

/// The name of a signer: a domain, a slash and a path without more of them.
pub(super) fn signer(value: &Value, at: &str, errors: &mut ErrorList) {
    let (field, name) = (format!("{at}.signerName"), text(value, "signerName"));
    if name.is_empty() {
        // The table of rules has it as required.
        return;
    }
    let (domain, path) = match name.split_once('/') {
        Some((domain, path)) if !path.contains('/') => (domain, path),
        _ => {
            let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            return errors.invalid(field, &value["signerName"], why);
        }
    };
    let labels = domain.split('.').map(|label| (label, names::dns_label(label), domain));
    let segments = path.split('.').map(|segment| (segment, names::subdomain(segment), path));
    for (label, why, of) in labels.chain(segments) {
        if let Some(why) = why {
            errors.invalid(field.clone(), format!("{of:?}"), &format!("validating label {label:?}: {why}"));
        }
    }
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.invalid(field, format!("{domain:?}"), why);
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, IsCa, KeyPair};

    use super::*;

    fn certificate(is_ca: bool) -> String {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca =
            if is_ca { IsCa::Ca(rcgen::BasicConstraints::Unconstrained) } else { IsCa::ExplicitNoCa };
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn a_bundle_has_certificates_of_cas() {
        let (one, two, leaf) = (certificate(true), certificate(true), certificate(false));
        let of = |parts: &[&str]| bad_anchors(&parts.concat());
        assert_eq!(of(&["# text\n", &one, &two]), None);
        for (parts, why) in [
            (&["garbage"][..], "at least one trust anchor must be provided"),
            (&[&one, &leaf], "entry 1 does not have the CA bit set"),
            (&[&one, &two, &one], "duplicate trust anchor (indices [0 2])"),
            (
                &[&one, &KeyPair::generate().unwrap().serialize_pem()],
                "entry 1 has bad block type: PRIVATE KEY",
            ),
        ] {
            assert_eq!(of(parts).as_deref(), Some(why));
        }
    }

    #[test]
    fn signers_are_a_domain_and_a_path() {
        let problems = |name: &str| {
            let mut errors = ErrorList::default();
            signer(&serde_json::json!({"signerName": name}), "spec", &mut errors);
            errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>()
        };
        for good in ["a.b/c", "a.b/c.d", ""] {
            assert_eq!(problems(good), [""; 0], "{good}");
        }
        for (bad, part) in [
            ("a.b", "must be a fully qualified domain and path"),
            ("a.b/c/d", "must be a fully qualified domain and path"),
            ("ab/c", "\"ab\": should be a domain with at least two segments separated by dots"),
            ("a..b/c", "\"a..b\": validating label \"\": "),
            ("a.b/C_x", "\"C_x\": validating label \"C_x\": "),
        ] {
            let why = problems(bad);
            assert!(why.len() == 1 && why[0].contains(part), "{bad}: {why:?}");
        }
        assert_eq!(problems("/c").len(), 2);
    }
}
