//! Volumes whose files come from several objects: paths, tokens, trust bundles and certificates.

use serde_json::{Value, json};

use super::{
    super::formats,
    certificates, fields,
    values::{file_path, is_set, items, outside, text},
};
use crate::{object::names, schema::ErrorList};

/// Each source is one of several kinds; their files have different paths.
pub(super) fn projected(value: &Value, at: &str, errors: &mut ErrorList) {
    let mut taken = Vec::new();
    for (i, source) in items(value, "sources") {
        let given =
            source.as_object().map_or(0, |source| source.values().filter(|value| is_set(value)).count());
        if given > 1 {
            errors.forbidden(
                format!("{at}.sources[{i}]"),
                "may not specify more than 1 volume type per source",
            );
        }
        token(&source["serviceAccountToken"], i, at, errors);
        for (path, printed) in paths(source) {
            if taken.contains(&path) {
                errors.invalid(at, format!("{printed:?}"), "conflicting duplicate paths");
            }
            taken.push(path);
        }
    }
}

/// The paths of a source, with what an error shows.
fn paths(source: &Value) -> Vec<(&str, &str)> {
    let objects = ["secret", "configMap"].map(|kind| &source[kind]).into_iter();
    let keys =
        objects.flat_map(|object| items(object, "items").map(|(_, item)| (item, text(object, "name"))));
    let keys = keys.map(|(item, name)| (text(item, "path"), name));
    let fields = items(&source["downwardAPI"], "items").map(|(_, item)| text(item, "path"));
    let bundle = text(&source["clusterTrustBundle"], "path");
    let certificate = OF_CERTIFICATES.map(|path| text(&source["podCertificate"], path));
    let others = fields.chain([bundle]).chain(certificate).map(|path| (path, path));
    keys.chain(others).filter(|(path, _)| !path.is_empty()).collect()
}

fn token(token: &Value, i: usize, at: &str, errors: &mut ErrorList) {
    if !token.is_object() {
        return;
    }
    file_path(token, "path", at, errors);
    let seconds = &token["expirationSeconds"];
    let why = match seconds.as_i64() {
        Some(seconds) if seconds < 600 => "may not specify a duration less than 10 minutes",
        Some(seconds) if seconds > 1 << 32 => "may not specify a duration larger than 2^32 seconds",
        _ => return,
    };
    errors.invalid(format!("{at}.sources[{i}].serviceAccountToken.expirationSeconds"), seconds, why);
}

/// The files of a pod's own fields.
pub(super) fn downward(value: &Value, at: &str, errors: &mut ErrorList) {
    for (_, file) in items(value, "items") {
        file_path(file, "path", at, errors);
        let (field, resource) = (&file["fieldRef"], &file["resourceFieldRef"]);
        match (is_set(field), is_set(resource)) {
            (true, true) => {
                let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.invalid(at, "\"resource\"", why);
                fields::field(field, fields::OF_FILES, &format!("{at}.fieldRef"), errors);
            }
            (true, false) => fields::field(field, fields::OF_FILES, &format!("{at}.fieldRef"), errors),
            (false, true) => fields::resource(resource, true, &format!("{at}.resourceFieldRef"), errors),
            (false, false) => errors.required(at, "one of fieldRef and resourceFieldRef is required"),
        }
        if file["mode"].as_i64().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
            errors.invalid(format!("{at}.mode"), &file["mode"], formats::FILE_MODE);
        }
    }
}

pub(super) fn trust_bundle(value: &Value, at: &str, errors: &mut ErrorList) {
    match (value["name"].as_str(), value["signerName"].as_str()) {
        (None, None) => errors.required(at, "either name or signerName must be specified"),
        (Some(_), Some(_)) => {
            // As Go prints the struct.
            let part = |member: &str| value[member].to_string();
            let printed = format!(
                "{{\"Name\":{},\"SignerName\":{},\"LabelSelector\":{},\"Optional\":{},\"Path\":{},\"User\":null}}",
                part("name"),
                part("signerName"),
                part("labelSelector"),
                part("optional"),
                json!(text(value, "path"))
            );
            errors.invalid(at, printed, "only one of name and signerName may be used");
        }
        (None, Some(signer)) => {
            if signer.is_empty() {
                errors.required(format!("{at}.signerName"), "must be a valid signer name");
            }
            certificates::signer(value, at, errors);
        }
        (Some(name), None) => bundle_name(name, value, at, errors),
    }
    file_path(value, "path", at, errors);
}

fn bundle_name(name: &str, value: &Value, at: &str, errors: &mut ErrorList) {
    let place = format!("{at}.name");
    if name.is_empty() {
        errors.required(place.clone(), "must be a valid object name");
    }
    let last = name.rsplit(':').next().unwrap_or_default();
    let why = match name.starts_with(':') {
        true => Some("ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()),
        false => names::subdomain(last),
    };
    if let Some(why) = why {
        let why = format!("not a valid clustertrustbundlename: {why}");
        errors.invalid(place, format!("{name:?}"), &why);
    }
    if is_set(&value["labelSelector"]) {
        let why = "labelSelector must be unset if name is specified";
        errors.invalid(format!("{at}.labelSelector"), &value["labelSelector"], why);
    }
}

const OF_CERTIFICATES: [&str; 3] = ["credentialBundlePath", "keyPath", "certificateChainPath"];

pub(super) fn certificate(value: &Value, at: &str, errors: &mut ErrorList) {
    certificates::signer(value, at, errors);
    let seconds = &value["maxExpirationSeconds"];
    // Kubernetes' own signers give certificates for a day, others for 91 days.
    let largest = if text(value, "signerName").starts_with("kubernetes.io/") { 86_400 } else { 7_862_400 };
    let why = match seconds.as_i64() {
        Some(given) if given < 3600 => Some("must be >= 3600".to_owned()),
        Some(given) if given > largest => Some(format!("must be <= {largest}")),
        _ => None,
    };
    if let Some(why) = why {
        let why = format!("if provided, maxExpirationSeconds {why}");
        errors.invalid(format!("{at}.maxExpirationSeconds"), seconds, &why);
    }
    let paths = OF_CERTIFICATES.map(|member| (member, text(value, member)));
    if paths.iter().all(|(_, path)| path.is_empty()) {
        let why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.required(at, why);
    }
    for (member, path) in paths {
        errors.problem(format!("{at}.{member}"), &value[member], outside(path));
    }
    annotations(&value["userAnnotations"], &format!("{at}.userAnnotations"), errors);
}

fn annotations(value: &Value, at: &str, errors: &mut ErrorList) {
    for key in value.as_object().into_iter().flatten().map(|(key, _)| key) {
        let why = match key.as_str() {
            "" => {
                errors.required(at, "");
                None
            }
            key if names::qualified_name(key).is_some() => names::qualified_name(key),
            key => (!key.contains('/'))
                .then(|| "must be a domain-prefixed key (such as \"acme.io/foo\")".to_owned()),
        };
        errors.problem(at, format!("{key:?}"), why);
    }
}
