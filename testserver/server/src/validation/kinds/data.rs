//! Keys of ConfigMaps and Secrets, which are file names.

use super::Write;
use crate::{schema::ErrorList, validation::types::config_key};

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
fn needs<'a>(errors: &mut ErrorList, missing: impl Iterator<Item = &'a str>, suffix: &str) {
    missing.for_each(|key| errors.required(format!("data{suffix}[{key}]"), ""));
}
