//! Decoding of small types that programs need rarely. They are read from a [`Value`], whose decoder every program contains anyway: a derived
//! decoder is several kilobytes for each type and each kind of input.

use std::cell::Cell;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value};

/// Decodes an object. Of a field that is there twice, the last is read.
pub(crate) fn decode<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    read: fn(&Fields<'_>) -> T,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let error = Cell::default();
    let decoded = read(&Fields::of(&value, String::new(), &error));
    error.take().map_or(Ok(decoded), |error| Err(D::Error::custom(error)))
}

/// The fields of an object. An invalid one is read as the default, and the first error is kept: with a result for each field the code would be
/// twice as large.
pub(crate) struct Fields<'a> {
    /// `None` if it is not an object.
    fields: Option<&'a Map<String, Value>>,
    /// Of the object; empty for the outermost.
    path: String,
    error: &'a Cell<Option<String>>,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, path: String, error: &'a Cell<Option<String>>) -> Self {
        let object = Self { fields: value.as_object(), path, error };
        if object.fields.is_none() {
            object.fail("", "expected an object");
        }
        object
    }

    /// The default if the field is missing. Never inline: most fields are strings, and one function reads all of them.
    pub(crate) fn get<T: Deserialize<'a> + Default>(&self, name: &str) -> T {
        let value = self.fields.and_then(|fields| fields.get(name));
        value.map_or_else(T::default, |value| {
            T::deserialize(value).unwrap_or_else(|err| {
                self.fail(name, &err.to_string());
                T::default()
            })
        })
    }

    /// Whether the field has a value other than null.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.and_then(|fields| fields.get(name)).is_some_and(|value| !value.is_null())
    }

    pub(crate) fn require(&self, name: &str) {
        if !self.fields.is_some_and(|fields| fields.contains_key(name)) {
            self.fail("", &format!("missing field `{name}`"));
        }
    }

    pub(crate) fn object(&self, name: &str) -> Self {
        let value = self.fields.and_then(|fields| fields.get(name)).unwrap_or(&Value::Null);
        Self::of(value, self.path_of(name), self.error)
    }

    /// The objects of an array; none if the field is missing.
    pub(crate) fn objects(&self, name: &str) -> Vec<Self> {
        let path = self.path_of(name);
        match self.fields.and_then(|fields| fields.get(name)) {
            Some(Value::Array(values)) => {
                let values = values.iter().enumerate();
                values.map(|(at, value)| Self::of(value, format!("{path}[{at}]"), self.error)).collect()
            }
            None => Vec::new(),
            Some(_) => {
                self.fail(name, "expected an array");
                Vec::new()
            }
        }
    }

    fn path_of(&self, name: &str) -> String {
        let dot = if self.path.is_empty() || name.is_empty() { "" } else { "." };
        [&self.path, dot, name].concat()
    }

    fn fail(&self, name: &str, reason: &str) {
        let path = self.path_of(name);
        let colon = if path.is_empty() { "" } else { ": " };
        let first = self.error.take().unwrap_or_else(|| [&path, colon, reason].concat());
        self.error.set(Some(first));
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use crate::object::{ListHead, ObjectList};
    use crate::response::{Status, StatusCause, StatusDetails};
    use crate::watch::{Bookmark, BookmarkMeta};

    /// The value as it is written again, or the error.
    fn read<T: DeserializeOwned + serde::Serialize>(input: &Value) -> Result<Value, String> {
        let from_text = serde_json::from_str::<T>(&input.to_string());
        let from_value = serde_json::from_value::<T>(input.clone());
        assert_eq!(from_text.is_ok(), from_value.is_ok(), "{input}");
        from_text.map(|read| json!(read)).map_err(|err| err.to_string())
    }

    fn accepted<T: DeserializeOwned + serde::Serialize>(input: &Value, written: &Value) {
        assert_eq!(read::<T>(input).as_ref(), Ok(written), "{input}");
    }

    fn rejected<T: DeserializeOwned + serde::Serialize>(input: &Value, why: &str) {
        let error = read::<T>(input).expect_err(&input.to_string());
        assert!(error.contains(why), "{input}: {error}");
    }

    #[test]
    fn a_status_has_only_optional_fields() {
        accepted::<Status>(&json!({}), &json!({}));
        let all = json!({
            "status": "Failure", "code": 65535, "message": "m", "reason": "r",
            "metadata": {"continue": "c", "remainingItemCount": 3, "resourceVersion": "1", "selfLink": "s"},
            "details": {"name": "n", "group": "g", "kind": "k", "uid": "u", "retryAfterSeconds": 4_294_967_295_u32,
                        "causes": [{"reason": "a", "message": "b", "field": "c"}, {}]}});
        accepted::<Status>(&all, &all);
        let nulls = json!({"status": null, "metadata": null, "details": null});
        accepted::<Status>(&nulls, &json!({}));
        let unknown = json!({"kind": "Status", "apiVersion": "v1", "more": [1],
            "details": {"odd": {}, "causes": [{"odd": null}]}, "metadata": {"odd": 1, "continue": null}});
        accepted::<Status>(&unknown, &json!({"details": {"causes": [{}]}, "metadata": {}}));
    }

    #[test]
    fn other_types_in_a_status_are_errors() {
        for value in [json!(null), json!(true), json!(5), json!({}), json!(["x"])] {
            rejected::<Status>(&json!({ "message": value }), "expected a string");
            rejected::<Status>(&json!({ "reason": value }), "expected a string");
        }
        for value in [json!(null), json!(true), json!(-1), json!(65536), json!(1.5), json!("1"), json!([1])] {
            rejected::<Status>(&json!({ "code": value }), "expected u16");
        }
        for name in ["status", "metadata", "details"] {
            for value in [json!(true), json!(-1), json!(1.5), json!("x"), json!([5])] {
                rejected::<Status>(&json!({ name: value }), "expected");
            }
        }
        rejected::<Status>(
            &json!({"status": "success"}),
            "unknown variant `success`, expected `Success` or `Failure`",
        );
        rejected::<Status>(&json!({"metadata": {"remainingItemCount": "x"}}), "expected i64");
        for name in ["name", "group", "kind", "uid"] {
            rejected::<Status>(
                &json!({"details": {name: 5}}),
                "invalid type: integer `5`, expected a string",
            );
            rejected::<Status>(&json!({"details": {name: null}}), "invalid type: null, expected a string");
        }
        for value in [json!(null), json!(-1), json!(4_294_967_296_u64), json!("2"), json!({})] {
            rejected::<Status>(&json!({"details": {"retryAfterSeconds": value}}), "expected u32");
        }
        for value in [json!(null), json!({}), json!("x"), json!([5]), json!([null])] {
            rejected::<Status>(&json!({"details": {"causes": value}}), "expected");
        }
        for name in ["reason", "message", "field"] {
            for value in [json!(null), json!(5)] {
                rejected::<Status>(&json!({"details": {"causes": [{}, {name: value}]}}), "expected a string");
            }
        }
        for input in [json!(null), json!(5), json!("x"), json!([5]), json!(true)] {
            rejected::<Status>(&input, "expected");
            rejected::<StatusDetails>(&input, "expected");
            rejected::<StatusCause>(&input, "expected");
        }
    }

    #[test]
    fn an_error_begins_with_the_path() {
        let causes = json!({"details": {"causes": [{}, {"field": 5}]}});
        let expected = "details.causes[1].field: invalid type: integer `5`, expected a string";
        assert_eq!(read::<Status>(&causes), Err(expected.to_owned()));
        let two = json!({"code": "x", "details": {"causes": 5}});
        assert_eq!(
            read::<Status>(&two),
            Err("code: invalid type: string \"x\", expected u16".to_owned()),
            "the first of two"
        );
        assert_eq!(read::<StatusDetails>(&two["details"]), Err("causes: expected an array".to_owned()));
        assert_eq!(read::<Status>(&json!({"details": 5})), Err("details: expected an object".to_owned()));
        assert_eq!(
            read::<Bookmark>(&json!({"metadata": {}})),
            Err("metadata: missing field `resourceVersion`".to_owned())
        );
        assert_eq!(read::<Bookmark>(&json!([])), Err("expected an object".to_owned()));
    }

    #[test]
    fn the_parts_of_a_status_are_read_alone() {
        let cause = json!({"reason": "a", "message": "b", "field": "c"});
        accepted::<StatusCause>(&cause, &cause);
        let details = json!({"name": "n", "causes": [cause]});
        accepted::<StatusDetails>(&details, &details);
    }

    #[test]
    fn the_head_of_a_list_is_that_of_the_whole_list() {
        for input in [
            json!({}),
            json!({"items": null}),
            json!({"items": 5}),
            json!({"items": {}}),
            json!({"items": [], "kind": null, "apiVersion": "", "metadata": null}),
            json!({"items": [{}], "kind": "PodList", "apiVersion": "v2", "metadata": {"continue": "c", "odd": 1}}),
            json!({"items": [], "kind": 5}),
            json!({"items": [], "apiVersion": []}),
            json!({"items": [], "metadata": "x"}),
            json!({"items": [], "metadata": {"continue": 5}}),
            json!([]),
        ] {
            let list = serde_json::from_value::<ObjectList<Value>>(input.clone());
            let head = serde_json::from_value::<ListHead>(input.clone());
            match (list, head) {
                (Ok(list), Ok(head)) => assert_eq!((list.types, list.metadata), (head.types, head.metadata)),
                (list, head) => assert!(list.is_err() && head.is_err(), "{input}: {head:?}"),
            }
        }
    }

    #[test]
    fn a_bookmark_needs_only_a_version() {
        let all = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"resourceVersion": "1", "annotations": {"a": "b"}}});
        accepted::<Bookmark>(&all, &all);
        let least = json!({"metadata": {"resourceVersion": "", "name": 5}, "spec": {}});
        accepted::<Bookmark>(
            &least,
            &json!({"apiVersion": "", "kind": "", "metadata": {"resourceVersion": "", "annotations": {}}}),
        );
        accepted::<BookmarkMeta>(&all["metadata"], &all["metadata"]);
    }

    #[test]
    fn other_types_in_a_bookmark_are_errors() {
        rejected::<Bookmark>(&json!({}), "missing field `metadata`");
        rejected::<Bookmark>(&json!({"metadata": {}}), "missing field `resourceVersion`");
        rejected::<BookmarkMeta>(&json!({}), "missing field `resourceVersion`");
        for value in [json!(null), json!(5), json!("x"), json!([5])] {
            rejected::<Bookmark>(&json!({ "metadata": value }), "");
            rejected::<Bookmark>(&value, "expected");
            rejected::<BookmarkMeta>(&value, "");
        }
        for value in [json!(null), json!(5), json!({})] {
            rejected::<Bookmark>(&json!({"metadata": {"resourceVersion": value}}), "expected a string");
            let meta = json!({"resourceVersion": "1"});
            rejected::<Bookmark>(&json!({"kind": value, "metadata": meta}), "expected a string");
            rejected::<Bookmark>(&json!({"apiVersion": value, "metadata": meta}), "expected a string");
        }
        for value in [json!(null), json!(5), json!({"a": 5}), json!({"a": null}), json!(["x"])] {
            rejected::<Bookmark>(
                &json!({"metadata": {"resourceVersion": "1", "annotations": value}}),
                "expected",
            );
        }
    }
}
