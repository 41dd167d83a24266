//! Mutations of objects with fields that the type of the handler does not have.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::changes;

fn applied(mut received: Value, before: &Value, after: &Value) -> Value {
    let patch = changes(&received, before, after).unwrap();
    json_patch::patch(&mut received, &patch).unwrap();
    received
}

fn denied(received: &Value, before: &Value, after: &Value) -> String {
    changes(received, before, after).unwrap_err().to_string()
}

#[test]
fn no_change_is_no_patch_whatever_the_type_knows() {
    let received = json!({"spec": {"a": 1, "unknown": {"x": [1]}}, "null": null});
    let encoded = json!({"spec": {"a": 1, "default": 5}});
    assert!(changes(&received, &encoded, &encoded).unwrap().is_empty());
}

#[test]
fn unknown_fields_stay_and_defaults_of_the_type_are_no_change() {
    let received = json!({"spec": {"a": 1, "unknown": true}, "status": {"u": 1}});
    let before = json!({"spec": {"a": 1, "size": 1}, "status": {}});
    let after = json!({"spec": {"a": 2, "size": 1, "title": "t"}, "status": {}});
    let expected = json!({"spec": {"a": 2, "unknown": true, "title": "t"}, "status": {"u": 1}});
    assert_eq!(applied(received.clone(), &before, &after), expected);
    let after = json!({"spec": {"a": 1, "size": 7}, "status": {}});
    let expected = json!({"spec": {"a": 1, "size": 7, "unknown": true}, "status": {"u": 1}});
    assert_eq!(applied(received, &before, &after), expected, "a changed default is added");
}

#[test]
fn removed_fields_are_removed() {
    let before = json!({"spec": {"a": 1, "b": {"c": 1}}});
    assert_eq!(applied(before.clone(), &before, &json!({"spec": {"a": 1}})), json!({"spec": {"a": 1}}));
    let received = json!({"spec": {}});
    let before = json!({"spec": {"default": 1}});
    assert_eq!(applied(received.clone(), &before, &json!({"spec": {}})), received);
    assert_eq!(applied(json!({"a": {"b": 1}}), &json!({"a": {"b": 1}}), &json!({"a": 5})), json!({"a": 5}));
}

#[test]
fn a_field_that_the_type_left_out_keeps_what_is_in_it() {
    let received = json!({"spec": {"u": 1}, "list": [{"u": 1}]});
    let after = json!({"spec": {"a": 1}});
    assert_eq!(applied(received.clone(), &json!({}), &after)["spec"], json!({"u": 1, "a": 1}));
    assert!(denied(&received, &json!({}), &json!({"list": [{"a": 1}]})).contains("cannot change list: "));
}

#[test]
fn items_of_lists_keep_their_unknown_fields() {
    let received = json!([{"name": "a", "u": 1}, {"name": "b", "u": 2}]);
    let before = json!([{"name": "a"}, {"name": "b"}]);
    let after = json!([{"name": "sidecar"}, {"name": "b", "image": "x"}, {"name": "a"}]);
    let expected = json!([{"name": "sidecar"}, {"name": "b", "u": 2, "image": "x"}, {"name": "a", "u": 1}]);
    assert_eq!(applied(received.clone(), &before, &after), expected);
    assert_eq!(applied(received, &before, &json!([{"name": "b"}])), json!([{"name": "b", "u": 2}]));

    let unnamed = json!([{"x": 1, "u": 1}, {"x": 2, "u": 2}]);
    let before = json!([{"x": 1}, {"x": 2}]);
    let expected = json!([{"x": 1, "u": 1}, {"x": 2, "u": 2, "y": 1}]);
    assert_eq!(applied(unnamed.clone(), &before, &json!([{"x": 1}, {"x": 2, "y": 1}])), expected);
    assert_eq!(applied(unnamed, &before, &json!([{"x": 2}])), json!([{"x": 2, "u": 2}]));
}

#[test]
fn an_unknown_field_does_not_move_to_an_item_of_the_same_name() {
    let received = json!({"spec": {"env": [{"name": "a", "x": 1, "u": 1}, {"name": "a", "x": 2, "u": 2}]}});
    let env = |list: Value| json!({"spec": {"env": list}});
    let before = env(json!([{"name": "a", "x": 1}, {"name": "a", "x": 2}]));
    let after = env(json!([{"name": "a", "x": 2}, {"name": "a", "x": 1}]));
    let expected = env(json!([{"name": "a", "x": 2, "u": 2}, {"name": "a", "x": 1, "u": 1}]));
    assert_eq!(applied(received.clone(), &before, &after), expected);
    let message = denied(&received, &before, &env(json!([{"name": "a", "x": 3}])));
    let expected = "the webhook cannot change spec.env: its type lacks the fields [0].u, and it is not certain which of the changed \
                    items they belong to. Add the fields to the type of the webhook, keep the keys of the items, or use DynamicObject";
    assert_eq!(message, expected);
}

#[test]
fn managed_fields_say_the_keys_of_a_list() {
    let object = |list: Value| json!({"spec": {"hooks": list}});
    let mut received = object(json!([{"id": 1, "name": "a", "u": 1}, {"id": 2, "name": "b", "u": 2}]));
    let before = object(json!([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]));
    let after = object(json!([{"id": 2, "name": "a"}, {"id": 1, "name": "b"}]));
    received["metadata"] = json!({"managedFields": [{"manager": "other", "fieldsV1": {"f:metadata": {}}}, {"manager": "me",
        "fieldsV1": {"f:spec": {"f:hooks": {"k:{\"id\":1}": {".": {}, "f:id": {}}, "k:{\"id\":2}": {}}}}}]});
    let expected = json!([{"id": 2, "name": "a", "u": 2}, {"id": 1, "name": "b", "u": 1}]);
    assert_eq!(applied(received, &before, &after)["spec"]["hooks"], expected);
}

#[test]
fn a_list_that_the_type_sorts_or_shortens_is_not_matched_by_place() {
    let object = |list: Value| json!({"spec": {"set": list}});
    let received = object(json!([{"x": 2, "u": 2}, {"x": 1, "u": 1}]));
    let sorted = object(json!([{"x": 1}, {"x": 2}]));
    assert!(denied(&received, &sorted, &object(json!([{"x": 1}, {"x": 2}, {"x": 3}]))).contains("[0], [1]"));
    let mut elsewhere = sorted.clone();
    elsewhere["size"] = json!(1);
    assert_eq!(
        applied(received, &sorted, &elsewhere)["spec"]["set"],
        json!([{"x": 2, "u": 2}, {"x": 1, "u": 1}])
    );
    let (twice, once) = (object(json!([2, 1, 2])), object(json!([1, 2])));
    assert_eq!(
        applied(twice, &once, &object(json!([1, 2, 3]))),
        object(json!([1, 2, 3])),
        "no fields, nothing to lose"
    );
}

#[test]
fn another_form_of_a_value_is_no_other_item() {
    let received =
        json!([{"at": "2030-01-01T00:00:00.0Z", "u": 1}, {"at": "2030-01-02T00:00:00.0Z", "u": 2}]);
    let before = json!([{"at": "2030-01-01T00:00:00Z"}, {"at": "2030-01-02T00:00:00Z"}]);
    let after = json!([{"at": "2030-01-02T00:00:00Z"}]);
    assert_eq!(applied(received, &before, &after), json!([{"at": "2030-01-02T00:00:00.0Z", "u": 2}]));
}

#[test]
fn names_with_slashes_and_tildes_are_escaped() {
    let received = json!({"metadata": {"labels": {"a/b": "1", "c~d": "2"}}});
    let after = json!({"metadata": {"labels": {"a/b": "3", "e/~f": "4"}}});
    assert_eq!(applied(received.clone(), &received, &after), after);
}

/// An item with a field `u` that the type does not have. `id` follows it through all edits.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    id: Option<usize>,
    key: u32,
    x: u32,
    y: Option<u32>,
}

#[derive(Clone, Debug)]
enum Edit {
    Remove(usize),
    Swap(usize, usize),
    SetX(usize),
    SetY(usize),
    Rename(usize),
    Insert(usize),
}

#[derive(Clone, Debug)]
enum Last {
    Nothing,
    Copy(usize, usize),
    SameKey(usize, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let at = 0..6_usize;
    let edit = prop_oneof![
        at.clone().prop_map(Edit::Remove),
        (at.clone(), at.clone()).prop_map(|(a, b)| Edit::Swap(a, b)),
        at.clone().prop_map(Edit::SetX),
        at.clone().prop_map(Edit::SetY),
        at.clone().prop_map(Edit::Rename),
        at.prop_map(Edit::Insert),
    ];
    prop::collection::vec(edit, 0..4)
}

fn last() -> impl Strategy<Value = Last> {
    let two = (0..6_usize, 0..6_usize);
    prop_oneof![
        2 => Just(Last::Nothing),
        1 => two.clone().prop_map(|(from, to)| Last::Copy(from, to)),
        1 => two.prop_map(|(from, to)| Last::SameKey(from, to)),
    ]
}

fn edited(mut items: Vec<Item>, edits: &[Edit], last: &Last) -> Vec<Item> {
    let original = items.clone();
    let mut fresh = 1000;
    let mut next = || {
        fresh += 1;
        fresh
    };
    for edit in edits {
        let len = items.len();
        match *edit {
            Edit::Insert(at) => {
                items.insert(at % (len + 1), Item { id: None, key: next(), x: next(), y: None })
            }
            _ if len == 0 => {}
            Edit::Remove(at) => drop(items.remove(at % len)),
            Edit::Swap(a, b) => items.swap(a % len, b % len),
            Edit::SetX(at) => items[at % len].x = next(),
            Edit::SetY(at) => items[at % len].y = Some(next()),
            Edit::Rename(at) => items[at % len].key = next(),
        }
    }
    let len = items.len();
    match *last {
        Last::Copy(from, to) if len > 0 => {
            let copy = Item { id: None, ..items[from % len].clone() };
            let like = |item: &&Item| (item.x, item.y) == (copy.x, copy.y);
            // One that takes the place of its twin cannot be told from it.
            if original.iter().filter(like).count() > items.iter().filter(like).count() {
                return items;
            }
            items.insert(to % (len + 1), copy);
        }
        Last::SameKey(from, to) if len > 0 => {
            let other = Item { id: None, key: items[from % len].key, x: next(), y: None };
            items.insert(to % (len + 1), other);
        }
        _ => {}
    }
    items
}

fn typed(item: &Item, key: Option<&str>) -> Value {
    let mut json = json!({"x": item.x});
    if let Some(key) = key {
        json[key] = json!(item.key);
    }
    if let Some(y) = item.y {
        json["y"] = json!(y);
    }
    json
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Every unknown field stays with its item, or the request is denied.
    #[test]
    fn no_unknown_field_moves_or_is_lost(
        items in prop::collection::vec((1..4_u32, 1..4_u32, prop::option::of(1..3_u32), any::<bool>()), 0..5),
        edits in edits(),
        last in last(),
        key in prop::option::of(prop_oneof![Just("name"), Just("id")]),
    ) {
        let unknown: Vec<bool> = items.iter().map(|item| item.3).collect();
        let items: Vec<Item> =
            items.into_iter().enumerate().map(|(id, (key, x, y, _))| Item { id: Some(id), key, x, y }).collect();
        let list = |items: &[Item]| Value::from_iter(items.iter().map(|item| typed(item, key)));
        let (before, edited) = (list(&items), edited(items, &edits, &last));
        let after = list(&edited);
        let mut received = before.clone();
        for (at, _) in unknown.iter().enumerate().filter(|(_, unknown)| **unknown) {
            received[at]["u"] = json!(at);
        }
        let in_object = |list: &Value| json!({"list": list});
        let mut object = in_object(&received);
        if key == Some("id") {
            let items = before.as_array().into_iter().flatten();
            let nodes: serde_json::Map<_, _> =
                items.map(|item| (format!("k:{}", json!({"id": item["id"]})), json!({}))).collect();
            object["metadata"] = json!({"managedFields": [{"fieldsV1": {"f:list": nodes}}]});
        }
        let patch = match changes(&object, &in_object(&before), &in_object(&after)) {
            Ok(patch) => patch,
            Err(_) => {
                prop_assert!(unknown.contains(&true) && before != after, "denied without need");
                return Ok(());
            }
        };
        json_patch::patch(&mut object, &patch).unwrap();
        let result = object["list"].as_array().unwrap().clone();
        let mut without_unknown = result.clone();
        without_unknown.iter_mut().for_each(|item| drop(item.as_object_mut().unwrap().remove("u")));
        prop_assert_eq!(Value::from(without_unknown), after, "the handler's change is made");
        for (at, item) in result.iter().enumerate() {
            let Some(found) = item["u"].as_u64() else { continue };
            // Items that the type cannot tell apart may stand for each other.
            let twin = edited[at].id.is_some_and(|id| before[id] == before[found as usize]);
            let is_own = edited[at].id == Some(found as usize) || twin && list(&edited)[at] == before[found as usize];
            prop_assert!(is_own, "{found} moved: {received} -> {}", Value::from(result));
        }
        for id in edited.iter().filter_map(|item| item.id).filter(|id| unknown[*id]) {
            let stayed = result.iter().any(|item| item["u"] == json!(id));
            prop_assert!(stayed, "{id} was lost: {received} -> {}", Value::from(result));
        }
    }
}
