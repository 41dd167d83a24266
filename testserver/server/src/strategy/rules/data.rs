//! Keys of ConfigMaps and Secrets, which are file names.

use serde_json::Value;

use super::Errors;

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or \
    'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

pub(super) fn validate(object: &Value, errors: &mut Errors) {
    for list in ["data", "binaryData"] {
        for (key, _) in object[list].as_object().into_iter().flatten() {
            errors.text(format!("{list}[{key}]"), key, problem(key));
        }
    }
    for key in object["binaryData"].as_object().into_iter().flatten().map(|(key, _)| key) {
        if !object["data"][key].is_null() {
            errors.text(format!("data[{key}]"), key, Some("duplicate of key present in binaryData".into()));
        }
    }
    let missing = |key: &&str| object["data"][*key].is_null();
    match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => needs(errors, ["tls.crt", "tls.key"].into_iter().filter(missing), ""),
        "kubernetes.io/dockerconfigjson" => {
            needs(errors, [".dockerconfigjson"].into_iter().filter(missing), "")
        }
        "kubernetes.io/dockercfg" => needs(errors, [".dockercfg"].into_iter().filter(missing), ""),
        // Genuine servers do not expand this pattern; clients see it as it is.
        "kubernetes.io/ssh-auth" => needs(errors, ["ssh-privatekey"].into_iter().filter(missing), "[%s]"),
        "kubernetes.io/basic-auth" if ["username", "password"].iter().all(missing) => {
            needs(errors, ["username", "password"].into_iter(), "[%s]");
        }
        _ => {}
    }
}

/// The keys that a type of secret requires.
fn needs<'a>(errors: &mut Errors, missing: impl Iterator<Item = &'a str>, suffix: &str) {
    missing.for_each(|key| errors.required(format!("data{suffix}[{key}]"), ""));
}

fn problem(key: &str) -> Option<String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match key {
        _ if key.len() > 253 => Some("must be no more than 253 characters".into()),
        "" => Some(KEY.into()),
        "." => Some("must not be '.'".into()),
        ".." => Some("must not be '..'".into()),
        _ if key.starts_with("..") => Some("must not start with '..'".into()),
        _ => (!key.chars().all(inner)).then(|| KEY.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_names_of_files() {
        for key in ["a", "A.b-c_d", ".hidden", &"x".repeat(253)] {
            assert_eq!(problem(key), None, "{key}");
        }
        for key in ["", ".", "..", "..a", "a b", "a/b", &"x".repeat(254)] {
            assert!(problem(key).is_some(), "{key}");
        }
    }
}
