//! Events and bookmarks of a watch from the wire.

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Bookmark, BookmarkMeta, WatchEvent};
use crate::{DynamicObject, ResourceExt, error_boundary::DeserializeGuard};

type Event = WatchEvent<DynamicObject>;

fn read(text: &str) -> Result<Event, serde_json::Error> {
    serde_json::from_str(text)
}

const OBJECT: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#;

#[test]
fn type_and_object_are_accepted_in_both_orders() {
    for (kind, expected) in [("ADDED", "Added"), ("MODIFIED", "Modified"), ("DELETED", "Deleted")] {
        for text in [
            format!(r#"{{"type":"{kind}","object":{OBJECT}}}"#),
            format!(r#"{{"object":{OBJECT},"type":"{kind}"}}"#),
            format!(r#"{{"extra":[{{}}],"type":"{kind}","more":null,"object":{OBJECT}}}"#),
        ] {
            let event = read(&text).expect("valid");
            assert_eq!(format!("{event:?}"), expected);
            let (WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)) =
                event
            else {
                panic!("{text} holds an object");
            };
            assert_eq!(object.name_any(), "a");
        }
    }
}

#[test]
fn error_events_hold_a_status() {
    let status = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old",
        "reason":"Expired","code":410,"details":{"retryAfterSeconds":3}}"#;
    for text in [
        format!(r#"{{"type":"ERROR","object":{status}}}"#),
        format!(r#"{{"object":{status},"type":"ERROR"}}"#),
    ] {
        let Ok(WatchEvent::Error(status)) = read(&text) else { panic!("an error event") };
        assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
        assert_eq!(status.details.expect("has details").retry_after_seconds, 3);
    }
}

#[test]
fn bookmarks_hold_their_resource_version() {
    let end = r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"12",
        "creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}}"#;
    let Ok(WatchEvent::Bookmark(bookmark)) = read(end) else { panic!("a bookmark") };
    assert_eq!((bookmark.types.kind.as_str(), bookmark.metadata.resource_version.as_str()), ("Pod", "12"));
    assert_eq!(bookmark.metadata.annotations["k8s.io/initial-events-end"], "true");
    let bare = r#"{"object":{"metadata":{"resourceVersion":"12"}},"type":"BOOKMARK"}"#;
    let Ok(WatchEvent::Bookmark(bookmark)) = read(bare) else { panic!("a bookmark") };
    assert!(bookmark.types.kind.is_empty() && bookmark.metadata.annotations.is_empty());
}

#[test]
fn malformed_events_are_rejected() {
    for (text, why) in [
        ("{}", "missing field `type`"),
        (r#"{"object":{}}"#, "missing field `type`"),
        (r#"{"type":"ADDED"}"#, "missing field `object`"),
        (r#"{"type":"NEW","object":{}}"#, "unknown variant `NEW`, expected one of `ADDED`"),
        (r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#, "missing field `resourceVersion`"),
        (r#"{"object":{"metadata":{}},"type":"BOOKMARK"}"#, "missing field `resourceVersion`"),
        (r#"{"type":"ADDED","object":{"metadata":5}}"#, "invalid type"),
        ("[]", "expected a watch event with `type` and `object`"),
        (r#"{"type":"ADDED","object":"#, "EOF"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn events_round_trip() {
    for text in [
        format!(r#"{{"type":"ADDED","object":{OBJECT}}}"#),
        r#"{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"1","annotations":{}}}}"#
            .into(),
        r#"{"type":"ERROR","object":{"status":"Failure","code":410}}"#.into(),
    ] {
        let event = read(&text).expect("valid");
        let expected: serde_json::Value = serde_json::from_str(&text).expect("valid");
        assert_eq!(serde_json::to_value(event).expect("valid"), expected);
    }
}

#[test]
fn objects_are_decoded_without_an_intermediate_buffer() {
    /// Decodes only if the deserializer borrows from the input, which a buffered value cannot.
    struct Borrowed;
    impl<'de> Deserialize<'de> for Borrowed {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            <&str>::deserialize(deserializer).map(|_| Self)
        }
    }
    assert!(serde_json::from_str::<WatchEvent<Borrowed>>(r#"{"type":"ADDED","object":"text"}"#).is_ok());
    assert!(serde_json::from_str::<WatchEvent<Borrowed>>(r#"{"object":"text","type":"ADDED"}"#).is_err());
}

#[test]
fn a_guard_turns_an_undecodable_object_into_one_event() {
    let bad =
        json!({"type": "MODIFIED", "object": {"metadata": {"name": "a", "namespace": "web"}, "spec": 5}})
            .to_string();
    assert!(serde_json::from_str::<WatchEvent<Pod>>(&bad).is_err());
    let Ok(WatchEvent::Modified(DeserializeGuard(Err(invalid)))) =
        serde_json::from_str::<WatchEvent<DeserializeGuard<Pod>>>(&bad)
    else {
        panic!("a guarded object");
    };
    assert!(
        invalid.to_string().starts_with("cannot decode object web/a: invalid type: integer `5`"),
        "{invalid}"
    );
    assert_eq!(DeserializeGuard::<Pod>(Err(invalid)).name_any(), "a");
}

#[test]
fn deeply_nested_objects_are_an_error_not_a_stack_overflow() {
    let deep =
        |levels: usize| format!(r#"{{"metadata":{{}},"spec":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    for text in [
        format!(r#"{{"type":"ADDED","object":{}}}"#, deep(10_000)),
        format!(r#"{{"object":{},"type":"ADDED"}}"#, deep(10_000)),
    ] {
        assert!(read(&text).expect_err("too deep").to_string().contains("recursion limit"));
        assert!(serde_json::from_str::<WatchEvent<Pod>>(&text).is_err());
        assert!(serde_json::from_str::<WatchEvent<DeserializeGuard<Pod>>>(&text).is_err());
    }
    assert!(read(&format!(r#"{{"type":"ADDED","object":{}}}"#, deep(100))).is_ok());
    // Skipped values use no stack, at any depth.
    assert!(read(&format!(r#"{{"ignored":{},"type":"ADDED","object":{}}}"#, deep(10_000), deep(1))).is_ok());
}

/// The value as it is written again, or the error.
fn rewrite<T: DeserializeOwned + Serialize>(input: &Value) -> Result<Value, String> {
    let from_text = serde_json::from_str::<T>(&input.to_string());
    let from_value = serde_json::from_value::<T>(input.clone());
    assert_eq!(from_text.is_ok(), from_value.is_ok(), "{input}");
    from_text.map(|read| json!(read)).map_err(|err| err.to_string())
}

fn accepted<T: DeserializeOwned + Serialize>(input: &Value, written: &Value) {
    assert_eq!(rewrite::<T>(input).as_ref(), Ok(written), "{input}");
}

fn rejected<T: DeserializeOwned + Serialize>(input: &Value, why: &str) {
    let error = rewrite::<T>(input).expect_err(&input.to_string());
    assert!(error.contains(why), "{input}: {error}");
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
