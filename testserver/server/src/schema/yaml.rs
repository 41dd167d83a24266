//! YAML bodies: their first document, of which the last value of a repeated key is used.

use std::{collections::HashSet, fmt};

use kube_core::number::json_number;
use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::problems_in_order;

/// Reads the first document of a text, which is all that Go reads.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    if let Some(value) = plain_json(text) {
        return Ok(value);
    }
    let document = first_document(text);
    let is_newer = |line: &str| line.starts_with("%YAML") && line.split_whitespace().nth(1) != Some("1.1");
    if document.lines().any(is_newer) {
        return Err("yaml: found incompatible YAML document".into());
    }
    let value = serde_saphyr::from_str_with_options(document, options());
    value.map(whole_numbers).map_err(|error| error.to_string())
}

/// Reports such as `line 9: key "foo" already set in map`, with the line of the value, after those inside of it. Empty if the text is not
/// YAML.
pub(crate) fn repeated_keys(text: &str) -> Vec<String> {
    if plain_json(text).is_some() && problems_in_order(text.as_bytes(), &[]).is_empty() {
        return Vec::new();
    }
    let node = serde_saphyr::from_str_with_options::<Node>(first_document(text), options());
    node.map(|node| node.reports).unwrap_or_default()
}

/// The value of a text in JSON that is the same in YAML: what clients apply, and much faster to read. `None` for all that YAML may read in
/// another way: fractions, other characters than printable ASCII, most escapes, keys that merge or are long.
fn plain_json(text: &str) -> Option<Value> {
    let mut escaped = false;
    let text = text.trim_end_matches('\n');
    let is_plain = text.starts_with('{')
        && text.bytes().all(|byte| match std::mem::take(&mut escaped) {
            true => matches!(byte, b'"' | b'\\' | b'n' | b't'),
            false => {
                escaped = byte == b'\\';
                matches!(byte, b' '..=b'~')
            }
        });
    let value = if is_plain { serde_json::from_str(text).ok()? } else { return None };
    reads_alike(&value).then_some(value)
}

fn reads_alike(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(list) => list.iter().all(reads_alike),
        Value::Object(map) => {
            map.iter().all(|(key, value)| key != "<<" && key.len() < 1000 && reads_alike(value))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

/// The text up to the end of its first document. Blank lines, comments and directives before a marker belong to the document after it.
fn first_document(text: &str) -> &str {
    let (mut end, mut has_begun) = (0, false);
    for line in text.split_inclusive('\n') {
        let is_marker =
            |mark| line.strip_prefix(mark).is_some_and(|rest| rest.trim_start() != rest || rest.is_empty());
        if has_begun && (is_marker("---") || is_marker("...")) {
            break;
        }
        let content = line.trim_start_matches('\u{feff}');
        has_begun |=
            !content.trim().is_empty() && !content.trim_start().starts_with('#') && !content.starts_with('%');
        end += line.len();
    }
    &text[..end]
}

/// Floats without a fraction become integers, as they are in JSON that Go makes of YAML.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            Value::Number(number.as_f64().and_then(json_number).unwrap_or(number))
        }
        Value::Array(list) => list.into_iter().map(whole_numbers).collect(),
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect(),
        other => other,
    }
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins }
}

/// The reports about a value.
#[derive(Default)]
struct Node {
    reports: Vec<String>,
    scalar: bool,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

const SCALAR: Node = Node { reports: Vec::new(), scalar: true };

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let (mut seen, mut node) = (HashSet::new(), Node::default());
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Node>>()? {
            node.reports.extend(value.value.reports);
            // A text in lines of its own begins where its key is.
            let begins = if value.value.scalar { key.referenced } else { value.referenced };
            let report = format!("line {}: key {:?} already set in map", begins.line(), key.value);
            if !seen.insert(key.value) {
                node.reports.push(report);
            }
        }
        Ok(node)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut node = Node::default();
        while let Some(value) = list.next_element::<Node>()? {
            node.reports.extend(value.reports);
        }
        Ok(node)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(SCALAR)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(SCALAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_document_is_read() {
        let one = serde_json::json!({"a": 1});
        for around in [
            "# c\n---\n@",
            "\n \n---\n@",
            "%YAML 1.1\n---\n@",
            "\u{feff}---\n@",
            "\u{feff}# c\n--- # d\n@",
            "---\t\r\n@",
            "@...\nb: [",
            "@---\t\n{ [",
            "@--- {b: 2}\n",
        ] {
            assert_eq!(parse(&around.replace('@', "a: 1\n")), Ok(one.clone()), "{around:?}");
        }
        for empty in ["", "# c\n", "---\n---\na: 1\n", "---\n# c\n---\na: 1\n", "null\n---\na: 1\n"] {
            assert_eq!(parse(empty), Ok(Value::Null), "{empty:?}");
        }
        assert!(parse("%YAML 1.2\n---\na: 1\n").is_err());
        assert_eq!(repeated_keys("# c\n---\na: 1\na: 2\n---\nb: [").len(), 1);
    }

    #[test]
    fn what_is_read_as_json_is_the_same_as_yaml() {
        let same = [
            r#"{"a":"1\n2\t\"\\","b":[1,-2,true,null,{}],"c":{"d":[]},"":18446744073709551615}"#,
            "{\"a\": 1 , \"a\": {\"b\": \"# no: comment\"}}\n",
            r#"{"on": "yes", "no": "0x1f", "y": "2026-01-01", "z": "1_000"}"#,
        ];
        for text in same {
            let yaml = serde_saphyr::from_str_with_options::<Value>(text, options()).map(whole_numbers);
            assert_eq!(
                plain_json(text).map(|json| (json.clone(), json)),
                yaml.ok().map(|yaml| (yaml, parse(text).unwrap()))
            );
        }
        let others = [
            r#"{"a":1.0}"#,
            r#"{"a":"\u0041"}"#,
            r#"{"a":"\/"}"#,
            "{\"a\":\"\u{e4}\"}",
            "{\"a\":\t1}",
            "{\n}",
            r#"{"<<":{}}"#,
            r#"[1]"#,
            "{a: 1}",
            r#"{"a":1}}"#,
            r#"{"a":18446744073709551616}"#,
            "{\"a\":1}\n---\n",
        ];
        for text in others {
            assert_eq!(plain_json(text), None, "{text}");
        }
        assert_eq!(plain_json(&format!(r#"{{"{}":1}}"#, "k".repeat(2000))), None);
    }

    #[test]
    fn whole_floats_are_integers_below_1e21() {
        for (text, json) in [
            ("1e16", "10000000000000000"),
            ("-2.0", "-2"),
            ("1e19", "10000000000000000000"),
            ("1e20", "1e+20"),
            ("0.5", "0.5"),
        ] {
            assert_eq!(parse(text).unwrap().to_string(), json);
        }
    }

    /// As Kubernetes 1.37 reports them.
    #[test]
    fn repeated_keys_are_reported_with_their_lines() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yy\n  labels: {a: b, a: c, a: d}\n  labels:\n    x: y\n    x: z\ndata:\n  a: \"1\"\n  a: |\n    text\n  b: \"1\"\nlist: [{c: 1, c: 2}]\n";
        let expected = ["5 a", "5 a", "8 x", "7 labels", "11 a", "14 c"].map(|report| {
            let (line, key) = report.split_once(' ').unwrap();
            format!("line {line}: key \"{key}\" already set in map")
        });
        assert_eq!(repeated_keys(text), expected);
        assert_eq!(repeated_keys(r#"{"data":{"a":"1","a":null}}"#), ["line 1: key \"a\" already set in map"]);
        assert!(repeated_keys("a: 1\nb: [").is_empty() && repeated_keys("a: {b: 1}\nb: 2").is_empty());
    }
}
