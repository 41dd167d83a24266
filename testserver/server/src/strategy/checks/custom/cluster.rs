//! Nodes and certificate signing requests.

use serde_json::{Value, json};

use super::values::{invalid, items, text};
use crate::{object::names, schema::FieldError};

pub(super) fn node(value: &Value, _at: &str, errors: &mut Vec<FieldError>) {
    let mut known = Vec::new();
    for (i, taint) in items(value, "taints") {
        let at = format!("metadata.taints[{i}]");
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        if let Some(why) = names::qualified_name(key) {
            invalid(errors, format!("{at}.key"), &json!(key), &why);
        }
        if let Some(why) = names::label_value(text(taint, "value")) {
            invalid(errors, format!("{at}.value"), &taint["value"], &why);
        }
        match effect {
            "" => errors.push(FieldError::required(format!("{at}.effect"), "")),
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            _ => {
                let known =
                    ["NoSchedule", "PreferNoSchedule", "NoExecute"].map(|effect| format!("{effect:?}"));
                errors.push(FieldError::not_supported(format!("{at}.effect"), format!("{effect:?}"), &known));
            }
        }
        if known.contains(&(key, effect)) {
            // Go prints the struct.
            let added =
                if taint["timeAdded"].is_null() { "null".to_owned() } else { taint["timeAdded"].to_string() };
            let shown = format!(
                "{{\"Key\":{key:?},\"Value\":{:?},\"Effect\":{effect:?},\"TimeAdded\":{added}}}: taints must be unique by key and effect pair",
                text(taint, "value")
            );
            errors.push(FieldError::duplicate(at, shown));
        }
        known.push((key, effect));
    }
}

pub(super) fn signing_request(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    const HEADER: &str = "-----BEGIN CERTIFICATE REQUEST-----";
    let decoded =
        base64::Engine::decode(&base64::prelude::BASE64_STANDARD, text(value, "request")).unwrap_or_default();
    if !String::from_utf8_lossy(&decoded).contains(HEADER) {
        invalid(
            errors,
            format!("{at}.request"),
            &value["request"],
            "PEM block type must be CERTIFICATE REQUEST",
        );
    }
    let signer = text(value, "signerName");
    let named = signer.split_once('/').is_some_and(|(domain, path)| domain.contains('.') && !path.is_empty());
    if !signer.is_empty() && !named {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        invalid(errors, format!("{at}.signerName"), &value["signerName"], why);
    }
    if value["expirationSeconds"].as_i64().is_some_and(|seconds| seconds < 600) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        invalid(errors, format!("{at}.expirationSeconds"), &value["expirationSeconds"], why);
    }
}
