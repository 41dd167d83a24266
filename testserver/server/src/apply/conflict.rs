//! Conflicts of an apply with other field managers.

use std::fmt;

use super::{
    fields::FieldSet,
    managed::{ManagedFieldsEntry, ManagedFieldsOperation},
    path,
};

/// A field that another manager owns and the configuration changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The owner as in messages: `"kubectl" using v1`.
    pub(crate) owner: String,
    /// The field as in messages: `.spec.ports[port=80].name`.
    pub(crate) field: String,
}

impl Conflict {
    /// The message of the cause with reason `FieldManagerConflict`.
    pub(crate) fn message(&self) -> String {
        format!("conflict with {}", self.owner)
    }
}

/// The conflicts of a set of fields with one owner, in order of the fields.
pub(super) fn with_owner(owner: &ManagedFieldsEntry, taken: &FieldSet) -> Vec<Conflict> {
    let name = describe(owner);
    let fields = owner.fields.intersection(taken).paths();
    fields.iter().map(|field| Conflict { owner: name.clone(), field: path::show(field) }).collect()
}

fn describe(owner: &ManagedFieldsEntry) -> String {
    let mut text = format!("{:?}", owner.manager);
    if !owner.subresource.is_empty() {
        text.push_str(&format!(" with subresource {:?}", owner.subresource));
    }
    if owner.operation == ManagedFieldsOperation::Update {
        text.push_str(&format!(" using {}", owner.api_version));
    }
    text
}

/// The message of a refused apply; `conflicts` are grouped by owner.
pub(super) fn summary(conflicts: &[Conflict], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let [one] = conflicts {
        return write!(f, "Apply failed with 1 conflict: {}: {}", one.message(), one.field);
    }
    write!(f, "Apply failed with {} conflicts: ", conflicts.len())?;
    for (i, group) in conflicts.chunk_by(|a, b| a.owner == b.owner).enumerate() {
        let newline = if i == 0 { "" } else { "\n" };
        write!(f, "{newline}conflicts with {}:", group[0].owner)?;
        group.iter().try_for_each(|conflict| write!(f, "\n- {}", conflict.field))?;
    }
    Ok(())
}
