//! [`NamedExtension`]: data of other tools in a kubeconfig.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::values;

/// Data of another tool under a name. `Debug` shows only the name, because the data may be secret.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct NamedExtension {
    /// The tool's name for it.
    #[serde(default, deserialize_with = "values::or_default")]
    pub name: String,
    /// The data, of any shape; null if there is none.
    #[serde(default)]
    pub extension: Value,
}

impl fmt::Debug for NamedExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedExtension").field("name", &self.name).finish_non_exhaustive()
    }
}
