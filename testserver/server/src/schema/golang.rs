//! Go's formats of values, for messages of the genuine server.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Number, Value};

/// Reads JSON as Go does, with its error.
pub(crate) fn parse(text: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(text).map_err(|error| syntax_error(text, &error))
}

/// What Go says of a text that is no JSON.
fn syntax_error(text: &[u8], error: &serde_json::Error) -> String {
    let message = error.to_string();
    if error.is_eof() {
        return "unexpected end of JSON input".into();
    }
    let line = text.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    // As in Go, a byte of a longer character stands for itself.
    let character = line.get(error.column().saturating_sub(1)).copied().map_or(' ', char::from);
    let places = [
        ("trailing characters", "after top-level value"),
        ("expected value", "looking for beginning of value"),
        ("key must be a string", "looking for beginning of object key string"),
        ("expected `:`", "after object key"),
        ("expected `,` or `}`", "after object key:value pair"),
        ("expected `,` or `]`", "after array element"),
        ("invalid number", "in numeric literal"),
    ];
    let place = places.into_iter().find(|(ours, _)| message.starts_with(ours));
    place.map_or(message.clone(), |(_, place)| format!("invalid character {character:?} {place}"))
}

/// The Go package in which the server has the kinds of a group.
pub(crate) fn package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        "internal.apiserver.k8s.io" => "apiserverinternal",
        group => group.split('.').next().unwrap_or_default(),
    }
}

/// Go's `%v`: `map[a:1 b:[x y]]`.
pub(crate) fn plain(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Array(list) => format!("[{}]", join(list.iter().map(plain).collect())),
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            format!("map[{}]", join(members.iter().map(|(k, v)| format!("{k}:{}", plain(v))).collect()))
        }
        Value::Number(number) => float(number),
        Value::Bool(value) => value.to_string(),
    }
}

/// Go's `%#v`: `map[string]interface {}{"a":1, "b":[]interface {}{"x"}}`.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            format!("[]interface {{}}{{{}}}", list.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.iter().map(|(name, value)| format!("{}:{}", quoted(name), syntax(value)));
            format!("map[string]interface {{}}{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => plain(other),
    }
}

/// Go's `%#v` of a slice of strings, which is nil if it is empty.
pub(crate) fn strings(list: &[String]) -> String {
    if list.is_empty() {
        return "[]string(nil)".into();
    }
    format!("[]string{{{}}}", list.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}

/// The same of a map of such slices.
pub(crate) fn string_lists(map: &BTreeMap<String, Vec<String>>) -> String {
    if map.is_empty() {
        return "map[string][]string(nil)".into();
    }
    let members = map.iter().map(|(name, list)| format!("{}:{}", quoted(name), strings(list)));
    format!("map[string][]string{{{}}}", members.collect::<Vec<_>>().join(", "))
}

/// A number; whole floats have no fraction.
fn float(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e21 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

/// Go's `%q`.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out += "\\a",
            '\u{8}' => out += "\\b",
            '\u{b}' => out += "\\v",
            '\u{c}' => out += "\\f",
            '\'' => out.push(c),
            c if c < ' ' && !matches!(c, '\n' | '\r' | '\t') || c == '\u{7f}' => {
                out += &format!("\\x{:02x}", u32::from(c));
            }
            c => match c.escape_debug().to_string() {
                escaped if escaped.starts_with("\\u") => out += &format!("\\u{:04x}", u32::from(c)),
                escaped => out += &escaped,
            },
        }
    }
    out + "\""
}

/// Whether Go reads the text as a duration: `1h30m`, `-1.5s`, `0`.
pub(crate) fn is_duration(text: &str) -> bool {
    static DURATION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$")
            .expect("invariant: a constant pattern")
    });
    DURATION.is_match(text)
}

/// The JSON type, as Go's decoder names it in its errors.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The Go type of a decoded value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if !n.is_i64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn maps_are_sorted_and_unquoted() {
        assert_eq!(
            plain(&json!({"b": [1, "x y", null], "a": {"z": true}})),
            "map[a:map[z:true] b:[1 x y <nil>]]"
        );
    }
}
