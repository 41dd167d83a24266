//! The fields that a server dropped from an object.

use serde_json::Value;

/// The paths of the fields of `sent` that `read` has not, outermost only. Null stands for no value.
pub(super) fn lost(sent: &Value, read: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    collect(sent, read, "", &mut paths);
    paths
}

fn collect(sent: &Value, read: &Value, path: &str, paths: &mut Vec<String>) {
    match (sent, read) {
        (Value::Object(sent), Value::Object(read)) => {
            for (key, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                let path = format!("{path}.{key}");
                match read.get(key) {
                    Some(read) => collect(value, read, &path, paths),
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(sent), Value::Array(read)) => {
            for (at, (sent, read)) in sent.iter().zip(read).enumerate() {
                collect(sent, read, &format!("{path}[{at}]"), paths);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_outermost_lost_fields_are_named() {
        let sent = json!({ "spec": { "a": 1, "b": { "c": 2, "d": 3 }, "list": [{ "x": 1 }, { "y": 2 }], "none": null } });
        let read = json!({ "spec": { "b": { "c": 2 }, "list": [{ "x": 1 }, {}], "default": 1 } });
        assert_eq!(lost(&sent, &read), [".spec.a", ".spec.b.d", ".spec.list[1].y"]);
        assert_eq!(lost(&sent, &sent), [""; 0]);
    }
}
