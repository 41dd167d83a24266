use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::schema::FieldError;

/// Validates the `clientConfig` at a path; messages are those of the genuine server.
pub(crate) fn validate_client_config(at: &str, client: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(url), false) => errors.extend(check_url(&format!("{at}.url"), url)),
        (None, true) => {
            for field in ["name", "namespace"] {
                if client["service"][field].as_str().unwrap_or_default().is_empty() {
                    let why = format!("service {field} is required");
                    errors.push(FieldError::required(format!("{at}.service.{field}"), &why));
                }
            }
        }
        _ => errors.push(FieldError::required(at, "exactly one of url or service is required")),
    }
    if let Some(bundle) = client["caBundle"].as_str().filter(|bundle| BASE64_STANDARD.decode(bundle).is_err())
    {
        errors.push(FieldError::invalid(format!("{at}.caBundle"), format!("{bundle:?}"), "must be base64"));
    }
    errors
}

fn check_url(at: &str, url: &str) -> Option<FieldError> {
    let form = "desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme; {form}");
        return Some(FieldError::invalid(at, format!("{scheme:?}"), &why));
    }
    let host_missing = rest.split(['/', '?']).next().unwrap_or_default().is_empty();
    host_missing.then(|| FieldError::invalid(at, "\"\"", &format!("host must be specified; {form}")))
}
