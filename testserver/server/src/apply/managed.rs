//! `metadata.managedFields`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{fields::FieldSet, path::PathElement, wire};

/// The number of managers with operation Update that are kept; older ones are merged into [`ANCIENT_MANAGER`].
const MAX_UPDATERS: usize = 10;
/// The manager of merged older entries.
const ANCIENT_MANAGER: &str = "ancient-changes";

/// One entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "EntryJson", into = "EntryJson")]
pub(crate) struct ManagedFieldsEntry {
    pub(crate) manager: String,
    pub(crate) operation: ManagedFieldsOperation,
    pub(crate) api_version: String,
    /// RFC 3339; `None` for an apply that changed nothing.
    pub(crate) time: Option<String>,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    pub(crate) fields: FieldSet,
}

/// The operation by which a manager owns its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum ManagedFieldsOperation {
    Apply,
    Update,
}

/// The JSON form.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryJson {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    manager: String,
    operation: ManagedFieldsOperation,
    api_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    fields_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fields_v1: Option<Value>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    subresource: String,
}

impl TryFrom<EntryJson> for ManagedFieldsEntry {
    type Error = String;

    fn try_from(wire: EntryJson) -> Result<Self, String> {
        if wire.fields_type != "FieldsV1" {
            return Err(format!("fieldsType {:?} is not FieldsV1", wire.fields_type));
        }
        let fields = wire.fields_v1.as_ref().map(wire::read).transpose()?.unwrap_or_default();
        let EntryJson { manager, operation, api_version, time, subresource, .. } = wire;
        Ok(Self { manager, operation, api_version, time, subresource, fields })
    }
}

impl From<ManagedFieldsEntry> for EntryJson {
    fn from(entry: ManagedFieldsEntry) -> Self {
        let fields_v1 = Some(wire::write(&entry.fields));
        let ManagedFieldsEntry { manager, operation, api_version, time, subresource, .. } = entry;
        Self { manager, operation, api_version, time, fields_type: "FieldsV1".into(), fields_v1, subresource }
    }
}

impl ManagedFieldsEntry {
    /// Whether both entries are of the same manager: appliers are the same across versions.
    fn same_manager(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == ManagedFieldsOperation::Apply || self.api_version == other.api_version)
    }
}

/// The entries of other managers, and the entry of `own`, if there is one.
pub(super) fn split(
    managers: &[ManagedFieldsEntry],
    own: &ManagedFieldsEntry,
) -> (Vec<ManagedFieldsEntry>, Option<ManagedFieldsEntry>) {
    let (mut ours, others): (Vec<_>, Vec<_>) =
        managers.iter().cloned().partition(|entry| entry.same_manager(own));
    (others, ours.pop())
}

/// Drops empty entries, merges the oldest updaters and sorts.
pub(super) fn normalize(mut entries: Vec<ManagedFieldsEntry>) -> Vec<ManagedFieldsEntry> {
    entries.retain(|entry| !entry.fields.is_empty());
    let order = |e: &ManagedFieldsEntry| {
        (e.operation, e.time.clone(), e.manager.clone(), e.api_version.clone(), e.subresource.clone())
    };
    entries.sort_by_cached_key(order);
    let updaters = entries.iter().filter(|e| e.operation == ManagedFieldsOperation::Update).count();
    if updaters > MAX_UPDATERS {
        let start = entries.len() - updaters;
        let old: Vec<_> = entries.drain(start..=start + (updaters - MAX_UPDATERS)).collect();
        for entry in old {
            let time = entry.time.clone();
            let ancient =
                ManagedFieldsEntry { manager: ANCIENT_MANAGER.into(), subresource: String::new(), ..entry };
            match entries.iter_mut().find(|e| e.same_manager(&ancient)) {
                Some(known) => {
                    known.fields = known.fields.union(&ancient.fields);
                    known.time = known.time.take().max(time);
                }
                None => entries.push(ancient),
            }
        }
        entries.sort_by_cached_key(order);
    }
    entries
}

/// The set without fields that cannot be owned: those of the server, and the object's identity.
pub(super) fn ownable(mut set: FieldSet) -> FieldSet {
    for name in ["apiVersion", "kind"] {
        set.cut(&[name]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        set.cut(&["metadata", name]);
    }
    set.remove(&[PathElement::field("metadata")]);
    set
}

/// The entries that an incoming object starts with: its own if it has some, none if it resets them (`[{}]`), else those of the live object.
pub(crate) fn requested(incoming: &Value, live: &[ManagedFieldsEntry]) -> Vec<ManagedFieldsEntry> {
    let Some(Value::Array(list)) = incoming.pointer("/metadata/managedFields") else { return live.to_vec() };
    match list.as_slice() {
        [] => live.to_vec(),
        [Value::Object(one)] if one.is_empty() => Vec::new(),
        entries => {
            let read: Result<Vec<ManagedFieldsEntry>, _> =
                entries.iter().map(ManagedFieldsEntry::deserialize).collect();
            read.unwrap_or_else(|_| live.to_vec())
        }
    }
}
