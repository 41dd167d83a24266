//! Carries fields that the types do not have into the converted object. Pure.

use json_patch::jsonptr::PointerBuf;
use kube_core::apply::managed_fields::Owned;
use serde_json::Value;

use super::super::{list_items::origins, list_keys::ItemKeys};

/// Fields are tried one by one only if there are no more of them.
const MAX_TRIALS: usize = 100;

/// Adds the fields of `received` that its type does not have (they are not in `before`, the same object as the type has it) to `converted`,
/// at their places. `whole` is the converted object with everything that it needs to decode, and `recoded` how the type of the new version
/// has it: fields that this type knows are not added.
///
/// Items of lists are the same if they have the same keys, or the same place in lists of the same length.
pub(super) fn carry(
    converted: &mut Value,
    whole: &Value,
    received: &Value,
    before: &Value,
    recoded: impl Fn(&Value) -> Option<Value>,
) {
    let mut found = Vec::new();
    unknown(received, before, whole, &PointerBuf::new(), &mut found);
    if found.is_empty() {
        return;
    }
    let known = recoded(whole);
    let is_unknown_there = |fields: &[(PointerBuf, &Value)]| {
        let mut trial = whole.clone();
        fields.iter().for_each(|field| insert(&mut trial, field));
        known.is_some() && recoded(&trial) == known
    };
    if !is_unknown_there(&found) {
        let all = std::mem::take(&mut found).into_iter().take(MAX_TRIALS);
        found = all.filter(|field| is_unknown_there(std::slice::from_ref(field))).collect();
    }
    found.iter().for_each(|field| insert(converted, field));
}

/// Sets a field whose parent exists.
fn insert(object: &mut Value, (place, value): &(PointerBuf, &Value)) {
    let (Some(name), Some(parent)) = (place.back(), place.parent()) else { return };
    let parent = parent.resolve_mut(object).ok().and_then(Value::as_object_mut);
    if let Some(parent) = parent {
        parent.entry(name.decoded().into_owned()).or_insert_with(|| (*value).clone());
    }
}

/// The unknown fields of `received`, and where they belong in the converted object.
fn unknown<'a>(
    received: &'a Value,
    before: &Value,
    whole: &Value,
    place: &PointerBuf,
    found: &mut Vec<(PointerBuf, &'a Value)>,
) {
    match (received, before, whole) {
        (Value::Object(received), Value::Object(before), Value::Object(whole)) => {
            for (name, received) in received {
                let mut place = place.clone();
                place.push_back(name);
                match (before.get(name), whole.get(name)) {
                    (Some(before), Some(whole)) => unknown(received, before, whole, &place, found),
                    (None, None) if !received.is_null() => found.push((place, received)),
                    _ => {}
                }
            }
        }
        (Value::Array(received), Value::Array(before), Value::Array(whole))
            if received.len() == before.len() =>
        {
            let keys = ItemKeys::of(&Owned::default(), before, whole);
            let origins = origins(before, whole, &keys, |_, _| false);
            let at_its_place = |at: usize| before.len() == whole.len() && !origins.contains(&Some(at));
            for (at, origin) in origins.iter().enumerate() {
                let Some(origin) = origin.or(at_its_place(at).then_some(at)) else { continue };
                let mut place = place.clone();
                place.push_back(at);
                unknown(&received[origin], &before[origin], &whole[at], &place, found);
            }
        }
        _ => {}
    }
}
