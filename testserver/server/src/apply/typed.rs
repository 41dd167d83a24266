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
/// The error names the fields that do not match the schema, with the messages of the genuine server.
pub(super) fn named_fields(root: SchemaPosition<'_>, config: &Value) -> Result<FieldSet, String> {
    let mut walk = FieldCollector { at: Vec::new(), out: FieldSet::default(), inside: 0, wrong: Vec::new() };
    walk.value(root, config);
    match walk.wrong.as_slice() {
        [] => Ok(walk.out),
        [one] => Err(one.clone()),
        several => Err(format!("errors:\n  {}", several.join("\n  "))),
    }
}

struct FieldCollector {
    at: Vec<PathElement>,
    out: FieldSet,
    /// How many values around the current one are owned as one piece: what is in them is checked, but not owned by itself.
    inside: usize,
    wrong: Vec<String>,
}

impl FieldCollector {
    fn value(&mut self, at: SchemaPosition<'_>, value: &Value) {
        match (at.shape(value), value) {
            (_, Value::Null) => self.own(),
            (Shape::Whole, _) => {
                self.whole(at, value);
                self.own();
            }
            (Shape::Members(members), Value::Object(map)) => self.members(members, map),
            (Shape::Members(_), other) => self.expected("map", &go_value(other)),
            (Shape::Set, Value::Array(list)) => self.set(at, list),
            (Shape::Keyed(keyed), Value::Array(list)) => self.keyed(keyed, list),
            (Shape::Set | Shape::Keyed(_), other) => self.expected("list", &go_value(other)),
        }
    }

    fn own(&mut self) {
        if self.inside == 0 {
            self.out.insert(&self.at);
        }
    }

    fn members(&mut self, members: Members<'_>, map: &Map<String, Value>) {
        let mut undeclared = false;
        for (name, value) in map {
            self.at.push(PathElement::field(name));
            match members.member(name) {
                Some(at) => {
                    self.value(at, value);
                    let empty = value.as_object().is_some_and(Map::is_empty);
                    if empty || !members.named(name) {
                        self.own();
                    }
                }
                // Genuine servers name one such member of an object.
                None if undeclared => {}
                None => {
                    undeclared = true;
                    self.wrong("field not declared in schema");
                }
            }
            self.at.pop();
        }
    }

    fn set(&mut self, at: SchemaPosition<'_>, list: &[Value]) {
        let mut steps = Vec::new();
        for (i, value) in list.iter().enumerate() {
            let Some(scalar) = Scalar::from_json(value).filter(|scalar| *scalar != Scalar::Null) else {
                let what = match value {
                    Value::Null => "associative list without keys has an element that's an explicit null",
                    Value::Array(_) => "not supported: associative list with lists as elements",
                    _ => "associative list without keys has an element that's a map type",
                };
                self.wrong(&format!("element {i}: {what}"));
                continue;
            };
            steps.push((PathElement::Value(scalar), value));
        }
        for (step, value) in self.unique(steps) {
            self.at.push(step);
            self.value(at.items(), value);
            self.own();
            self.at.pop();
        }
    }

    fn keyed(&mut self, keyed: Keyed<'_>, list: &[Value]) {
        let mut steps = Vec::new();
        for (i, value) in list.iter().enumerate() {
            let Value::Object(map) = value else {
                let why = match value {
                    Value::Null => "may not have a null element",
                    _ => "may not have non-map elements",
                };
                self.wrong(&format!("element {i}: associative list with keys {why}"));
                continue;
            };
            match keyed.key(map) {
                Some(step) => steps.push((step, value)),
                None => {
                    let names = keyed.key_names();
                    self.wrong(&format!(
                        "element {i}: associative list with keys has an element that omits all key fields [{names}] \
                         (and doesn't have default values for any key fields)"
                    ));
                    break;
                }
            }
        }
        for (step, value) in self.unique(steps) {
            self.at.push(step);
            self.value(keyed.element(), value);
            self.own();
            self.at.pop();
        }
    }

    /// The elements without repetitions, which are wrong.
    fn unique<'v>(&mut self, elements: Vec<(PathElement, &'v Value)>) -> Vec<(PathElement, &'v Value)> {
        let (mut seen, mut repeated, mut out) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for (step, value) in elements {
            if seen.insert(step.clone()) {
                out.push((step, value));
            } else if repeated.insert(step.clone()) {
                self.wrong(&format!("duplicate entries for key {step}"));
            }
        }
        out
    }

    /// Checks a value that is owned as one piece, and what is in it.
    fn whole(&mut self, at: SchemaPosition<'_>, value: &Value) {
        match (at.declared(), value) {
            (Some(Type::String), v) if !v.is_string() => self.expected("string", &go_detail(v)),
            (Some(Type::Boolean), v) if !v.is_boolean() => self.expected("boolean", &go_value(v)),
            (Some(Type::Integer | Type::Number), v) if !v.is_number() => {
                self.expected("numeric (int or float)", golang::type_name(v));
            }
            (Some(Type::Array), v) if !v.is_array() => self.expected("list", &go_value(v)),
            (Some(Type::Object), v) if !v.is_object() => self.expected("map", &go_value(v)),
            (Some(Type::Array), Value::Array(list)) => {
                self.inside += 1;
                for (i, element) in (0u64..).zip(list) {
                    self.at.push(PathElement::Index(i));
                    self.value(at.items(), element);
                    self.at.pop();
                }
                self.inside -= 1;
            }
            (Some(Type::Object), Value::Object(map)) => {
                self.inside += 1;
                self.members(at.members(), map);
                self.inside -= 1;
            }
            _ => {}
        }
    }

    fn expected(&mut self, what: &str, got: &str) {
        self.wrong(&format!("expected {what}, got {got}"));
    }

    fn wrong(&mut self, what: &str) {
        self.wrong.push(format!("{}: {what}", path::show(&self.at)));
    }
}

/// Go's `%v` of the server's wrapper type.
fn go_value(value: &Value) -> String {
    format!("&{{{}}}", golang::plain(value))
}

/// Go's `%#v` of the same.
fn go_detail(value: &Value) -> String {
    format!("&value.valueUnstructured{{Value:{}}}", golang::syntax(value))
}
