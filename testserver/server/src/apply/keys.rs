//! Keys that an applied configuration leaves out: a text that Go always prints is empty, as the schema of a built-in type says.

use serde_json::{Map, Value};

use super::shape::{Keyed, SchemaPosition, Shape};
use crate::schema::Schema;

/// Sets the keys of list elements of built-in types: those of the whole object, or of the metadata of a custom resource.
pub(crate) fn complete(schema: &Schema, custom: bool, config: &mut Value) {
    let root = SchemaPosition::root(schema.root());
    if !custom {
        return complete_in(root, config);
    }
    if let Some(metadata) = config.get_mut("metadata") {
        complete_in(root.members().tolerant("metadata"), metadata);
    }
}

fn complete_in(at: SchemaPosition<'_>, value: &mut Value) {
    match (at.shape(value), value) {
        (Shape::Keyed(keyed), Value::Array(elements)) => {
            for element in elements {
                if let Value::Object(members) = element {
                    complete_element(keyed, members);
                }
                complete_in(keyed.element(), element);
            }
        }
        (Shape::Members(members), Value::Object(map)) => {
            map.iter_mut().for_each(|(name, value)| complete_in(members.tolerant(name), value));
        }
        _ => {}
    }
}

fn complete_element(keyed: Keyed<'_>, members: &mut Map<String, Value>) {
    for key in keyed.texts() {
        members.entry(key).or_insert_with(|| "".into());
    }
}
