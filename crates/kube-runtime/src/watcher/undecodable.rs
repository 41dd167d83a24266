//! Naming objects that cannot be decoded.

use kube_core::error_boundary::InvalidObject;
use serde::de::Error as _;

/// `namespace/name: what is wrong with it`.
pub(super) fn describe(invalid: &InvalidObject) -> String {
    let name = invalid.metadata.name.as_deref().unwrap_or("(unnamed)");
    match invalid.metadata.namespace.as_deref() {
        Some(namespace) => format!("{namespace}/{name}: {}", invalid.error),
        None => format!("{name}: {}", invalid.error),
    }
}

/// A decoding error that says `what`.
pub(super) fn decode_error(what: String) -> kube_client::Error {
    kube_client::Error::SerdeError(serde_json::Error::custom(what))
}
