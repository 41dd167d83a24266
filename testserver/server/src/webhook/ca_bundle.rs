//! Whether the `caBundle` of a webhook can be used.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use x509_parser::{parse_x509_certificate, pem::Pem};

/// Why the bundle of a `clientConfig` trusts nobody, in the words of the genuine server. Without a bundle, the system's roots are trusted.
pub(crate) fn ca_bundle_problem(client: &Value) -> Option<&'static str> {
    let bundle = client["caBundle"].as_str().filter(|bundle| !bundle.is_empty())?;
    let text = BASE64_STANDARD.decode(bundle).unwrap_or_default();
    let mut blocks = Pem::iter_from_buffer(&text).filter_map(Result::ok).peekable();
    if blocks.peek().is_none() {
        return Some("unable to load root certificates: unable to parse bytes as PEM block");
    }
    let mut certificates = blocks.filter(|block| block.label == "CERTIFICATE").peekable();
    if certificates.peek().is_none() {
        return Some("unable to load root certificates: no valid certificate authority data seen");
    }
    let malformed = |block: Pem| parse_x509_certificate(&block.contents).is_err();
    certificates.any(malformed).then_some(
        "unable to load root certificates: failed to parse certificate: x509: malformed certificate",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Answers of Kubernetes 1.37.
    #[test]
    fn a_bundle_has_certificates_only() {
        let problem = |text: &str| ca_bundle_problem(&json!({"caBundle": BASE64_STANDARD.encode(text)}));
        let block = |label: &str| format!("-----BEGIN {label}-----\nbm9wZQ==\n-----END {label}-----\n");
        let certificate = rcgen::generate_simple_self_signed(Vec::new()).unwrap().cert.pem();
        assert_eq!((ca_bundle_problem(&json!({})), problem(""), problem(&certificate)), (None, None, None));
        for (text, why) in [
            ("\n".to_owned(), "unable to parse bytes as PEM block"),
            (block("X"), "no valid certificate authority data seen"),
            (block("CERTIFICATE"), "failed to parse certificate: x509: malformed certificate"),
            (certificate + &block("CERTIFICATE"), "failed to parse certificate: x509: malformed certificate"),
        ] {
            assert_eq!(problem(&text).unwrap(), format!("unable to load root certificates: {why}"), "{text}");
        }
    }
}
