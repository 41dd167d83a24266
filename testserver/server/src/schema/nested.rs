//! Members deep in an object without a Go type, as Go's accessors of unstructured objects read them.

use serde_json::Value;

use super::golang;

/// The member at a path such as `.spec.replicas`, if it is there. Nothing is in a null.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut read = String::new();
    for name in path.split('.').filter(|name| !name.is_empty()) {
        read.push('.');
        read.push_str(name);
        if value.is_null() {
            return Ok(None);
        }
        let map = value.as_object().ok_or_else(|| mismatch(&read, value, "map[string]interface{}"))?;
        let Some(member) = map.get(name) else { return Ok(None) };
        value = member;
    }
    Ok(Some(value))
}

/// The integer at a path.
pub(crate) fn integer(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let number = |value: &Value| value.as_i64().ok_or_else(|| mismatch(path, value, "int64"));
    at(object, path)?.map(number).transpose()
}

/// The text at a path.
pub(crate) fn text<'a>(object: &'a Value, path: &str) -> Result<Option<&'a str>, String> {
    let text = |value: &'a Value| value.as_str().ok_or_else(|| mismatch(path, value, "string"));
    at(object, path)?.map(text).transpose()
}

fn mismatch(path: &str, value: &Value, expected: &str) -> String {
    let (plain_text, ty) = (golang::plain(value), golang::type_name(value));
    format!("{path} accessor error: {plain_text} is of the type {ty}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_differs_from_what_has_another_type() {
        let object = json!({"spec": {"replicas": 2, "text": "x", "none": null}, "status": null, "list": []});
        assert_eq!(integer(&object, ".spec.replicas"), Ok(Some(2)));
        assert_eq!(integer(&object, ".spec.other"), Ok(None));
        assert_eq!(integer(&object, ".status.replicas"), Ok(None), "nothing is in a null");
        assert_eq!(text(&object, ".spec.text"), Ok(Some("x")));
        for (path, why) in [
            (".spec.none", ".spec.none accessor error: <nil> is of the type <nil>, expected int64"),
            (".spec.text", ".spec.text accessor error: x is of the type string, expected int64"),
            (
                ".spec",
                ".spec accessor error: map[none:<nil> replicas:2 text:x] is of the type map[string]interface {}, expected int64",
            ),
            (
                ".list.a",
                ".list.a accessor error: [] is of the type []interface {}, expected map[string]interface{}",
            ),
        ] {
            assert_eq!(integer(&object, path), Err(why.into()));
        }
    }
}
