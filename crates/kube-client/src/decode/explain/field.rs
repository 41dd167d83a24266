//! One field of an object that does not decode. All other fields are skipped, to any depth.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text of a field; `None` if `json` is not an object, or has no such field.
pub(super) fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let mut json = serde_json::Deserializer::from_str(json);
    let found = json.deserialize_map(FieldOf(name)).ok()?;
    json.end().ok()?;
    found.map(RawValue::get)
}

/// The same, if its value is a string.
pub(in crate::decode) fn text_field(json: &str, name: &str) -> Option<String> {
    serde_json::from_str(field(json, name)?).ok()
}

struct FieldOf<'n>(&'n str);

impl<'de> Visitor<'de> for FieldOf<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name_in_valid_json() {
        let json = r#" {"a" : {"b":[1]}, "\u0062": "x\n", "c":null } "#;
        assert_eq!((field(json, "a"), field(json, "b")), (Some(r#"{"b":[1]}"#), Some(r#""x\n""#)));
        assert_eq!(text_field(json, "b").as_deref(), Some("x\n"));
        for (json, name) in [
            (json, "c"),
            (json, "a"),
            (json, "d"),
            ("{} x", "a"),
            (r#"{"a":"b""#, "a"),
            ("[]", "a"),
            ("", "a"),
        ] {
            assert_eq!(text_field(json, name), None, "{json}");
        }
    }
}
