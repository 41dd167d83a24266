//! Collects the fields of an applied configuration and checks it against the schema.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{
    fields::FieldSet,
    path::{self, PathElement, Scalar},
    shape::{Keyed, Members, SchemaPosition, Shape},
};
use crate::schema::{golang, model::Type};

/// The fields that `config` sets: its leaves, list elements and empty containers.
///
/// The error names the first field that does not match the schema, with the message of the genuine server.
pub(super) fn named_fields(root: SchemaPosition<'_>, config: &Value) -> Result<FieldSet, String> {
    let mut walk = FieldCollector { at: Vec::new(), out: FieldSet::default() };
    walk.value(root, config)?;
    Ok(walk.out)
}

struct FieldCollector {
    at: Vec<PathElement>,
    out: FieldSet,
}

impl FieldCollector {
    fn value(&mut self, at: SchemaPosition<'_>, value: &Value) -> Result<(), String> {
        match (at.shape(value), value) {
            (_, Value::Null) => {
                self.out.insert(&self.at);
                Ok(())
            }
            (Shape::Whole, _) => {
                self.scalar(at, value)?;
                self.out.insert(&self.at);
                Ok(())
            }
            (Shape::Members(members), Value::Object(map)) => self.members(members, map),
            (Shape::Members(_), other) => Err(self.expected("map", &go_value(other))),
            (Shape::Set, Value::Array(list)) => self.set(list),
            (Shape::Keyed(keyed), Value::Array(list)) => self.keyed(keyed, list),
            (Shape::Set | Shape::Keyed(_), other) => Err(self.expected("list", &go_value(other))),
        }
    }

    fn members(&mut self, members: Members<'_>, map: &Map<String, Value>) -> Result<(), String> {
        for (name, value) in map {
            self.at.push(PathElement::field(name));
            let at = members.member(name).ok_or_else(|| self.wrong("field not declared in schema"))?;
            self.value(at, value)?;
            let empty = value.as_object().is_some_and(Map::is_empty);
            if empty || !members.named(name) {
                self.out.insert(&self.at);
            }
            self.at.pop();
        }
        Ok(())
    }

    fn set(&mut self, list: &[Value]) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for value in list {
            let scalar =
                Scalar::from_json(value).ok_or_else(|| self.wrong("sets may only contain scalars"))?;
            let step = PathElement::Value(scalar);
            if !seen.insert(step.clone()) {
                return Err(self.wrong(&format!("duplicate entries for key {step}")));
            }
            self.at.push(step);
            self.out.insert(&self.at);
            self.at.pop();
        }
        Ok(())
    }

    fn keyed(&mut self, keyed: Keyed<'_>, list: &[Value]) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for (i, value) in list.iter().enumerate() {
            let Value::Object(map) = value else {
                let why = "associative list with keys may not have non-map elements";
                return Err(self.wrong(&format!("element {i}: {why}")));
            };
            let step = keyed.key(map).ok_or_else(|| {
                let names = keyed.key_names();
                self.wrong(&format!(
                    "element {i}: associative list with keys has an element that omits all key fields [{names}] \
                     (and doesn't have default values for any key fields)"
                ))
            })?;
            if !seen.insert(step.clone()) {
                return Err(self.wrong(&format!("duplicate entries for key {step}")));
            }
            self.at.push(step);
            self.value(keyed.element(), value)?;
            self.out.insert(&self.at);
            self.at.pop();
        }
        Ok(())
    }

    /// Checks the type of a value that is owned as one piece.
    fn scalar(&self, at: SchemaPosition<'_>, value: &Value) -> Result<(), String> {
        match (at.declared(), value) {
            (Some(Type::String), v) if !v.is_string() => Err(self.expected("string", &go_detail(v))),
            (Some(Type::Boolean), v) if !v.is_boolean() => Err(self.expected("boolean", &go_value(v))),
            (Some(Type::Integer | Type::Number), v) if !v.is_number() => {
                Err(self.expected("numeric (int or float)", golang::type_name(v)))
            }
            (Some(Type::Array), v) if !v.is_array() => Err(self.expected("list", &go_value(v))),
            (Some(Type::Object), v) if !v.is_object() => Err(self.expected("map", &go_value(v))),
            _ => Ok(()),
        }
    }

    fn expected(&self, what: &str, got: &str) -> String {
        self.wrong(&format!("expected {what}, got {got}"))
    }

    fn wrong(&self, what: &str) -> String {
        format!("{}: {what}", path::show(&self.at))
    }
}

/// Go's `%v` of the server's wrapper type.
fn go_value(value: &Value) -> String {
    format!("&{{{}}}", golang::plain(value))
}

/// Go's `%#v` of the same.
fn go_detail(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", golang::plain(value))
}
