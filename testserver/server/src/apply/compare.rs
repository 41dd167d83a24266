//! Compares two objects; the differences are field sets.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    fields::FieldSet,
    path::{PathElement, Scalar},
    shape::{Keyed, Members, SchemaPosition, Shape},
};

/// The difference between two objects. An added or removed container is listed with everything in it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changes {
    pub(super) added: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) removed: FieldSet,
}

/// Compares field by field; the order of list elements with keys is ignored.
pub(super) fn compare(root: SchemaPosition<'_>, old: &Value, new: &Value) -> Changes {
    let mut walk = Comparer { at: Vec::new(), out: Changes::default() };
    walk.both(root, old, new);
    walk.out
}

#[derive(Clone, Copy)]
enum Side {
    Added,
    Removed,
}

struct Comparer {
    at: Vec<PathElement>,
    out: Changes,
}

impl Comparer {
    fn both(&mut self, at: SchemaPosition<'_>, old: &Value, new: &Value) {
        match (at.shape(old), at.shape(new), old, new) {
            (Shape::Members(_), Shape::Members(members), Value::Object(old), Value::Object(new)) => {
                self.members(members, old, new);
            }
            (_, Shape::Set, Value::Array(old), Value::Array(new)) => {
                let step = |value: &Value| Scalar::from_json(value).map(PathElement::Value);
                self.elements(None, &by_step(old, step), &by_step(new, step));
            }
            (_, Shape::Keyed(keyed), Value::Array(old), Value::Array(new)) => {
                let step = |value: &Value| value.as_object().and_then(|map| keyed.key(map));
                self.elements(Some(keyed), &by_step(old, step), &by_step(new, step));
            }
            _ if old == new => {}
            // A list or map that was null is not new itself, only its content; the same in reverse.
            (Shape::Whole, _, _, Value::Null) => self.out.modified.insert(&self.at),
            (_, shape, Value::Null, _) => self.inside(&shape, new, Side::Added),
            (shape, _, _, Value::Null) => self.inside(&shape, old, Side::Removed),
            (gone, come, _, _) => {
                self.out.modified.insert(&self.at);
                self.contents(&gone, old, Side::Removed);
                self.contents(&come, new, Side::Added);
            }
        }
    }

    fn members(&mut self, members: Members<'_>, old: &Map<String, Value>, new: &Map<String, Value>) {
        for (name, value) in old {
            let at = members.tolerant(name);
            self.at.push(PathElement::field(name));
            match new.get(name) {
                Some(other) => self.both(at, value, other),
                None => self.all(at, value, Side::Removed),
            }
            self.at.pop();
        }
        for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            self.at.push(PathElement::field(name));
            self.all(members.tolerant(name), value, Side::Added);
            self.at.pop();
        }
    }

    fn elements(&mut self, keyed: Option<Keyed<'_>>, old: &ByStep<'_>, new: &ByStep<'_>) {
        let steps: std::collections::BTreeSet<&PathElement> = old.keys().chain(new.keys()).collect();
        for step in steps {
            self.at.push(step.clone());
            match (old.get(step).map(Vec::as_slice), new.get(step).map(Vec::as_slice), keyed) {
                (Some([old]), Some([new]), Some(keyed)) => self.both(keyed.element(), old, new),
                (Some(old), Some(new), _) if old == new => {}
                (Some(_), Some(_), _) => self.out.modified.insert(&self.at),
                (Some(values), None, _) => self.element(keyed, values, Side::Removed),
                (None, Some(values), _) => self.element(keyed, values, Side::Added),
                (None, None, _) => {}
            }
            self.at.pop();
        }
    }

    fn element(&mut self, keyed: Option<Keyed<'_>>, values: &[&Value], side: Side) {
        match (keyed, values) {
            (Some(keyed), [value]) => self.all(keyed.element(), value, side),
            _ => self.mark(side),
        }
    }

    /// The value and everything in it was added or removed.
    fn all(&mut self, at: SchemaPosition<'_>, value: &Value, side: Side) {
        self.mark(side);
        self.contents(&at.shape(value), value, side);
    }

    /// Everything in the value was added or removed; an empty value itself.
    fn inside(&mut self, shape: &Shape<'_>, value: &Value, side: Side) {
        if !self.contents(shape, value, side) {
            self.mark(side);
        }
    }

    /// Everything in the value was added or removed. Returns false for a value without parts.
    fn contents(&mut self, shape: &Shape<'_>, value: &Value, side: Side) -> bool {
        match (shape, value) {
            (Shape::Members(members), Value::Object(map)) => {
                for (name, value) in map {
                    self.at.push(PathElement::field(name));
                    self.all(members.tolerant(name), value, side);
                    self.at.pop();
                }
            }
            (Shape::Set, Value::Array(list)) => {
                let step = |value: &Value| Scalar::from_json(value).map(PathElement::Value);
                self.inside_list(None, &by_step(list, step), side);
            }
            (Shape::Keyed(keyed), Value::Array(list)) => {
                let step = |value: &Value| value.as_object().and_then(|map| keyed.key(map));
                self.inside_list(Some(*keyed), &by_step(list, step), side);
            }
            _ => return false,
        }
        true
    }

    fn inside_list(&mut self, keyed: Option<Keyed<'_>>, elements: &ByStep<'_>, side: Side) {
        for (step, values) in elements {
            self.at.push(step.clone());
            self.element(keyed, values, side);
            self.at.pop();
        }
    }

    fn mark(&mut self, side: Side) {
        match side {
            Side::Added => self.out.added.insert(&self.at),
            Side::Removed => self.out.removed.insert(&self.at),
        }
    }
}

/// Elements by key. Stored lists may have duplicate or missing keys; all elements are kept.
type ByStep<'v> = BTreeMap<PathElement, Vec<&'v Value>>;

fn by_step<'v>(list: &'v [Value], step: impl Fn(&Value) -> Option<PathElement>) -> ByStep<'v> {
    let mut out = ByStep::new();
    for (i, value) in list.iter().enumerate() {
        out.entry(step(value).unwrap_or(PathElement::Index(i as u64))).or_default().push(value);
    }
    out
}
