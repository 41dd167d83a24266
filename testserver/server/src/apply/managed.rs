//! `metadata.managedFields`.

use serde::Deserialize;
use serde_json::Value;

use super::{fields::FieldSet, path::PathElement, wire};

/// The number of managers with operation Update that are kept; older ones are merged into [`ANCIENT_MANAGER`].
const MAX_UPDATERS: usize = 10;
/// The manager of merged older entries.
const ANCIENT_MANAGER: &str = "ancient-changes";

/// One entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "EntryJson")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum ManagedFieldsOperation {
    Apply,
    Update,
}

/// The JSON form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryJson {
    #[serde(default)]
    manager: String,
    operation: ManagedFieldsOperation,
    api_version: String,
    #[serde(default)]
    time: Option<String>,
    fields_type: String,
    #[serde(default)]
    fields_v1: Option<Value>,
    #[serde(default)]
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

impl From<ManagedFieldsEntry> for Value {
    fn from(entry: ManagedFieldsEntry) -> Self {
        let operation = match entry.operation {
            ManagedFieldsOperation::Apply => "Apply",
            ManagedFieldsOperation::Update => "Update",
        };
        let members = [
            ("apiVersion", Some(entry.api_version.into())),
            ("fieldsType", Some("FieldsV1".into())),
            ("fieldsV1", Some(wire::write(&entry.fields))),
            ("manager", Some(entry.manager).filter(|name| !name.is_empty()).map(Self::from)),
            ("operation", Some(operation.into())),
            ("subresource", Some(entry.subresource).filter(|name| !name.is_empty()).map(Self::from)),
            ("time", entry.time.map(Self::from)),
        ];
        let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self::Object(members.collect())
    }
}

impl ManagedFieldsEntry {
    /// Whether both entries are of the same manager: appliers are the same across versions.
    pub(super) fn same_manager(&self, other: &Self) -> bool {
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
    fn order(e: &ManagedFieldsEntry) -> impl Ord + '_ {
        (e.operation, &e.time, &e.manager, &e.api_version, &e.subresource)
    }
    entries.sort_by(|one, other| order(one).cmp(&order(other)));
    let updaters = entries.iter().filter(|e| e.operation == ManagedFieldsOperation::Update).count();
    if updaters > MAX_UPDATERS {
        let start = entries.len() - updaters;
        let old: Vec<_> = entries.drain(start..=start + (updaters - MAX_UPDATERS)).collect();
        for entry in old {
            let time = entry.time.clone();
            let ancient =
                ManagedFieldsEntry { manager: ANCIENT_MANAGER.into(), subresource: String::new(), ..entry };
            match entries.iter_mut().find(|e| e.same_manager(&ancient)) {
                Some(merged) => {
                    merged.fields.add(&ancient.fields);
                    merged.time = merged.time.take().max(time);
                }
                None => entries.push(ancient),
            }
        }
        entries.sort_by(|one, other| order(one).cmp(&order(other)));
    }
    entries
}

/// The set without fields that cannot be owned: those of the server, and the object's identity.
pub(super) fn ownable(mut set: FieldSet) -> FieldSet {
    const OF_METADATA: [&str; 9] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    set.cut(&["apiVersion", "kind"]);
    let metadata = PathElement::field("metadata");
    set.change(&metadata, |branch| branch.below.cut(&OF_METADATA));
    set.remove(&[metadata]);
    set
}

/// The entries that an incoming object starts with: its own if it has some, none if it resets them (`[{}]`), else those of the live object.
pub(crate) fn requested(incoming: &Value, live: &[ManagedFieldsEntry]) -> Vec<ManagedFieldsEntry> {
    let Value::Array(list) = &incoming["metadata"]["managedFields"] else { return live.to_vec() };
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
