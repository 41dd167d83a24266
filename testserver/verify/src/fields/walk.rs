//! All fields of an object, with what users may do to each.

use serde_json::Value;

use super::{
    extreme::extremes,
    other::other,
    rule::{Type, allows},
};
use crate::plan::{EditFault, FieldPath};

/// Another value of a field, or none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldEdit {
    pub(crate) fault: EditFault,
    pub(crate) path: FieldPath,
    pub(crate) value: Option<Value>,
}

/// What may be done to an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldEdits {
    pub(crate) edits: Vec<FieldEdit>,
    /// Fields of which no other value can be derived: a pattern, any type.
    pub(crate) not_derived: usize,
    /// Extreme values that the limits of the schema exclude.
    pub(crate) not_allowed: usize,
}

/// The edits of all fields of `spec`. The same for the same schema and object.
pub(crate) fn field_edits(schema: &Value, object: &Value) -> FieldEdits {
    let mut found = FieldEdits::default();
    if let Some(spec) = FieldPath::default().key("spec") {
        found.nested(&schema["properties"]["spec"], object.get("spec"), &spec);
    }
    found
}

impl FieldEdits {
    fn field(&mut self, schema: &Value, present: Option<&Value>, path: FieldPath, is_required: bool) {
        let present = present.filter(|value| !value.is_null());
        let mut push = |fault, value| self.edits.push(FieldEdit { fault, path: path.clone(), value });
        let has_fields = Type::of(schema) == Type::Object && present.is_some();
        match other(schema, present) {
            Some(value) => push(EditFault::Change, Some(value)),
            None if has_fields => {}
            None => self.not_derived += 1,
        }
        let mut push = |fault, value| self.edits.push(FieldEdit { fault, path: path.clone(), value });
        // What is left out gets its default.
        if present.is_some() && !is_required && schema.get("default") != present {
            push(EditFault::Remove, None);
        }
        let (values, excluded) = extremes(schema, present);
        values.into_iter().for_each(|(fault, value)| push(fault, Some(value)));
        self.not_allowed += excluded;
        self.nested(schema, present, &path);
    }

    /// The fields in an object, in the first item of a list and in the first entry of a map.
    fn nested(&mut self, schema: &Value, present: Option<&Value>, path: &FieldPath) {
        match (Type::of(schema), present) {
            (Type::Object, present) => {
                let required = |name: &str| {
                    schema["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name))
                };
                for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                    // Of what is not there, the whole is an edit of its own.
                    let Some(path) = path.key(name).filter(|path| present.is_some() || path.0.len() == 2)
                    else {
                        continue;
                    };
                    self.field(field, present.and_then(|value| value.get(name)), path, required(name));
                }
            }
            (Type::List, Some(Value::Array(items))) => {
                if let Some(item) = items.first() {
                    // Without it the list has one less, which is an edit of the list.
                    self.field(&schema["items"], Some(item), path.item(0), true);
                }
            }
            (Type::Map, Some(Value::Object(fields))) => {
                let first = fields.iter().find_map(|(key, value)| Some((path.key(key)?, value)));
                if let Some((path, value)) = first {
                    let is_last = !allows(&without_one(schema), &Value::Object(fields.clone()));
                    self.field(&schema["additionalProperties"], Some(value), path, is_last);
                }
            }
            _ => {}
        }
    }
}

/// The schema of a map that is to lose an entry.
fn without_one(schema: &Value) -> Value {
    let least = schema["minProperties"].as_u64().unwrap_or(0);
    serde_json::json!({ "minProperties": least + 1 })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(schema: Value, spec: Value) -> Vec<String> {
        let schema = json!({"properties": {"spec": schema}});
        let found = field_edits(&schema, &json!({"spec": spec}));
        let told = |edit: FieldEdit| {
            let value = edit.value.map_or("nothing".to_owned(), |value| value.to_string());
            format!("{:?} {} {}", edit.fault, edit.path, value.replace(&"x".repeat(10_000), "…"))
        };
        found.edits.into_iter().map(told).collect()
    }

    #[test]
    fn every_field_is_changed_and_what_is_optional_removed() {
        let schema = json!({"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string"},
            "size": {"type": "integer", "minimum": 1, "maximum": 5},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "absent": {"type": "object", "properties": {"on": {"type": "boolean"}}},
        }});
        assert_eq!(
            texts(schema, json!({"text": "one", "size": 5, "color": "red"})),
            [
                "Change spec.absent {\"on\":true}",
                "Change spec.color \"blue\"",
                "Change spec.size 4",
                "Remove spec.size nothing",
                "Change spec.text \"ona\"",
                "Empty spec.text \"\"",
                "Long spec.text \"…\"",
            ]
        );
    }

    #[test]
    fn first_items_and_entries_are_changed_too() {
        let name = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 1}}});
        let schema = json!({"type": "object", "properties": {
            "list": {"type": "array", "items": name},
            "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
        }});
        assert_eq!(
            texts(schema, json!({"list": [{"name": "c"}, {"name": "d"}], "map": {"a.b": true, "e": true}})),
            [
                "Change spec.list [{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"v\"}]",
                "Remove spec.list nothing",
                "Empty spec.list []",
                "Change spec.list[0].name \"a\"",
                "Empty spec.list[0].name \"\"",
                "Long spec.list[0].name \"x\"",
                "Change spec.map {\"a.b\":true,\"e\":true,\"verify\":true}",
                "Remove spec.map nothing",
                "Empty spec.map {}",
                "Change spec.map.e false",
                "Remove spec.map.e nothing",
            ]
        );
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let schema = json!({"properties": {"spec": {"type": "object", "properties": {
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "code": {"type": "string", "pattern": "^x$", "minLength": 1},
            "size": {"type": "integer", "minimum": 1, "maximum": 1},
        }}}});
        let found = field_edits(&schema, &json!({"spec": {"size": 1}}));
        // The code may not be empty, the size not 0 or -1.
        assert_eq!((found.not_derived, found.not_allowed), (3, 3));
        let faults: Vec<_> = found.edits.iter().map(|edit| edit.fault).collect();
        assert_eq!(faults, [EditFault::Long, EditFault::Remove]);
        assert_eq!(
            field_edits(&schema, &json!({})),
            field_edits(&schema, &json!({"spec": {}})),
            "no spec yet"
        );
    }
}
