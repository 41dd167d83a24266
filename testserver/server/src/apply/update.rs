//! Field ownership after a create, an update, or a patch other than apply.

use serde_json::{Value, json};

use super::{
    managed::{self, ManagedFieldsEntry, ManagedFieldsOperation},
    versions::{Changed, ChangedFields, Versions},
};
use crate::{gotypes, schema::Schema, webhook::Interruption};

/// A write other than an apply.
#[derive(Clone, Copy)]
pub(crate) struct Update<'a> {
    pub(crate) schema: &'a Schema,
    /// `None`: the object did not exist.
    pub(crate) old: Option<&'a Value>,
    pub(crate) new: &'a Value,
    pub(crate) managers: &'a [ManagedFieldsEntry],
    pub(crate) manager: &'a str,
    pub(crate) api_version: &'a str,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// RFC 3339.
    pub(crate) now: &'a str,
    pub(crate) versions: &'a dyn Versions,
}

/// The entries after the write.
///
/// The manager owns what it added or changed; removed fields have no owner. Empty `managers` of an existing object mean that ownership was
/// reset: it stays empty.
pub(crate) fn update(write: Update<'_>) -> Result<Vec<ManagedFieldsEntry>, Interruption> {
    let Update { schema, old, new, managers, api_version, subresource, .. } = write;
    if old.is_some() && managers.is_empty() {
        return Ok(Vec::new());
    }
    let nothing;
    let old = match old {
        Some(old) => old,
        None => {
            nothing =
                schema.table_name().and_then(gotypes::by_name).map_or_else(|| json!({}), gotypes::blank);
            &nothing
        }
    };
    let changed = Changed::between(schema, old, new);
    let own = ManagedFieldsEntry {
        manager: write.manager.into(),
        operation: ManagedFieldsOperation::Update,
        api_version: api_version.into(),
        time: None,
        subresource: subresource.into(),
        fields: Default::default(),
    };
    let (others, before) = managed::split(managers, &own);
    let mut own = before.unwrap_or(own);
    own.fields = own.fields.difference(&changed.removed);
    own.fields.add(&changed.taken);
    if !changed.taken.is_empty() {
        // Genuine servers set no time for changes through `scale`.
        own.time = (subresource != "scale").then(|| write.now.into());
    }
    let mut changed = ChangedFields::new(write.versions, api_version, changed, old, new);
    let mut entries = Vec::new();
    for mut entry in others {
        // Entries of a version that no longer exists are dropped.
        if let Some(Changed { taken, removed }) = changed.in_version(&entry.api_version)? {
            entry.fields = entry.fields.difference(taken).difference(removed);
            entries.push(entry);
        }
    }
    entries.push(own);
    Ok(managed::normalize(entries))
}
