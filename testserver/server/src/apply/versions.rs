//! Ownership across the versions of a resource: a manager owns fields of the version in which it wrote them, so changes are looked at in
//! that version.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    compare::{Changes, compare},
    fields::FieldSet,
    managed::{self, ManagedFieldsEntry},
    merge::{remove, with_structs},
    shape::SchemaPosition,
};
use crate::{schema::Schema, webhook::Interruption};

/// The versions of a resource.
pub(crate) trait Versions {
    /// `None` when there is no such version (any more).
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// Converts an object from the version in its `apiVersion`.
    fn convert(&self, object: &Value, to: &str) -> Result<Value, Interruption>;
}

/// What a write changed, in every version in which a manager owns fields.
pub(super) struct ChangedFields<'a> {
    versions: &'a dyn Versions,
    old: &'a Value,
    new: &'a Value,
    /// `None` for a version that does not exist.
    by_version: BTreeMap<String, Option<Changed>>,
}

/// The fields that a write set and removed, as far as they can be owned.
pub(super) struct Changed {
    pub(super) taken: FieldSet,
    pub(super) removed: FieldSet,
}

impl Changed {
    pub(super) fn between(schema: &Schema, old: &Value, new: &Value) -> Self {
        let Changes { mut added, modified, removed } = compare(SchemaPosition::root(schema.root()), old, new);
        added.add(&modified);
        Self { taken: managed::ownable(added), removed: managed::ownable(removed) }
    }
}

impl<'a> ChangedFields<'a> {
    /// `own`: the changes in the version of the write.
    pub(super) fn new(
        versions: &'a dyn Versions,
        api_version: &str,
        own: Changed,
        old: &'a Value,
        new: &'a Value,
    ) -> Self {
        Self { versions, old, new, by_version: BTreeMap::from([(api_version.to_owned(), Some(own))]) }
    }

    /// The changes in a version; `None` when it does not exist.
    pub(super) fn in_version(&mut self, api_version: &str) -> Result<Option<&Changed>, Interruption> {
        if !self.by_version.contains_key(api_version) {
            let changed = match self.versions.schema(api_version) {
                Some(schema) => {
                    let old = self.versions.convert(self.old, api_version)?;
                    let new = self.versions.convert(self.new, api_version)?;
                    Some(Changed::between(schema, &old, &new))
                }
                None => None,
            };
            self.by_version.insert(api_version.to_owned(), changed);
        }
        Ok(self.by_version[api_version].as_ref())
    }
}

/// The object without the fields that its previous configuration named and that no manager owns any more. `owners` are all managers, the
/// one of this apply with its new configuration included.
pub(super) fn without_given_up(
    versions: &dyn Versions,
    api_version: &str,
    object: Value,
    before: &ManagedFieldsEntry,
    owners: &[&ManagedFieldsEntry],
) -> Result<Value, Interruption> {
    let owned_in = |version: &str| {
        let of_version = owners.iter().filter(|owner| owner.api_version == version);
        of_version.fold(FieldSet::default(), |all, owner| all.union(&owner.fields))
    };
    let Some(schema) = versions.schema(&before.api_version) else { return Ok(object) };
    let root = SchemaPosition::root(schema.root());
    let owned = with_structs(root, &owned_in(&before.api_version));
    let given_up = with_structs(root, &before.fields).difference(&owned);
    let whole = versions.convert(&object, &before.api_version)?;
    let mut left = whole.clone();
    remove(root, &mut left, &given_up);
    if left == whole {
        return Ok(object);
    }
    // What is owned in another version comes back.
    let others: BTreeSet<&str> = owners.iter().map(|owner| owner.api_version.as_str()).collect();
    for version in others.into_iter().filter(|version| *version != before.api_version) {
        let Some(schema) = versions.schema(version) else { continue };
        let root = SchemaPosition::root(schema.root());
        let mut whole = versions.convert(&object, version)?;
        let lost = compare(root, &whole, &versions.convert(&left, version)?).removed;
        remove(root, &mut whole, &lost.difference(&with_structs(root, &owned_in(version))));
        left = whole;
    }
    versions.convert(&left, api_version)
}
