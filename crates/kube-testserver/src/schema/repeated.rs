//! Fields that a JSON text gives more than once: a parser keeps the last and says nothing.

use std::{cell::RefCell, collections::HashSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Their paths, as `spec.ports[0].foo`, in the order they were met. Empty when the text is no JSON.
pub(crate) fn repeated_fields(json: &[u8]) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let mut json = serde_json::Deserializer::from_slice(json);
    // What cannot be read is reported by whoever reads it for its content.
    let read = Place { at: String::new(), found: &found }.deserialize(&mut json);
    if read.is_ok() { found.into_inner() } else { Vec::new() }
}

/// A value that is looked at for maps, and where it is.
struct Place<'f> {
    at: String,
    found: &'f RefCell<Vec<String>>,
}

impl Place<'_> {
    fn member(&self, name: &str) -> Self {
        let dot = if self.at.is_empty() { "" } else { "." };
        Self { at: format!("{}{dot}{name}", self.at), found: self.found }
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let inner = self.member(&name);
            if !seen.insert(name) {
                self.found.borrow_mut().push(inner.at.clone());
            }
            map.next_value_seed(inner)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let inner = |i: usize| Place { at: format!("{}[{i}]", self.at), found: self.found };
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

    #[test]
    fn repeated_fields_are_named_by_their_paths() {
        let json = br#"{"a": 1, "l": [{"x": null}, {"x": 1.5, "x": true, "x": "s"}], "m": {"b": {}, "b": -1}, "a": 2}"#;
        assert_eq!(repeated_fields(json), ["l[1].x", "l[1].x", "m.b", "a"]);
        assert!(repeated_fields(br#"{"a": {"b": 1}, "b": 1}"#).is_empty());
        assert!(repeated_fields(b"{\"a\": 1, \"a\": ").is_empty());
    }
}
