//! Bodies: good objects with some of it gone wrong, patches of them, and what is neither.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    kinds::KINDS,
    tape::Tape,
    words::{FIELDS, JUNK, LITERALS, TEXTS},
};

/// What `kubectl` sends in protobuf.
static RECORDED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let lines = include_str!("../../../../src/handlers/protobuf/recorded.jsonl").lines();
    let body = |line| serde_json::from_str::<Value>(line).ok()?["body"].as_str().map(str::to_owned);
    lines.filter_map(|line| BASE64_STANDARD.decode(body(line)?).ok()).collect()
});

/// An object, or something like it; as JSON, sometimes as YAML.
pub(crate) fn object(tape: &mut Tape<'_>, good: &str) -> (&'static str, Bytes) {
    let body = mutated(tape, good).to_string();
    if tape.one_in(8) { ("application/yaml", body.into()) } else { ("application/json", body.into()) }
}

/// A patch of an object, of any format.
pub(crate) fn patch(tape: &mut Tape<'_>, good: &str) -> (&'static str, Bytes) {
    let kind = tape.pick(&[
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "application/apply-patch+yaml",
    ]);
    let body = match kind {
        "application/json-patch+json" => operations(tape, good),
        "application/apply-patch+yaml" => mutated(tape, good),
        _ => {
            let object = mutated(tape, good);
            part(tape, object)
        }
    };
    (kind, body.to_string().into())
}

/// Nothing that anybody would want.
pub(crate) fn junk(tape: &mut Tape<'_>) -> (&'static str, Bytes) {
    let body = match tape.next() % 7 {
        0 => tape.bytes().to_vec().into(),
        1 => "[".repeat(tape.next() * 40).into(),
        2 => "a: &a [*a, *a]\n".repeat(tape.next() % 9).into(),
        3 => ["{\"metadata\":", &"{\"a\":".repeat(tape.next() * 20)].concat().into(),
        4 => value(tape, 0).to_string().into(),
        _ => tape.pick(&JUNK).into(),
    };
    ("application/json", body)
}

/// A recorded protobuf body, with some of its bytes changed.
pub(crate) fn protobuf(tape: &mut Tape<'_>) -> Bytes {
    let mut body = RECORDED[tape.next() % RECORDED.len()].clone();
    for _ in 0..tape.next() % 4 {
        let at = (tape.next() * 256 + tape.next()) % body.len().max(1);
        match tape.next() % 3 {
            0 => body.truncate(at),
            1 => body.insert(at.min(body.len()), u8::try_from(tape.next()).unwrap_or_default()),
            _ => body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << (at % 8)),
        }
    }
    body.into()
}

fn mutated(tape: &mut Tape<'_>, good: &str) -> Value {
    let mut object: Value = serde_json::from_str(good).unwrap_or_default();
    if tape.one_in(3) {
        object["metadata"]["name"] = tape.pick(&["a", "b", "c", "A", ""]).into();
    }
    for _ in 0..(tape.next() % 8).saturating_sub(3) {
        change(tape, &mut object);
    }
    object
}

/// Changes something, somewhere.
fn change(tape: &mut Tape<'_>, object: &mut Value) {
    let mut at = object;
    for _ in 0..tape.next() % 8 {
        let inner = match at {
            Value::Object(members) if !members.is_empty() => members.len(),
            Value::Array(items) if !items.is_empty() => items.len(),
            _ => break,
        };
        let nth = tape.next() % inner;
        at = match at {
            Value::Object(members) => members.values_mut().nth(nth).expect("there are as many"),
            Value::Array(items) => &mut items[nth],
            _ => unreachable!("only these have an inside"),
        };
    }
    match (tape.next() % 5, at) {
        (0 | 1, Value::Object(members)) => {
            members.insert(tape.pick(&FIELDS).into(), value(tape, 2));
        }
        (2, Value::Object(members)) => {
            let key = members.keys().nth(tape.next() % members.len().max(1)).cloned();
            members.remove(&key.unwrap_or_default());
        }
        (0 | 1, Value::Array(items)) => items.push(value(tape, 2)),
        (2, Value::Array(items)) if !items.is_empty() => {
            let again = items[tape.next() % items.len()].clone();
            items.push(again);
        }
        (3, Value::Number(number)) => {
            let text = format!("{}{number}", tape.next());
            *number = serde_json::from_str(&text).unwrap_or_else(|_| 7.into());
        }
        (3, Value::String(text)) => text.push_str(tape.pick(&TEXTS)),
        (_, at) => *at = value(tape, 1),
    }
}

/// Some of the members of an object.
fn part(tape: &mut Tape<'_>, object: Value) -> Value {
    let Value::Object(members) = object else { return object };
    let mut kept = Map::new();
    for (key, value) in members {
        match tape.next() % 4 {
            0 => {}
            1 => drop(kept.insert(key, Value::Null)),
            _ => drop(kept.insert(key, value)),
        }
    }
    kept.into()
}

/// A JSON patch.
fn operations(tape: &mut Tape<'_>, good: &str) -> Value {
    let object: Value = serde_json::from_str(good).unwrap_or_default();
    let mut all = Vec::new();
    for _ in 0..tape.next() % 5 {
        let op = tape.pick(&["add", "add", "replace", "remove", "test", "move", "copy", "nonsense"]);
        let (path, found) = pointer(tape, &object);
        let (from, _) = pointer(tape, &object);
        let value = if op == "test" || tape.one_in(3) { found } else { value(tape, 2) };
        all.push(json!({"op": op, "path": path, "from": from, "value": value}));
    }
    if tape.one_in(16) { value(tape, 0) } else { all.into() }
}

/// A place in an object, or beside it, and what is there.
fn pointer(tape: &mut Tape<'_>, object: &Value) -> (String, Value) {
    let (mut path, mut at) = (String::new(), object);
    for _ in 0..tape.next() % 7 {
        match at {
            Value::Object(members) if !members.is_empty() => {
                let (key, inner) =
                    members.iter().nth(tape.next() % members.len()).expect("there are as many");
                path.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1")));
                at = inner;
            }
            Value::Array(items) if !items.is_empty() => {
                let nth = tape.next() % items.len();
                path.push_str(&format!("/{nth}"));
                at = &items[nth];
            }
            _ => break,
        }
    }
    if tape.one_in(5) {
        path.push_str(tape.pick(&[
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

/// Any value: a word, a list, an object with members that objects have, or another good object.
fn value(tape: &mut Tape<'_>, depth: usize) -> Value {
    match tape.next() % if depth > 5 { 6 } else { 11 } {
        0..=2 => serde_json::from_str(tape.pick(&LITERALS)).unwrap_or_default(),
        3..=5 => tape.pick(&TEXTS).into(),
        6 => (0..tape.next() % 4).map(|_| value(tape, depth + 1)).collect(),
        7 if depth < 3 => serde_json::from_str(tape.pick(&KINDS).object).unwrap_or_default(),
        _ => {
            let members =
                (0..tape.next() % 6).map(|_| (tape.pick(&FIELDS).to_owned(), value(tape, depth + 1)));
            Value::Object(members.collect())
        }
    }
}
