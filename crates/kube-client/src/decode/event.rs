//! One event of a watch: the same as the `Deserialize` of [`WatchEvent`], except that only the decoder of the object is compiled for each `K`.

use std::fmt;
use std::marker::PhantomData;

use kube_core::watch::{Bookmark, EventField, EventType};
use kube_core::{Status, WatchEvent};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::array_lengths::ArrayLengths;
use super::prune::Prune;
use super::reader::read;

/// Decodes an event, in one pass if its type comes first, as servers send it. `prune` is that of events.
///
/// # Errors
/// Those of serde_json.
pub(super) fn read_event<K: DeserializeOwned>(
    line: &[u8],
    lengths: &ArrayLengths,
    prune: &Prune,
) -> Result<WatchEvent<K>, serde_json::Error> {
    match read(line, lengths, prune, EventSeed(PhantomData))? {
        Parts::Event(event) => Ok(event),
        Parts::ObjectFirst(parts) => read_event(&serde_json::to_vec(&parts)?, &[], prune),
    }
}

enum Parts<K> {
    Event(WatchEvent<K>),
    ObjectFirst(TypeFirst),
}

/// An event with its type in front of the object.
#[derive(Serialize)]
struct TypeFirst {
    r#type: EventType,
    object: Box<RawValue>,
}

struct EventSeed<K>(PhantomData<K>);

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for EventSeed<K> {
    type Value = Parts<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parts<K>, D::Error> {
        deserializer.deserialize_struct("WatchEvent", &["type", "object"], self)
    }
}

impl<'de, K: DeserializeOwned> Visitor<'de> for EventSeed<K> {
    type Value = Parts<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event with `type` and `object`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<K>, A::Error> {
        let (mut kind, mut buffered, mut event) = (None, None::<Box<RawValue>>, None);
        while let Some(field) = map.next_key()? {
            match (field, kind) {
                (EventField::Type, _) => kind = Some(map.next_value()?),
                (EventField::Object, Some(kind)) => event = Some(event_of(kind, &mut map)?),
                (EventField::Object, None) => buffered = Some(map.next_value()?),
                (EventField::Other, _) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (event, kind, buffered) {
            (Some(event), _, _) => Ok(Parts::Event(event)),
            (None, Some(kind), Some(object)) => Ok(Parts::ObjectFirst(TypeFirst { r#type: kind, object })),
            (None, None, _) => Err(A::Error::missing_field("type")),
            (None, Some(_), None) => Err(A::Error::missing_field("object")),
        }
    }
}

fn event_of<'de, K: DeserializeOwned, A: MapAccess<'de>>(
    kind: EventType,
    map: &mut A,
) -> Result<WatchEvent<K>, A::Error> {
    let change = match kind {
        EventType::Added => WatchEvent::Added,
        EventType::Modified => WatchEvent::Modified,
        EventType::Deleted => WatchEvent::Deleted,
        EventType::Bookmark => {
            let object: Box<RawValue> = map.next_value()?;
            return bookmark(&object).map(WatchEvent::Bookmark).map_err(A::Error::custom);
        }
        EventType::Error => {
            let object: Box<RawValue> = map.next_value()?;
            return status(&object).map(WatchEvent::Error).map_err(A::Error::custom);
        }
    };
    map.next_value().map(change)
}

fn bookmark(object: &RawValue) -> Result<Bookmark, serde_json::Error> {
    decode(object)
}

fn status(object: &RawValue) -> Result<Box<Status>, serde_json::Error> {
    decode(object)
}

/// Decodes by the code that also decodes responses. Errors have no position: it would be that within the object.
fn decode<T: DeserializeOwned>(object: &RawValue) -> Result<T, serde_json::Error> {
    serde_json::from_str(object.get()).map_err(without_position)
}

fn without_position(err: serde_json::Error) -> serde_json::Error {
    let (line, column) = (err.line(), err.column());
    let text = err.to_string();
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    serde_json::Error::custom(text)
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
