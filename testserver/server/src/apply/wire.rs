//! `fieldsV1`, the JSON form of a field set: steps nest, and `.` marks a container that is itself in the set.

use serde_json::{Map, Value};

use super::{
    fields::{Branch, FieldSet},
    path::PathElement,
};

/// Encodes a set as `fieldsV1`.
pub(crate) fn write(set: &FieldSet) -> Value {
    let members = set.branches.iter().map(|(step, branch)| {
        let mut below = write(&branch.below);
        if let (true, Value::Object(map)) = (branch.member && !branch.below.is_empty(), &mut below) {
            map.insert(".".into(), Value::Object(Map::new()));
        }
        (step.to_wire(), below)
    });
    Value::Object(members.collect())
}

/// Parses `fieldsV1`; the error names the invalid step.
pub(crate) fn read(value: &Value) -> Result<FieldSet, String> {
    let Value::Object(members) = value else {
        return Err(format!("fieldsV1 must be an object, not {value}"));
    };
    let mut set = FieldSet::default();
    for (name, below) in members.iter().filter(|(name, _)| *name != ".") {
        let step = PathElement::from_wire(name)?;
        let Value::Object(inner) = below else {
            return Err(format!("fieldsV1 at {name:?} must be an object"));
        };
        let member = inner.is_empty() || inner.contains_key(".");
        set.branches.insert(step, Branch { member, below: read(below)? });
    }
    set.branches.retain(|_, branch| branch.member || !branch.below.is_empty());
    Ok(set)
}
