//! Warnings about formats that no value is checked for.

use std::collections::BTreeSet;

use serde_json::Value;

use super::versions::list;
use crate::schema::is_format;

/// Warnings about formats that the old definition does not have.
pub(crate) fn warnings(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unrecognized).unwrap_or_default();
    let added = unrecognized(definition);
    added.difference(&before).map(|format| format!("unrecognized format {format:?}")).collect()
}

fn unrecognized(definition: &Value) -> BTreeSet<&str> {
    let mut formats = BTreeSet::new();
    for version in list(&definition["spec"]["versions"]) {
        walk(&version["schema"]["openAPIV3Schema"], "", &mut formats);
    }
    formats
}

/// Branches have no type of their own.
fn walk<'d>(doc: &'d Value, outer: &'d str, formats: &mut BTreeSet<&'d str>) {
    let Value::Object(members) = doc else { return };
    let ty = members.get("type").and_then(Value::as_str).unwrap_or(outer);
    let format = members.get("format").and_then(Value::as_str).filter(|format| !format.is_empty());
    formats.extend(format.filter(|format| !is_format(ty, format)));
    members
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .for_each(|(_, doc)| walk(doc, "", formats));
    for name in ["items", "additionalProperties"] {
        walk(&doc[name], "", formats);
    }
    walk(&doc["not"], ty, formats);
    for name in ["allOf", "anyOf", "oneOf"] {
        list(&doc[name]).iter().for_each(|doc| walk(doc, ty, formats));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What 1.37 warns about, there in any order.
    #[test]
    fn unrecognized_formats_are_named_once() {
        let definition = |properties: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}]}});
        let new = definition(json!({
            "b": {"type": "string", "format": "zz"}, "c": {"type": "string", "format": "zz"},
            "a": {"type": "array", "items": {"type": "string", "format": "yy"}},
            "d": {"type": "object", "additionalProperties": {"type": "string", "format": "xx"}},
            "e": {"type": "string", "not": {"format": "ww"}, "allOf": [{"format": "vv"}], "oneOf": [{"format": "ipv4"}]},
            "f": {"type": "string", "format": "password"}, "g": {"type": "string", "format": "int32"},
            "h": {"type": "integer", "format": "int64"}, "i": {"type": "integer", "format": "float"}}));
        let of = |formats: &[&str]| {
            formats.iter().map(|f| format!("unrecognized format {f:?}")).collect::<Vec<_>>()
        };
        assert_eq!(warnings(&new, None), of(&["float", "int32", "vv", "ww", "xx", "yy", "zz"]));
        let old = definition(
            json!({"z": {"type": "string", "format": "zz"}, "y": {"type": "integer", "format": "float"}}),
        );
        assert_eq!(warnings(&new, Some(&old)), of(&["int32", "vv", "ww", "xx", "yy"]));
    }
}
