//! Duplicate keys of YAML texts, of which the last one is used.

use std::{collections::HashSet, fmt};

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

/// Reports such as `line 9: key "foo" already set in map`, with the line of the value, after those inside of it. Empty if the text is not
/// YAML.
pub(crate) fn repeated_keys(text: &str) -> Vec<String> {
    serde_saphyr::from_str_with_options::<Node>(text, options()).map(|node| node.reports).unwrap_or_default()
}

/// Reads the last value of a repeated key.
pub(crate) fn options() -> serde_saphyr::Options {
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
