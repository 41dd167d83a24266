//! Keys of ConfigMaps and Secrets, which are file names, their size, and what types of secrets require.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::Write;
use crate::{
    schema::{ErrorList, golang},
    validation::types::config_key,
};

/// The most bytes that the values of a ConfigMap or Secret have together.
const MOST: usize = 1024 * 1024;

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let object = write.object;
    for list in ["data", "binaryData"] {
        for (key, _) in object[list].as_object().into_iter().flatten() {
            errors.text(format!("{list}[{key}]"), key, config_key(key));
        }
    }
    for key in object["binaryData"].as_object().into_iter().flatten().map(|(key, _)| key) {
        if !object["data"][key].is_null() {
            errors.text(format!("data[{key}]"), key, Some("duplicate of key present in binaryData".into()));
        }
    }
    let is_secret = write.endpoint.kind() == "Secret";
    // Values in base64 count as what they stand for.
    let size = |list: &str, encoded: bool| -> usize {
        let values = object[list].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
        let size = |text: &str| if encoded { text.trim_end_matches('=').len() * 3 / 4 } else { text.len() };
        values.map(size).sum()
    };
    let total = size("data", is_secret) + size("binaryData", true);
    if total > MOST {
        errors.too_long(if is_secret { "data" } else { "[]" }, MOST);
    }
    if is_secret {
        secret(write, errors);
    }
}

/// What the type of a secret requires.
fn secret(write: &Write<'_>, errors: &mut ErrorList) {
    let data = &write.object["data"];
    let missing = |key: &&str| data[*key].is_null();
    match write.object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => needs(errors, ["tls.crt", "tls.key"].into_iter().filter(missing)),
        "kubernetes.io/dockerconfigjson" => json_map(data, ".dockerconfigjson", errors),
        "kubernetes.io/dockercfg" => json_map(data, ".dockercfg", errors),
        "kubernetes.io/ssh-auth" => {
            let empty = |key: &&str| data[*key].as_str().is_none_or(str::is_empty);
            needs(errors, ["ssh-privatekey"].into_iter().filter(empty));
        }
        "kubernetes.io/basic-auth" if ["username", "password"].iter().all(missing) => {
            needs(errors, ["username", "password"].into_iter());
        }
        "kubernetes.io/service-account-token" => {
            let account = &write.object["metadata"]["annotations"]["kubernetes.io/service-account.name"];
            if account.as_str().is_none_or(str::is_empty) {
                errors.required("metadata.annotations[kubernetes.io/service-account.name]", "");
            }
        }
        _ => {}
    }
}

/// The keys that a type of secret requires.
fn needs<'a>(errors: &mut ErrorList, missing: impl Iterator<Item = &'a str>) {
    missing.for_each(|key| errors.required(format!("data[{key}]"), ""));
}

/// Requires a key with a JSON object.
fn json_map(data: &Value, key: &str, errors: &mut ErrorList) {
    let Some(text) = data[key].as_str() else { return needs(errors, [key].into_iter()) };
    let bytes = BASE64_STANDARD.decode(text).unwrap_or_default();
    let why = match golang::parse(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let json = golang::json_type(&other);
            format!("json: cannot unmarshal {json} into Go value of type map[string]interface {{}}")
        }
        Err(why) => why,
    };
    errors.invalid(format!("data[{key}]"), "\"<secret contents redacted>\"", &why);
}
