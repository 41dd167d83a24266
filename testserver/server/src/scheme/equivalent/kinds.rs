//! Which kinds are stored as another kind, and how they convert.

use kube_core::Version;
use serde_json::Value;

use super::{
    autoscaler,
    member_names::{self, MemberNames},
    wrapped::{self, WrappedElements},
};
use crate::{
    object::meta,
    scheme::builtin::{BuiltInKind, kinds},
};

/// Converts between a built-in kind and the kind that its objects are stored as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StorageEquivalent {
    /// The stored kind.
    pub(crate) stored_kind: &'static BuiltInKind,
    difference: Difference,
}

/// How the two kinds differ, besides `apiVersion`.
#[derive(Clone, Copy, Debug)]
enum Difference {
    Nothing,
    MemberNames(&'static MemberNames),
    WrappedElements(&'static WrappedElements),
    Autoscaler,
}

/// The storage equivalent of a built-in kind: of another group, or of the newest version of its group.
pub(crate) fn of(kind: &BuiltInKind) -> Option<StorageEquivalent> {
    let versions = kinds().iter().filter(|other| other.group == kind.group && other.plural == kind.plural);
    let newest = versions.map(|other| other.version).max_by_key(|name| Version::parse(name).priority())?;
    let (group, version, difference) = match (kind.group, kind.plural, kind.version) {
        ("events.k8s.io", "events", _) => ("", "v1", Difference::MemberNames(&member_names::EVENTS)),
        ("autoscaling", "horizontalpodautoscalers", "v1") => (kind.group, "v2", Difference::Autoscaler),
        ("resource.k8s.io", plural, "v1beta1") => {
            (kind.group, newest, wrapped::of(plural).map_or(Difference::Nothing, Difference::WrappedElements))
        }
        _ => (kind.group, newest, Difference::Nothing),
    };
    let is_original = |other: &&BuiltInKind| {
        other.group == group && other.version == version && other.plural == kind.plural && *other != kind
    };
    Some(StorageEquivalent { stored_kind: kinds().iter().find(is_original)?, difference })
}

impl StorageEquivalent {
    /// Converts a stored object to this kind.
    pub(crate) fn convert_from_storage(&self, mut object: Value, api_version: &str) -> Value {
        match self.difference {
            Difference::Nothing => {}
            Difference::MemberNames(names) => names.convert_from_storage(&mut object),
            Difference::WrappedElements(wrapped) => wrapped.convert_from_storage(&mut object),
            Difference::Autoscaler => autoscaler::convert_from_storage(&mut object),
        }
        object["apiVersion"] = api_version.into();
        object
    }

    /// Converts an object of this kind to the stored kind.
    pub(crate) fn convert_to_storage(&self, mut object: Value) -> Value {
        match self.difference {
            Difference::Nothing => {}
            Difference::MemberNames(names) => names.convert_to_storage(&mut object),
            Difference::WrappedElements(wrapped) => wrapped.convert_to_storage(&mut object),
            Difference::Autoscaler => autoscaler::convert_to_storage(&mut object),
        }
        object["apiVersion"] = meta::api_version(self.stored_kind.group, self.stored_kind.version).into();
        object
    }

    /// Converts a field path of this kind to the stored kind.
    pub(crate) fn stored_path(&self, path: &str) -> String {
        match self.difference {
            Difference::MemberNames(names) => names.stored_path(path),
            _ => path.to_owned(),
        }
    }
}
