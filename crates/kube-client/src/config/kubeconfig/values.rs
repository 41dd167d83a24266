//! Values that appear in several parts of a kubeconfig: extensions, maps of text, secrets and base64 data.

use std::collections::HashMap;
use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret, SecretString};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Data of another tool under a name. `Debug` shows only the name, because the data may be secret.
#[derive(Clone, Serialize)]
pub struct NamedExtension {
    /// The tool's name for it.
    pub name: String,
    /// The data, of any shape.
    pub extension: Value,
}

impl fmt::Debug for NamedExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedExtension").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The entries by name: the order of a hash map differs from map to map.
pub(crate) fn sorted(entries: &HashMap<String, String>) -> Vec<(&str, &str)> {
    let mut sorted = Vec::<(&str, &str)>::new();
    for (name, value) in entries {
        // Few entries, for which `sort` is too much code.
        let position = sorted.partition_point(|(before, _)| *before < name.as_str());
        sorted.insert(position, (name, value));
    }
    sorted
}

/// Secrets are written only when the whole document is serialized.
pub(super) fn serialize_secret<S: Serializer>(
    value: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(secret) => serializer.serialize_some(secret.expose_secret()),
        None => serializer.serialize_none(),
    }
}

pub(super) fn serialize_base64<S: Serializer>(
    value: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(bytes) => serializer.serialize_some(&STANDARD.encode(bytes)),
        None => serializer.serialize_none(),
    }
}
