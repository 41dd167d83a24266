//! Which item of a changed list was which before. Pure.

use std::{collections::HashMap, hash::Hash};

use serde_json::Value;

use super::list_keys::ItemKeys;

/// Each open item is compared with every other one.
const MAX_COMPARED: usize = 1000;

/// For each item of `after`, its index in `before`, where that is certain; each index occurs once.
///
/// Certain are: the same keys, if no other item on either side has them; equal items, if there are as many before as after (and, if
/// several are equal but not alike, no item is new); and items at their old places that have only gained fields, if each fits no other and
/// no item is new. `alike` says that two items of `before` may be taken for each other.
pub(super) fn origins(
    before: &[Value],
    after: &[Value],
    keys: &ItemKeys,
    alike: impl Fn(usize, usize) -> bool,
) -> Vec<Option<usize>> {
    let mut found = Found { origins: vec![None; after.len()], taken: vec![false; before.len()] };
    let (old, new) = (grouped(before, |item| keys.in_item(item)), grouped(after, |item| keys.in_item(item)));
    for (key, at) in new {
        if let ([at], Some([origin])) = (&at[..], old.get(&key).map(Vec::as_slice)) {
            found.set(*at, *origin);
        }
    }
    let (old, new) = (grouped(before, Some), grouped(after, Some));
    let mut twins = Vec::new();
    for (item, at) in new {
        let old = old.get(item).map_or(&[][..], Vec::as_slice);
        let all_alike = || old.windows(2).all(|pair| alike(pair[0], pair[1]));
        let pairs = at.iter().copied().zip(old.iter().copied());
        if old.len() == at.len() && !all_alike() {
            twins.extend(pairs);
        } else if old.len() == at.len() || old.len() > at.len() && all_alike() {
            pairs.for_each(|(at, origin)| found.set(at, origin));
        }
    }
    if before.len() == after.len() {
        let old: Vec<_> = (0..before.len()).filter(|at| !found.taken[*at]).collect();
        let new: Vec<_> = (0..after.len()).filter(|at| found.origins[*at].is_none()).collect();
        let has_only_gained = |at: &&usize| {
            old.len().max(new.len()) <= MAX_COMPARED
                && has_values(&before[**at])
                && old.iter().filter(|old| extends(&after[**at], &before[**old])).eq([*at])
                && new.iter().filter(|new| extends(&after[**new], &before[**at])).eq([*at])
        };
        let certain: Vec<_> = new.iter().filter(has_only_gained).copied().collect();
        // All of them have to, or one may have been changed into the likeness of another.
        if certain.len() + twins.len() == new.len() {
            certain.into_iter().for_each(|at| found.set(at, at));
        }
    }
    // If there are others, one of the twins may have become such an item, and a copy have taken its place.
    if found.origins.iter().filter(|origin| origin.is_none()).count() == twins.len() {
        twins.into_iter().for_each(|(at, origin)| found.set(at, origin));
    }
    found.origins
}

/// The places of the items with the same key.
fn grouped<'a, K: Eq + Hash>(
    list: &'a [Value],
    key: impl Fn(&'a Value) -> Option<K>,
) -> HashMap<K, Vec<usize>> {
    let mut places = HashMap::<K, Vec<usize>>::new();
    for (at, item) in list.iter().enumerate() {
        if let Some(key) = key(item) {
            places.entry(key).or_default().push(at);
        }
    }
    places
}

struct Found {
    origins: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Found {
    fn set(&mut self, at: usize, origin: usize) {
        if self.origins[at].is_none() && !std::mem::replace(&mut self.taken[origin], true) {
            self.origins[at] = Some(origin);
        }
    }
}

/// Whether `after` has every value of `before`.
fn extends(after: &Value, before: &Value) -> bool {
    match (after, before) {
        (Value::Object(after), Value::Object(before)) => {
            before.iter().all(|(key, before)| after.get(key).is_some_and(|after| extends(after, before)))
        }
        _ => after == before,
    }
}

fn has_values(item: &Value) -> bool {
    match item {
        Value::Object(fields) => fields.values().any(has_values),
        Value::Array(items) => items.iter().any(has_values),
        Value::Null => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use kube_core::apply::managed_fields::Owned;
    use serde_json::{Value, json};

    use super::{ItemKeys, origins};

    fn of(before: &Value, after: &Value) -> Vec<Option<usize>> {
        let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
        let keys = ItemKeys::of(&Owned::default(), before, after);
        origins(before, after, &keys, |_, _| false)
    }

    #[test]
    fn items_are_found_by_key_then_by_content_then_at_their_place() {
        let named = json!([{"name": "a", "x": 1}, {"name": "b", "x": 1}]);
        assert_eq!(
            of(&named, &json!([{"name": "b", "x": 2}, {"name": "c"}, {"name": "a"}])),
            [Some(1), None, Some(0)]
        );
        let plain = json!([{"x": 1}, {"x": 2}]);
        assert_eq!(of(&plain, &json!([{"x": 2}, {"x": 1}, {"x": 0}])), [Some(1), Some(0), None]);
        assert_eq!(of(&plain, &json!([{"x": 1, "y": 1}, {"x": 2, "y": 1}])), [Some(0), Some(1)]);
        assert_eq!(
            of(&plain, &json!([{"x": 2, "y": 1}, {"x": 1, "y": 1}])),
            [None, None],
            "not at their places"
        );
        assert_eq!(of(&plain, &json!([{"x": 3}, {"x": 2}])), [None, Some(1)], "changed, or another item");
    }

    #[test]
    fn what_two_items_could_be_is_neither() {
        let shared = json!([{"name": "a", "x": 1}, {"name": "a", "x": 2}]);
        assert_eq!(of(&shared, &json!([{"name": "a", "x": 3}, {"name": "a", "x": 2}])), [None, Some(1)]);
        assert_eq!(of(&shared, &json!([{"name": "a", "x": 3}])), [None]);
        assert_eq!(of(&json!([{"x": 1}, {"x": 1}]), &json!([{"x": 1}])), [None]);
        assert_eq!(of(&json!([{"x": 1}]), &json!([{"x": 1}, {"x": 1}])), [None, None]);
        assert_eq!(
            of(&json!([{"x": 1}, {"x": 1}]), &json!([{"x": 1}, {"x": 1}, {"x": 2}])),
            [None, None, None]
        );
        assert_eq!(of(&json!([{}, {}]), &json!([{"x": 1}, {}])), [None, None], "an empty item fits all");
    }

    #[test]
    fn large_lists_are_compared_in_good_time() {
        let list = |from: u32| {
            Value::from_iter((from..from + 100_000).map(|x| json!({"x": x, "name": format!("n{}", x % 3)})))
        };
        assert_eq!(of(&list(0), &list(50_000)).iter().flatten().count(), 50_000);
    }
}
