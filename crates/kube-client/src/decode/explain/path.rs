//! Where in the JSON text an error of serde_json is.

use std::ops::Range;

use crate::decode::read::read_plain;

/// The path of the invalid field, such as `spec.containers[0].image`. `None` if the error is at the whole value, or has no position.
///
/// It is found in the text, by the position in the error, without decoding the value once more. For a missing field this is the path of its
/// parent; the error contains the field's name.
pub(super) fn field_path(json: &[u8], error: &serde_json::Error) -> Option<String> {
    let mut path = String::new();
    for container in open_at(&json[..offset(json, error)?]) {
        match container {
            Container::Map { key: Some(key) } => {
                // An error within a key is at the map.
                let Ok(key) = read_plain::<String>(&json[key]) else { break };
                let separator = if path.is_empty() { "" } else { "." };
                path.push_str(separator);
                path.push_str(&key);
            }
            Container::Map { key: None } => {}
            Container::Array { index } => path.push_str(&format!("[{index}]")),
        }
    }
    (!path.is_empty()).then_some(path)
}

/// How much of the text serde_json had read. Its lines and columns count from 1, and columns count bytes.
fn offset(json: &[u8], error: &serde_json::Error) -> Option<usize> {
    let lines_before = error.line().checked_sub(1)?;
    let mut ends = memchr::memchr_iter(b'\n', json);
    let start = match lines_before.checked_sub(1) {
        None => 0,
        Some(last) => ends.nth(last)? + 1,
    };
    Some(json.len().min(start + error.column()))
}

/// A map or an array that is not closed.
enum Container {
    /// `key` is that of the current value, with its quotes.
    Map { key: Option<Range<usize>> },
    /// `index` is that of the current element.
    Array { index: usize },
}

/// The containers that are open at the end of `text`.
fn open_at(text: &[u8]) -> Vec<Container> {
    let (mut open, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        let end = if *byte == b'"' { end_of_string(text, at) } else { at + 1 };
        match (byte, open.last_mut()) {
            (b'{', _) => open.push(Container::Map { key: None }),
            (b'[', _) => open.push(Container::Array { index: 0 }),
            (b'}' | b']', _) => drop(open.pop()),
            (b',', Some(Container::Map { key })) => *key = None,
            (b',', Some(Container::Array { index })) => *index += 1,
            (b'"', Some(Container::Map { key: key @ None })) => *key = Some(at..end),
            _ => {}
        }
        at = end;
    }
    open
}

/// The offset behind the string that begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::api::core::v1::Pod;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn path<T: DeserializeOwned>(json: &str) -> String {
        let Err(error) = serde_json::from_str::<T>(json) else { panic!("{json} is valid") };
        field_path(json.as_bytes(), &error).unwrap_or_default()
    }

    #[test]
    fn the_path_is_that_of_the_invalid_value() {
        for (json, expected) in [
            (r#"{"spec":{"containers":[{"name":"a"},{"name":5}]}}"#, "spec.containers[1].name"),
            (r#"{"spec":{"containers":[{"name":"a"},{"name":["x"]}]}}"#, "spec.containers[1].name"),
            (r#"{"spec":{"containers":{"name":"a"}}}"#, "spec.containers"),
            (r#"{"spec":{"containers":[[]]}}"#, "spec.containers[0]"),
            (r#"{"spec":{"hostNetwork":"yes","containers":[]}}"#, "spec.hostNetwork"),
            (r#"{"spec":{"nodeSelector":{"a/b.c\"":{}}}}"#, "spec.nodeSelector.a/b.c\""),
            ("{\n \"metadata\": {\"labels\": {\"}\": \"{\",\n  \"x\" :\n   true}}}", "metadata.labels.x"),
            (r#"{"status":{"startTime":"yesterday"}}"#, "status.startTime"),
            ("[]", ""),
            ("5", ""),
        ] {
            assert_eq!(path::<Pod>(json), expected, "{json}");
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only decoded")]
    struct Strict {
        size: Option<u8>,
        kind: Option<Kind>,
        pair: Option<(u8, String)>,
        by_number: Option<BTreeMap<u8, Vec<Inner>>>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only decoded")]
    struct Inner {
        needed: String,
    }

    #[derive(Debug, Deserialize)]
    enum Kind {
        A,
        B {
            #[allow(dead_code, reason = "only decoded")]
            value: u8,
        },
    }

    #[test]
    fn a_missing_field_is_reported_at_its_parent_and_other_errors_where_they_are() {
        for (json, expected) in [
            (r#"{"by_number":{"1":[{"needed":""},{"other":[1]}]}}"#, "by_number.1[1]"),
            (r#"{"by_number":{"x":[]}}"#, "by_number"),
            (r#"{"size":300}"#, "size"),
            (r#"{"kind":"C"}"#, "kind"),
            (r#"{"kind":{"B":{"value":-1}}}"#, "kind.B.value"),
            (r#"{"pair":[1]}"#, "pair"),
            (r#"{"pair":[1,2]}"#, "pair[1]"),
            (r#"{"size":3,"unknown":5}"#, "unknown"),
        ] {
            assert_eq!(path::<Strict>(json), expected, "{json}");
        }
    }

    #[test]
    fn an_error_without_a_position_has_no_path() {
        let error = <serde_json::Error as serde::de::Error>::custom("panicked");
        assert_eq!(field_path(br#"{"a":1}"#, &error), None);
    }

    proptest! {
        #[test]
        fn any_text_and_position_have_a_path_or_none(text in r#"[{}\[\]",:\\a1\n ]{0,40}"#) {
            if let Err(error) = serde_json::from_str::<Strict>(&text) {
                drop(field_path(text.as_bytes(), &error));
            }
            if let Err(error) = serde_json::from_str::<Strict>("{\n\n\n\n\"size\":true}") {
                drop(field_path(text.as_bytes(), &error));
            }
        }
    }
}
