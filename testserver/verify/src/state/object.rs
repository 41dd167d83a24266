//! The name of an object in a cluster.

use std::fmt;

use serde_json::Value;

/// Resource, namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectName {
    /// Plural and group: `pages.example.com`.
    pub(crate) resource: String,
    /// Empty for objects of the cluster.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectName {
    /// The name of an object of this resource.
    pub(crate) fn of(resource: &str, object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        Self { resource: resource.to_owned(), namespace: text("namespace"), name: text("name") }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource, qualified(&self.namespace, &self.name))
    }
}

/// The name with its namespace, unless that is `default`.
pub(crate) fn qualified(namespace: &str, name: &str) -> String {
    if matches!(namespace, "" | "default") { name.to_owned() } else { format!("{namespace}/{name}") }
}
