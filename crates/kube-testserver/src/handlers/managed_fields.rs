use serde_json::Value;

use super::Call;
use crate::{
    apply::{self, ManagedFieldsEntry},
    meta,
};

/// Where the managed fields of a write come from.
pub(super) enum Ownership {
    /// Compare the object with the one it replaces.
    FromDiff,
    /// Computed by server-side apply.
    FromApply(Vec<ManagedFieldsEntry>),
}

impl Ownership {
    /// Sets `metadata.managedFields`, as the last change to the object.
    pub(super) fn record(self, call: &Call, old: Option<&Value>, new: &mut Value, now: &str) {
        let entries = match self {
            Self::FromApply(entries) => entries,
            Self::FromDiff => {
                let managers = apply::requested(new, &old.map(entries).unwrap_or_default());
                let subresource = call.subresource.as_deref().unwrap_or_default();
                let (manager, version) = (call.manager(), call.endpoint.api_version());
                apply::update(
                    call.endpoint.schema(),
                    old,
                    new,
                    &managers,
                    &manager,
                    &version,
                    subresource,
                    now,
                )
            }
        };
        let entries: Vec<Value> =
            entries.iter().filter_map(|entry| serde_json::to_value(entry).ok()).collect();
        meta::set(new, "managedFields", if entries.is_empty() { Value::Null } else { entries.into() });
    }
}

/// The entries of an object; unreadable ones are skipped, as if the fields had no owner.
pub(super) fn entries(object: &Value) -> Vec<ManagedFieldsEntry> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
}
