//! Objects of a set, for messages and results.

use std::fmt;

use kube_core::{ApiResource, ObjectMeta};

/// An object of a set that was pruned, or is no longer in the set and was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedObject {
    /// Its kind.
    pub resource: ApiResource,
    /// Its namespace, if its kind has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl PrunedObject {
    pub(super) fn new(resource: ApiResource, metadata: ObjectMeta) -> Self {
        let (name, uid) = (metadata.name.unwrap_or_default(), metadata.uid.unwrap_or_default());
        Self { resource, namespace: metadata.namespace, name, uid }
    }
}

impl fmt::Display for PrunedObject {
    /// As kubectl names it: `deployment.apps/web`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.kind.to_lowercase())?;
        if !self.resource.group.is_empty() {
            write!(f, ".{}", self.resource.group)?;
        }
        write!(f, "/{}", self.name)
    }
}

/// An object in messages.
pub(crate) fn object_text(resource: &ApiResource, metadata: &ObjectMeta) -> String {
    let name = metadata.name.as_deref().or(metadata.generate_name.as_deref()).unwrap_or_default();
    in_words(&resource.kind, name, metadata.namespace.as_deref())
}

pub(super) fn in_words(kind: &str, name: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{kind} {name:?} in namespace {namespace:?}"),
        None => format!("{kind} {name:?}"),
    }
}
