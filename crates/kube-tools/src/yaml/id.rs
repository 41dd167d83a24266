//! [`ObjectId`]: which object is meant.

use std::fmt;

use kube_core::{DynamicObject, GroupVersionKind};

/// Which object: group, kind, namespace and name. The version is not part of it.
///
/// `{}` prints it as kubectl does, such as `deployment.apps/web`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ObjectId {
    /// API group, empty for the core group.
    pub group: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The namespace; `None` for a cluster-scoped object, and for one whose namespace is not known yet.
    pub namespace: Option<String>,
    /// The name; before the object is created, it may be one that the server completes (`generateName`).
    pub name: String,
}

impl ObjectId {
    /// The object as it was read.
    pub(super) fn of(object: &DynamicObject) -> Self {
        let gvk = kind_of(object);
        let meta = &object.metadata;
        Self {
            group: gvk.group,
            kind: gvk.kind,
            namespace: meta.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: meta.name.clone().or_else(|| meta.generate_name.clone()).unwrap_or_default(),
        }
    }

    /// The same object as the server stored it. It has completed the name: many objects of a run may have begun with the same.
    pub(super) fn completed(mut self, stored: Option<&DynamicObject>) -> Self {
        if let Some(name) = stored.and_then(|stored| stored.metadata.name.as_ref()) {
            self.name.clone_from(name);
        }
        self
    }

    /// With the namespace, for messages that stand alone.
    pub(super) fn in_words(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{self} in namespace {namespace}"),
            None => self.to_string(),
        }
    }
}

/// The kind of an object; empty if a program has removed it.
pub(super) fn kind_of(object: &DynamicObject) -> GroupVersionKind {
    let types = object.types.as_ref();
    types
        .and_then(|types| GroupVersionKind::try_from(types).ok())
        .unwrap_or_else(|| GroupVersionKind::gvk("", "", ""))
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, kind, name, .. } = self;
        let kind = kind.to_lowercase();
        if group.is_empty() { write!(f, "{kind}/{name}") } else { write!(f, "{kind}.{group}/{name}") }
    }
}
