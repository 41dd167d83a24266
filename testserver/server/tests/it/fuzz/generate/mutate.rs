//! Bodies: mutated valid objects, patches of them, and garbage.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    input::Input,
    kinds::KINDS,
    words::{FIELDS, JUNK, LITERALS, TEXTS},
};

/// Recorded protobuf bodies of `kubectl`.
static RECORDED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let lines = include_str!("../../../../src/protobuf/recorded/kubectl.jsonl").lines();
    let body = |line| serde_json::from_str::<Value>(line).ok()?["body"].as_str().map(str::to_owned);
    lines.filter_map(|line| BASE64_STANDARD.decode(body(line)?).ok()).collect()
});

/// A mutated object, as JSON or sometimes YAML.
pub(crate) fn object(input: &mut Input<'_>, good: &str) -> (&'static str, Bytes) {
    let body = mutated(input, good).to_string();
    if input.one_in(8) { ("application/yaml", body.into()) } else { ("application/json", body.into()) }
}

/// A patch of an object in any format.
pub(crate) fn patch(input: &mut Input<'_>, good: &str) -> (&'static str, Bytes) {
    let kind = input.pick(&[
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/apply-patch+yaml",
    ]);
    let body = match kind {
        "application/json-patch+json" => operations(input, good),
        "application/apply-patch+yaml" => mutated(input, good),
        _ => {
            let object = mutated(input, good);
            part(input, object)
        }
    };
    (kind, body.to_string().into())
}

/// Garbage.
pub(crate) fn junk(input: &mut Input<'_>) -> (&'static str, Bytes) {
    let body = match input.next() % 7 {
        0 => input.bytes().to_vec().into(),
        1 => "[".repeat(input.next() * 40).into(),
        2 => "a: &a [*a, *a]\n".repeat(input.next() % 9).into(),
        3 => ["{\"metadata\":", &"{\"a\":".repeat(input.next() * 20)].concat().into(),
        4 => value(input, 0).to_string().into(),
        _ => input.pick(&JUNK).into(),
    };
    ("application/json", body)
}

/// A recorded protobuf body with mutated bytes.
pub(crate) fn protobuf(input: &mut Input<'_>) -> Bytes {
    let mut body = RECORDED[input.next() % RECORDED.len()].clone();
    for _ in 0..input.next() % 4 {
        let at = (input.next() * 256 + input.next()) % body.len().max(1);
        match input.next() % 3 {
            0 => body.truncate(at),
            1 => body.insert(at.min(body.len()), u8::try_from(input.next()).unwrap_or_default()),
            _ => body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
        }
    }
    body.into()
}

fn mutated(input: &mut Input<'_>, good: &str) -> Value {
    let mut object: Value = serde_json::from_str(good).unwrap_or_default();
    if input.one_in(3) {
        object["metadata"]["name"] = input.pick(&["a", "b", "c", "A", ""]).into();
    }
    for _ in 0..(input.next() % 8).saturating_sub(3) {
        change(input, &mut object);
    }
    object
}

/// Mutates a random value.
fn change(input: &mut Input<'_>, object: &mut Value) {
    let mut at = object;
    for _ in 0..input.next() % 8 {
        let inner = match at {
            Value::Object(members) if !members.is_empty() => members.len(),
            Value::Array(items) if !items.is_empty() => items.len(),
            _ => break,
        };
        let nth = input.next() % inner;
        at = match at {
            Value::Object(members) => members.values_mut().nth(nth).expect("there are as many"),
            Value::Array(items) => &mut items[nth],
            _ => unreachable!("only these have an inside"),
        };
    }
    match (input.next() % 5, at) {
        (0 | 1, Value::Object(members)) => {
            members.insert(input.pick(&FIELDS).into(), value(input, 2));
        }
        (2, Value::Object(members)) => {
            let key = members.keys().nth(input.next() % members.len().max(1)).cloned();
            members.remove(&key.unwrap_or_default());
        }
        (0 | 1, Value::Array(items)) => items.push(value(input, 2)),
        (2, Value::Array(items)) if !items.is_empty() => {
            let again = items[input.next() % items.len()].clone();
            items.push(again);
        }
        (3, Value::Number(number)) => {
            let text = format!("{}{number}", input.next());
            *number = serde_json::from_str(&text).unwrap_or_else(|_| 7.into());
        }
        (3, Value::String(text)) => text.push_str(input.pick(&TEXTS)),
        (_, at) => *at = value(input, 1),
    }
}

/// A subset of an object's members.
fn part(input: &mut Input<'_>, object: Value) -> Value {
    let Value::Object(members) = object else { return object };
    let mut kept = Map::new();
    for (key, value) in members {
        match input.next() % 4 {
            0 => {}
            1 => drop(kept.insert(key, Value::Null)),
            _ => drop(kept.insert(key, value)),
        }
    }
    kept.into()
}

/// A JSON patch.
fn operations(input: &mut Input<'_>, good: &str) -> Value {
    let object: Value = serde_json::from_str(good).unwrap_or_default();
    let mut all = Vec::new();
    for _ in 0..input.next() % 5 {
        let op = input.pick(&["add", "add", "replace", "remove", "test", "move", "copy", "nonsense"]);
        let (path, found) = pointer(input, &object);
        let (from, _) = pointer(input, &object);
        let value = if op == "test" || input.one_in(3) { found } else { value(input, 2) };
        all.push(json!({"op": op, "path": path, "from": from, "value": value}));
    }
    if input.one_in(16) { value(input, 0) } else { all.into() }
}

/// A path in or beside an object, and its value.
fn pointer(input: &mut Input<'_>, object: &Value) -> (String, Value) {
    let (mut path, mut at) = (String::new(), object);
    for _ in 0..input.next() % 7 {
        match at {
            Value::Object(members) if !members.is_empty() => {
                let (key, inner) =
                    members.iter().nth(input.next() % members.len()).expect("there are as many");
                path.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
                at = inner;
            }
            Value::Array(items) if !items.is_empty() => {
                let nth = input.next() % items.len();
                path.push_str(&format!("/{nth}"));
                at = &items[nth];
            }
            _ => break,
        }
    }
    if input.one_in(5) {
        path.push_str(input.pick(&[
            "/-",
            "/0",
            "/-1",
            "/99999999999999999999",
            "/no",
            "/",
            "~",
            "/a~1b~0",
            "/metadata/name",
        ]));
    }
    (path, at.clone())
}

/// A random value: a word, a list, an object with typical members, or a valid object.
fn value(input: &mut Input<'_>, depth: usize) -> Value {
    match input.next() % if depth > 5 { 6 } else { 11 } {
        0..=2 => serde_json::from_str(input.pick(&LITERALS)).unwrap_or_default(),
        3..=5 => input.pick(&TEXTS).into(),
        6 => (0..input.next() % 4).map(|_| value(input, depth + 1)).collect(),
        7 if depth < 3 => serde_json::from_str(input.pick(&KINDS).object).unwrap_or_default(),
        _ => {
            let members =
                (0..input.next() % 6).map(|_| (input.pick(&FIELDS).to_owned(), value(input, depth + 1)));
            Value::Object(members.collect())
        }
    }
}
