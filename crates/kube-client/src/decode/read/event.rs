//! One event of a watch.

use std::marker::PhantomData;

use kube_core::WatchEvent;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::prune::Prune;
use super::value::{read, read_plain};
use crate::decode::split::ArrayLengths;

/// Decodes an event, in one pass if its type comes first, as servers send it. `prune` is that of events.
///
/// # Errors
/// Those of serde_json.
pub(in crate::decode) fn read_event<K: DeserializeOwned>(
    line: &[u8],
    lengths: &ArrayLengths,
    prune: &Prune,
) -> Result<WatchEvent<K>, serde_json::Error> {
    match type_first(line) {
        Some(line) => read(&line, &[], prune, PhantomData),
        // A plain watch has no hints, and does not pay for them.
        None if lengths.is_empty() && prune.fields().is_none() => read_plain(line),
        None => read(line, lengths, prune, PhantomData),
    }
}

/// The event with its type in front, if its object is. Otherwise objects would be decoded from an intermediate value, in which the texts of
/// `RawValue` are lost.
fn type_first(line: &[u8]) -> Option<Vec<u8>> {
    #[derive(Serialize, Deserialize)]
    struct TypeFirst<'a> {
        #[serde(borrow)]
        r#type: &'a RawValue,
        #[serde(borrow)]
        object: &'a RawValue,
    }

    if !line.strip_prefix(b"{")?.trim_ascii_start().starts_with(b"\"object\"") {
        return None;
    }
    serde_json::to_vec(&serde_json::from_slice::<TypeFirst<'_>>(line).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The event as `WatchEvent` decodes it, and as this module does.
    fn both(line: &Value, prune: &Prune) -> [Result<Value, String>; 2] {
        let text = line.to_string();
        let show = |event: Result<WatchEvent<Value>, serde_json::Error>| {
            event.map(|event| json!(event)).map_err(|err| err.to_string())
        };
        [show(serde_json::from_str(&text)), show(read_event(text.as_bytes(), &[], prune))]
    }

    #[test]
    fn events_equal_those_of_watch_event() {
        let pod = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": {"containers": [{"name": "b"}]}});
        let status = json!({"kind": "Status", "code": 410, "message": "too old", "details": {"causes": [{"reason": "x"}]}});
        for (kind, object) in
            [("ADDED", &pod), ("MODIFIED", &pod), ("DELETED", &pod), ("BOOKMARK", &pod), ("ERROR", &status)]
        {
            let [expected, read] =
                both(&json!({"type": kind, "object": object, "more": [1]}), &Prune::default());
            assert_eq!(read, expected, "{kind}");
            assert!(read.is_ok(), "{read:?}");
        }
    }

    /// Maps of `Value` are sorted: `object` is before `type` here.
    #[test]
    fn the_object_may_come_first() {
        let line = json!({"object": {"metadata": {"managedFields": [], "name": "a"}}, "type": "ADDED"});
        assert!(line.to_string().starts_with("{\"object\""));
        let prune = Prune::default().managed_fields().within_event();
        let [_, read] = both(&line, &prune);
        assert_eq!(read, Ok(json!({"type": "ADDED", "object": {"metadata": {"name": "a"}}})));
        let raw = br#"{ "object":{"a" : 1.00},"type":"DELETED"}"#;
        let Ok(WatchEvent::Deleted(raw)) = read_event::<Box<RawValue>>(raw, &[], &prune) else {
            panic!("it is valid")
        };
        assert_eq!(raw.get(), r#"{"a" : 1.00}"#);
    }

    #[test]
    fn invalid_events_are_errors() {
        for (line, expected) in [
            (json!({"type": "ADDED"}), "missing field `object`"),
            (json!({"object": {}}), "missing field `type`"),
            (json!({"type": "ODD", "object": {}}), "unknown variant `ODD`"),
            (json!({"a": 0, "type": "ODD", "object": {}}), "unknown variant `ODD`"),
            (json!({"type": "BOOKMARK"}), "missing field `object`"),
            (json!([]), "a watch event with `type` and `object`"),
        ] {
            let [_, read] = both(&line, &Prune::default());
            assert!(read.clone().unwrap_err().contains(expected), "{line}: {read:?}");
        }
        let bookmark = br#"{"type":"BOOKMARK","object":{"metadata":{}}}"#;
        let err = read_event::<Value>(bookmark, &[], &Prune::default()).unwrap_err().to_string();
        assert!(err.contains("missing field `resourceVersion`"), "{err}");
    }
}
