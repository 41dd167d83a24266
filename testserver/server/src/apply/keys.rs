//! Keys that an applied configuration leaves out: a text that Go prints even if it is empty is empty, as the schema of a built-in type
//! says. A key that Go leaves out stays absent.

use serde_json::Value;

use super::shape::{SchemaPosition, Shape};
use crate::{
    gotypes::{self, GoStruct, GoType, Presence, Scalar},
    schema::types::OBJECT_META,
    scheme::Endpoint,
};

/// Sets the keys of list elements of built-in types: those of the whole object, or of the metadata of a custom resource.
pub(crate) fn complete(endpoint: &Endpoint, config: &mut Value) {
    let root = SchemaPosition::root(endpoint.schema().root());
    if let Some(ty) = endpoint.go_type() {
        complete_in(root, GoType::Struct(ty), config);
    } else if let (Some(metadata), Some(ty)) = (config.get_mut("metadata"), gotypes::by_name(OBJECT_META)) {
        complete_in(root.members().tolerant("metadata"), GoType::Struct(ty), metadata);
    }
}

fn complete_in(at: SchemaPosition<'_>, ty: GoType, value: &mut Value) {
    match (at.shape(value), value, ty) {
        (_, value, GoType::Pointer(inner)) => complete_in(at, *inner, value),
        (Shape::Keyed(keyed), Value::Array(elements), GoType::List(inner) | GoType::Items(inner)) => {
            for element in elements {
                if let (Value::Object(members), GoType::Struct(ty)) = (&mut *element, inner) {
                    for key in keyed.names().filter(|key| is_printed(ty, key)) {
                        members.entry(key).or_insert_with(|| "".into());
                    }
                }
                complete_in(keyed.element(), *inner, element);
            }
        }
        (Shape::Members(members), Value::Object(map), ty) => {
            for (name, value) in map {
                let inner = match ty {
                    GoType::Struct(ty) => ty.field(name).map(|field| field.ty),
                    GoType::Map(inner, _) => Some(*inner),
                    _ => None,
                };
                if let Some(inner) = inner {
                    complete_in(members.tolerant(name), inner, value);
                }
            }
        }
        _ => {}
    }
}

/// Whether an absent text is empty: where Go prints it, and in references of pods, whose schema says so.
fn is_printed(ty: &'static GoStruct, key: &str) -> bool {
    let is_text = |field: &&gotypes::GoField| matches!(field.ty, GoType::Scalar(Scalar::String, _));
    let field = ty.field(key).filter(is_text);
    field.is_some_and(|field| field.presence == Presence::Always || ty.short_name() == "LocalObjectReference")
}
