//! Validates the `clientConfig` of a webhook, as admission and conversion have it.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::{object::names, schema::ErrorList};

/// Validates the `clientConfig` at a path; messages are those of the genuine server.
pub(crate) fn validate_client_config(at: &str, client: &Value, errors: &mut ErrorList) {
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(url), false) => check_url(&format!("{at}.url"), url, errors),
        (None, true) => check_service(&format!("{at}.service"), &client["service"], errors),
        _ => errors.required(at, "exactly one of url or service is required"),
    }
    if let Some(bundle) = client["caBundle"].as_str().filter(|bundle| BASE64_STANDARD.decode(bundle).is_err())
    {
        errors.invalid(format!("{at}.caBundle"), format!("{bundle:?}"), "must be base64");
    }
}

fn check_service(at: &str, service: &Value, errors: &mut ErrorList) {
    // Genuine servers name the other field.
    for (field, required) in [("namespace", "name"), ("name", "namespace")] {
        if service[field].as_str().unwrap_or_default().is_empty() {
            errors.required(format!("{at}.{required}"), "");
        }
    }
    if let Some(path) = service["path"].as_str().filter(|path| !matches!(*path, "" | "/")) {
        check_path(&format!("{at}.path"), path, errors);
    }
    if let Some(port) = service["port"].as_i64().filter(|port| !(1..=65535).contains(port)) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(format!("{at}.port"), port, why);
    }
}

fn check_path(at: &str, path: &str, errors: &mut ErrorList) {
    let mut wrong = |detail: &str| errors.invalid(at, format!("{path:?}"), detail);
    if !path.starts_with('/') {
        wrong("must start with a '/'");
    }
    // A path may end with a slash.
    let inner = path.get(1..).unwrap_or_default();
    for (i, segment) in inner.strip_suffix('/').unwrap_or(inner).split('/').enumerate() {
        let problem = match segment.is_empty() {
            true => Some(" may not be empty".to_owned()),
            false => names::subdomain(segment).map(|why| format!(": {why}")),
        };
        if let Some(problem) = problem {
            wrong(&format!("segment[{i}]{problem}"));
        }
    }
}

fn check_url(at: &str, url: &str, errors: &mut ErrorList) {
    let form = "desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut wrong = |value: &str, why: &str| errors.invalid(at, format!("{value:?}"), why);
    if scheme != "https" {
        wrong(scheme, &format!("'https' is the only allowed URL scheme; {form}"));
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        wrong("", &format!("host must be specified; {form}"));
    }
    if !user.is_empty() {
        wrong(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        wrong(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        wrong(query, "query parameters are not permitted in the URL");
    }
}
