//! Duplicate fields of JSON texts, which a parser does not report, and their order among unknown fields.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeSet, HashSet},
    fmt,
};

use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Reports of duplicate and unknown fields, such as `duplicate field "spec.ports[0].foo"`, in the order of the text. As Go's decoder of
/// types, it passes over
/// the values of unknown fields. Empty if the text is not JSON.
pub(crate) fn problems_in_order(json: &[u8], unknown: &[String]) -> Vec<String> {
    find(json, unknown)
        .into_iter()
        .map(|Problem { path, unknown }| {
            let what = if unknown { "unknown" } else { "duplicate" };
            format!("{what} field {path:?}")
        })
        .collect()
}

fn find(json: &[u8], unknown: &[String]) -> Vec<Problem> {
    let unknown = unknown.iter().map(String::as_str).collect();
    let search = Search { unknown: &unknown, problems: &RefCell::default() };
    let mut json = serde_json::Deserializer::from_slice(json);
    // Syntax errors are reported where the content is parsed.
    let read = JsonPosition { above: None, step: Segment::Member(""), search }.deserialize(&mut json);
    if read.is_ok() { search.problems.take() } else { Vec::new() }
}

struct Problem {
    path: String,
    /// Unknown, else duplicate.
    unknown: bool,
}

#[derive(Clone, Copy)]
struct Search<'p> {
    unknown: &'p HashSet<&'p str>,
    problems: &'p RefCell<Vec<Problem>>,
}

impl Search<'_> {
    fn is_unknown(&self, position: &JsonPosition<'_>) -> bool {
        !self.unknown.is_empty() && self.unknown.contains(position.path().as_str())
    }
}

/// A value that is searched for duplicates, and its position. Every write passes here, so paths are formatted only when reported.
#[derive(Clone, Copy)]
struct JsonPosition<'p> {
    above: Option<&'p JsonPosition<'p>>,
    step: Segment<'p>,
    search: Search<'p>,
}

#[derive(Clone, Copy)]
enum Segment<'p> {
    Member(&'p str),
    Element(usize),
}

/// A name, borrowed from the text if it has no escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

impl JsonPosition<'_> {
    fn path(&self) -> String {
        let mut path = self.above.map(JsonPosition::path).unwrap_or_default();
        match self.step {
            Segment::Member(name) if path.is_empty() => path.push_str(name),
            Segment::Member(name) => path.extend([".", name]),
            Segment::Element(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }
}

impl<'de> DeserializeSeed<'de> for JsonPosition<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonPosition<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = map.next_key::<Name<'de>>()? {
            let inner =
                JsonPosition { above: Some(&self), step: Segment::Member(&name.0), search: self.search };
            let (again, unknown) = (seen.contains(&name), self.search.is_unknown(&inner));
            // An unknown field is reported once.
            if again != unknown {
                self.search.problems.borrow_mut().push(Problem { path: inner.path(), unknown });
            }
            if unknown {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(inner)?;
            }
            seen.insert(name);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let inner =
            |i: usize| JsonPosition { above: Some(&self), step: Segment::Element(i), search: self.search };
        let mut next = 0;
        while list.next_element_seed(inner(next))?.is_some() {
            next += 1;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duplicate_fields(json: &[u8]) -> Vec<String> {
        find(json, &[]).into_iter().map(|problem| problem.path).collect()
    }

    #[test]
    fn duplicate_fields_are_reported_by_path() {
        let json = br#"{"a": 1, "l": [{"x": null}, {"x": 1.5, "x": true, "x": "s"}], "m": {"b": {}, "b": -1}, "a": 2}"#;
        assert_eq!(duplicate_fields(json), ["l[1].x", "l[1].x", "m.b", "a"]);
        assert_eq!(
            duplicate_fields(br#"{"a\u0062": 1, "ab": [[{"c": 1, "\u0063": 2}]]}"#),
            ["ab", "ab[0][0].c"]
        );
        assert!(duplicate_fields(br#"{"a": {"b": 1}, "b": 1}"#).is_empty());
        assert!(duplicate_fields(b"{\"a\": 1, \"a\": ").is_empty());
    }

    #[test]
    fn problems_have_the_order_of_the_text() {
        let json = br#"{"z": 1, "m": {"b": 1, "u": {"x": 1, "x": 2}, "b": 2}, "z": 2, "m": {}}"#;
        let unknown = ["m.u".to_owned(), "z".to_owned()];
        let expected = [
            r#"unknown field "z""#,
            r#"unknown field "m.u""#,
            r#"duplicate field "m.b""#,
            r#"duplicate field "m""#,
        ];
        assert_eq!(problems_in_order(json, &unknown), expected);
    }
}
