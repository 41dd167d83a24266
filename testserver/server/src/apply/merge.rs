//! Merges an applied configuration into the live object and removes fields without an owner.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    fields::FieldSet,
    path::{PathElement, Scalar},
    shape::{Keyed, Members, SchemaPosition, Shape},
};

/// The live value with all fields of `config`. Elements of sets and keyed lists have the order of `config`; live-only elements keep their
/// place before the next shared element.
pub(super) fn merge(at: SchemaPosition<'_>, live: &Value, config: &Value) -> Value {
    match (at.shape(config), live, config) {
        // A null names no part of an object or list that is merged.
        (Shape::Members(_) | Shape::Set | Shape::Keyed(_), live, Value::Null) if !live.is_null() => {
            live.clone()
        }
        (Shape::Members(members), Value::Object(live), Value::Object(config)) => {
            let mut out = live.clone();
            for (name, value) in config {
                let merged = match live.get(name) {
                    Some(old) => merge(members.tolerant(name), old, value),
                    None => value.clone(),
                };
                out.insert(name.clone(), merged);
            }
            Value::Object(out)
        }
        (Shape::Set, Value::Array(live), Value::Array(config)) => {
            let step = |value: &Value| Scalar::from_json(value).map(PathElement::Value);
            interleave(live, config, step, |_, new| new.clone())
        }
        (Shape::Keyed(keyed), Value::Array(live), Value::Array(config)) => {
            let step = |value: &Value| value.as_object().and_then(|map| keyed.key(map));
            interleave(live, config, step, |old, new| merge(keyed.element(), old, new))
        }
        _ => config.clone(),
    }
}

/// Merges two lists whose elements have keys.
fn interleave(
    live: &[Value],
    config: &[Value],
    step: impl Fn(&Value) -> Option<PathElement>,
    merge: impl Fn(&Value, &Value) -> Value,
) -> Value {
    let live: Vec<_> = live.iter().map(|value| (step(value), value)).collect();
    let config: Vec<_> = config.iter().map(|value| (step(value), value)).collect();
    let by_step: BTreeMap<&PathElement, &Value> =
        live.iter().rev().filter_map(|(s, value)| Some((s.as_ref()?, *value))).collect();
    let config_steps: BTreeSet<&PathElement> = config.iter().filter_map(|(s, _)| s.as_ref()).collect();
    let only_live = |s: &Option<PathElement>| s.as_ref().is_none_or(|s| !config_steps.contains(s));
    let next_shared = next_shared(&config, &by_step);

    let mut out = Vec::with_capacity(live.len() + config.len());
    let mut rest = live.iter().peekable();
    for ((s, new), next) in config.iter().zip(next_shared) {
        // Live-only elements precede the next shared element.
        while let Some((l, value)) = rest.next_if(|(l, _)| only_live(l) || l.as_ref() != next) {
            if only_live(l) {
                out.push((*value).clone());
            }
        }
        rest.next_if(|(l, _)| l == s);
        let old = s.as_ref().and_then(|s| by_step.get(s));
        out.push(old.map_or_else(|| (*new).clone(), |old| merge(old, new)));
    }
    out.extend(rest.filter(|(l, _)| only_live(l)).map(|(_, value)| (*value).clone()));
    Value::Array(out)
}

/// For each element, the next one, itself included, that the live list also has.
fn next_shared<'c>(
    config: &'c [(Option<PathElement>, &Value)],
    live: &BTreeMap<&PathElement, &Value>,
) -> Vec<Option<&'c PathElement>> {
    let mut next = None;
    let mut out: Vec<_> = config
        .iter()
        .rev()
        .map(|(s, _)| {
            next = s.as_ref().filter(|s| live.contains_key(s)).or(next);
            next
        })
        .collect();
    out.reverse();
    out
}

/// Removes everything in `unwanted`, with everything below it. A list or map that becomes empty is set to null, as on genuine servers.
pub(super) fn remove(at: SchemaPosition<'_>, value: &mut Value, unwanted: &FieldSet) {
    if unwanted.is_empty() {
        return;
    }
    let emptied = match (at.shape(value), &mut *value) {
        (Shape::Members(members), Value::Object(map)) => {
            let had = !map.is_empty();
            remove_members(members, map, unwanted);
            had && map.is_empty()
        }
        (Shape::Set, Value::Array(list)) => {
            let had = !list.is_empty();
            list.retain(|value| {
                !Scalar::from_json(value).is_some_and(|s| unwanted.has(&PathElement::Value(s)))
            });
            had && list.is_empty()
        }
        (Shape::Keyed(keyed), Value::Array(list)) => {
            let had = !list.is_empty();
            remove_elements(keyed, list, unwanted);
            had && list.is_empty()
        }
        _ => false,
    };
    if emptied {
        *value = Value::Null;
    }
}

/// The set with the structs that contain its fields: the owner of a field also owns its struct.
pub(super) fn with_structs(at: SchemaPosition<'_>, set: &FieldSet) -> FieldSet {
    let members = match at.shape(&Value::Object(Map::new())) {
        Shape::Members(members) => Some(members),
        _ => None,
    };
    set.map(|step, member, below| match (step, members) {
        (PathElement::Field(name), Some(members)) => {
            let inner = members.tolerant(name);
            let below = with_structs(inner, below);
            (member || (members.named(name) && !below.is_empty()), below)
        }
        (PathElement::Key(_), _) => match at.shape(&Value::Array(Vec::new())) {
            Shape::Keyed(keyed) => (member, with_structs(keyed.element(), below)),
            _ => (member, below.clone()),
        },
        _ => (member, below.clone()),
    })
}

fn remove_members(members: Members<'_>, map: &mut Map<String, Value>, unwanted: &FieldSet) {
    map.retain(|name, value| {
        let step = PathElement::field(name);
        if unwanted.has(&step) {
            return false;
        }
        remove(members.tolerant(name), value, unwanted.below(&step));
        true
    });
}

fn remove_elements(keyed: Keyed<'_>, list: &mut Vec<Value>, unwanted: &FieldSet) {
    list.retain_mut(|value| {
        let Some(step) = value.as_object().and_then(|map| keyed.key(map)) else { return true };
        if unwanted.has(&step) {
            return false;
        }
        remove(keyed.element(), value, unwanted.below(&step));
        true
    });
}
