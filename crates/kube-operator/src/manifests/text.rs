//! Objects as YAML.

use serde_json::Value;

use super::{error::ManifestsError, placement::title};

/// One document, with a line end.
pub(super) fn yaml(object: &Value) -> Result<String, ManifestsError> {
    kube_tools::yaml::to_string(object)
        .map_err(|error| ManifestsError::Yaml { object: title(object), reason: error.to_string() })
}
