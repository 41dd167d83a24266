//! From a document to objects: its header is checked, and lists are unpacked.

use kube_core::DynamicObject;
use serde_json::{Map, Value};

use super::error::ReadError;
use super::source::Source;

/// Adds the objects of a document to `objects`: itself, or the items of a list.
pub(super) fn add_objects(
    document: Value,
    at: Option<Source>,
    objects: &mut Vec<(DynamicObject, Option<Source>)>,
) -> Result<(), ReadError> {
    let fields = match document {
        Value::Object(fields) => fields,
        other => {
            let reason =
                format!("expected an object with apiVersion, kind and metadata, found {}", name_of(&other));
            return Err(ReadError::NotAnObject { at, reason });
        }
    };
    let kind = match header(&fields) {
        Ok(kind) => kind,
        Err(reason) => return Err(ReadError::NotAnObject { at, reason }),
    };
    // As for kubectl, a list is what has items, whatever its kind: the kind of an object may end in `List` too.
    if fields.contains_key("items") {
        let item_kind = kind.strip_suffix("List").unwrap_or(kind).to_owned();
        return add_items(fields, &item_kind, at, objects);
    }
    match object(fields) {
        Ok(object) => {
            objects.push((object, at));
            Ok(())
        }
        Err(reason) => Err(ReadError::NotAnObject { at, reason }),
    }
}

/// In a list of one kind, such as a `ConfigMapList`, the items need not repeat it.
fn add_items(
    mut list: Map<String, Value>,
    item_kind: &str,
    at: Option<Source>,
    objects: &mut Vec<(DynamicObject, Option<Source>)>,
) -> Result<(), ReadError> {
    let items = match list.remove("items") {
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) => return Ok(()),
        Some(other) => {
            let reason = format!("items: expected a list of objects, found {}", name_of(&other));
            return Err(ReadError::NotAnObject { at, reason });
        }
    };
    for (number, mut item) in items.into_iter().enumerate() {
        if let (Value::Object(fields), false) = (&mut item, item_kind.is_empty())
            && !fields.contains_key("kind")
            && !fields.contains_key("apiVersion")
        {
            fields.insert("kind".to_owned(), item_kind.into());
            fields.extend(list.get("apiVersion").map(|version| ("apiVersion".to_owned(), version.clone())));
        }
        add_objects(item, at.as_ref().map(|at| at.item(number)), objects)?;
    }
    Ok(())
}

/// The kind, if there is one beside an apiVersion.
fn header(fields: &Map<String, Value>) -> Result<&str, String> {
    text(fields, "apiVersion", "such as \"v1\" or \"apps/v1\"")?;
    text(fields, "kind", "such as \"ConfigMap\"")
}

fn object(mut fields: Map<String, Value>) -> Result<DynamicObject, String> {
    let kind = text(&fields, "kind", "")?.to_owned();
    let metadata = match fields.get_mut("metadata") {
        Some(Value::Object(metadata)) => metadata,
        None | Some(Value::Null) => return Err(format!("metadata: a {kind} needs one, with a name")),
        Some(other) => return Err(format!("metadata: expected a mapping, found {}", name_of(other))),
    };
    let name = |field| match metadata.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(name)) => Ok(!name.is_empty()),
        Some(other) => Err(format!("metadata.{field}: expected a text, found {}", name_of(other))),
    };
    if !name("name")? && !name("generateName")? {
        return Err(format!("metadata.name: a {kind} needs a name (or, to be created, a generateName)"));
    }
    // `DynamicObject` has typed metadata: it would drop what it does not know.
    if let Some(unknown) = metadata.keys().find(|key| !METADATA.contains(&key.as_str())) {
        return Err(format!(
            "metadata.{unknown}: objects have no such field; expected one of {}",
            METADATA.join(", ")
        ));
    }
    // kubectl sends null there, and servers store an empty text.
    for field in ["labels", "annotations"] {
        let values = metadata.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
        values.filter(|(_, value)| value.is_null()).for_each(|(_, value)| *value = "".into());
    }
    // The error begins with the path of the field.
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(|err| err.to_string())
}

/// A field that has to be a text.
fn text<'a>(fields: &'a Map<String, Value>, field: &str, example: &str) -> Result<&'a str, String> {
    match fields.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        None | Some(Value::Null | Value::String(_)) => {
            Err(format!("{field}: missing, expected a text {example}"))
        }
        Some(other) => Err(format!("{field}: expected a text {example}, found {}", name_of(other))),
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// The fields of `ObjectMeta`.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
