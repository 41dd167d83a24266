//! What kube-apiserver 1.37 has sent in protobuf and in JSON is the same here, and no bytes from a server do harm.

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{DeserializeGuard, PartialObjectMeta, ResourceExt, WatchEvent};
use serde_json::Value;
use tower::BoxError;

use super::*;
use crate::body::Body;
use crate::decode::list::ListBody;
use crate::decode::{KnownObjects, Prune, guarded_events};

const LIST: &[u8] = include_bytes!("recorded/list.pb");
const LIST_JSON: &str = include_str!("recorded/list.json");
const EVENTS: &[u8] = include_bytes!("recorded/events.pb");
const EVENTS_JSON: &str = include_str!("recorded/events.json");

/// A response in pieces of this size.
fn response(bytes: &[u8], piece: usize, content_type: &str) -> http::Response<Body> {
    let frames: Vec<_> = bytes
        .chunks(piece)
        .map(|part| Ok::<_, BoxError>(Frame::data(Bytes::copy_from_slice(part))))
        .collect();
    let body = Body::wrap(StreamBody::new(futures::stream::iter(frames)));
    http::Response::builder().header("content-type", content_type).body(body).unwrap()
}

fn body(bytes: &[u8], piece: usize, form: Form) -> Body {
    as_json(response(bytes, piece, MEDIA_TYPE), form, false, || {})
}

async fn text(body: Body) -> String {
    String::from_utf8(body.collect_bytes().await.unwrap().into()).unwrap()
}

fn values(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

type Meta = PartialObjectMeta<ConfigMap>;

#[tokio::test]
async fn a_list_is_the_json_that_the_server_sends_of_the_same() {
    let expected: Value = serde_json::from_str(LIST_JSON).unwrap();
    for piece in [1, 7, 100, LIST.len()] {
        let json = text(body(LIST, piece, Form::List)).await;
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected, "{piece}");
    }
}

#[tokio::test]
async fn events_are_the_lines_that_the_server_sends_of_the_same() {
    for piece in [1, 7, 100, EVENTS.len()] {
        let lines = text(body(EVENTS, piece, Form::Events)).await;
        assert_eq!(values(&lines), values(EVENTS_JSON), "{piece}");
    }
}

#[test]
fn the_status_of_an_error_response_is_the_json_of_the_same() {
    let status: Value = serde_json::from_slice(&status_json(include_bytes!("recorded/status.pb"))).unwrap();
    assert_eq!(status, serde_json::from_str::<Value>(include_str!("recorded/status.json")).unwrap());
}

#[tokio::test]
async fn an_error_response_in_protobuf_has_its_reason() {
    let mut response = response(include_bytes!("recorded/status.pb"), 10, MEDIA_TYPE);
    *response.status_mut() = http::StatusCode::NOT_FOUND;
    let Err(crate::Error::Api(status)) = crate::decode::expect_success(response).await else { panic!() };
    assert_eq!(
        (status.reason.as_str(), status.message.as_str()),
        ("NotFound", "configmaps \"none\" not found")
    );
}

#[tokio::test]
async fn managed_fields_that_are_skipped_are_not_written() {
    let response = response(LIST, 100, MEDIA_TYPE);
    let json = text(as_json(response, Form::List, true, || {})).await;
    assert!(LIST_JSON.contains("managedFields") && !json.contains("managedFields"));
    assert!(json.contains("example.org/two"));
}

#[tokio::test]
async fn the_content_type_decides() {
    for (content_type, is_protobuf) in [
        ("application/vnd.kubernetes.protobuf", true),
        ("Application/vnd.kubernetes.Protobuf; stream=watch", true),
        ("application/json", false),
        ("application/vnd.kubernetes.protobuf-json", false),
        ("", false),
    ] {
        let bytes = as_json(response(EVENTS, 100, content_type), Form::Events, false, || {})
            .collect_bytes()
            .await
            .unwrap();
        assert_eq!(bytes != EVENTS, is_protobuf, "{content_type}");
    }
}

/// A field of length `value`.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = value.len();
    while length > 0x7F {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(value);
    out
}

fn object(name: &str, more: &[u8]) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(3, b"ns"), more.to_vec()].concat())
}

fn enveloped(kind: &str, message: &[u8]) -> Vec<u8> {
    let types = [field(1, b"meta.k8s.io/v1"), field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), field(1, &types), field(2, message), field(3, b""), field(4, b"")].concat()
}

fn list_of(items: &[Vec<u8>]) -> Vec<u8> {
    let items = items.iter().map(|item| field(2, item));
    let message: Vec<u8> = std::iter::once(field(1, &field(2, b"7"))).chain(items).flatten().collect();
    enveloped("PartialObjectMetadataList", &message)
}

async fn decoded(list: &[u8]) -> Vec<Result<String, String>> {
    let list =
        ListBody::new(body(list, 10, Form::List), Prune::default()).decode_guarded::<Meta>().await.unwrap();
    assert_eq!(list.metadata.resource_version.as_deref(), Some("7"));
    list.items
        .into_iter()
        .map(|item| item.0.map(|item| item.name_any()).map_err(|err| err.to_string()))
        .collect()
}

#[tokio::test]
async fn a_malformed_object_of_a_list_is_one_error_that_names_it() {
    let entry = |value: &[u8]| field(11, value);
    for (more, expected) in [
        (vec![11 << 3 | 2, 50, 1], "it ends within a field"),
        (vec![11 << 3 | 3], "unknown wire type"),
        (vec![7 << 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], "more than 64 bits"),
        (vec![7 << 3 | 2, 1, 1], "another type than expected"),
        (vec![11 << 3, 1], "another type than expected"),
        (entry(&[1 << 3, 1]), "another type than expected"),
        (field(8, &[1 << 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]), "time is out of range"),
        ([vec![0x8A, 1], field(7, &field(1, b"{\"f:")[..])[..].to_vec()].concat(), "malformed protobuf"),
    ] {
        let items = decoded(&list_of(&[object("a", &[]), object("b", &more), object("c", &[])])).await;
        let [Ok(a), Err(b), Ok(c)] = &items[..] else { panic!("{expected}: {items:?}") };
        assert_eq!((a.as_str(), c.as_str()), ("a", "c"));
        assert!(b.starts_with("cannot decode object ns/b") && b.contains(expected), "{expected}: {b}");
    }
}

#[tokio::test]
async fn fields_of_newer_servers_other_orders_and_texts_that_are_not_utf8_are_no_errors() {
    let newer = [vec![20 << 3 & 0x7F | 0x80, 1, 5], field(9, &[]), vec![15 << 3 | 5, 1, 2, 3, 4]].concat();
    let labels = [
        field(11, &[field(1, b"a"), field(2, b"\xFF")].concat()),
        field(14, b"f"),
        field(11, &field(1, b"b")),
    ];
    let message = [
        field(2, &object("a", &newer)),
        field(1, &field(2, b"7")),
        field(2, &object("b", &labels.concat())),
        vec![5 << 3, 1],
    ];
    let list = enveloped("PartialObjectMetadataList", &message.concat());
    assert_eq!(decoded(&list).await, [Ok("a".to_owned()), Ok("b".to_owned())]);
    let json = text(body(&list, 3, Form::List)).await;
    assert!(json.contains("\"labels\":{\"a\":\"\u{FFFD}\",\"b\":\"\"},\"finalizers\":[\"f\"]"), "{json}");
    let empty = enveloped("PartialObjectMetadataList", &field(1, &field(2, b"7")));
    assert!(decoded(&empty).await.is_empty());
}

#[tokio::test]
async fn a_body_that_is_no_list_of_metadata_is_a_clear_error() {
    let list = list_of(&[object("a", &[])]);
    for (bytes, expected) in [
        (b"{\"kind\":\"List\"}".to_vec(), "not in the envelope of Kubernetes"),
        (
            enveloped("ConfigMapList", &[]),
            "has sent \"ConfigMapList\" in protobuf, where a list of metadata was expected",
        ),
        (list[..list.len() - 10].to_vec(), "it ends within a field"),
        (list[..20].to_vec(), "it ends within a field"),
        (Vec::new(), "it ends within a field"),
        ([b"k8s\0".to_vec(), field(1, &[1]).repeat(50_000)].concat(), "not in the envelope of Kubernetes"),
    ] {
        let body = as_json(response(&bytes, 100, MEDIA_TYPE), Form::List, false, || {});
        let err = ListBody::new(body, Prune::default()).decode::<Meta>().await.unwrap_err().to_string();
        assert!(err.contains(expected), "{expected}: {err}");
    }
}

#[tokio::test]
async fn an_object_above_the_limit_is_an_error_that_names_it_before_it_is_received() {
    let mut item = object("big", &[]);
    item.extend([0x7A, 0xFF, 0xFF, 0xFF, 0x7F]); // announces 268 MB
    let message = [vec![2 << 3 | 2, 0xFF, 0xFF, 0xFF, 0x7F], item].concat();
    let list = [
        b"k8s\0".to_vec(),
        field(1, &field(2, b"PartialObjectMetadataList")),
        vec![2 << 3 | 2],
        vec![0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        message,
    ];
    let response_of_list =
        response(&list.concat(), 1000, MEDIA_TYPE).map(|body| body.with_collect_limit(1000));
    let err = ListBody::new(as_json(response_of_list, Form::List, false, || {}), Prune::default())
        .decode::<Meta>()
        .await
        .unwrap_err();
    assert!(err.to_string().contains("the object ns/big of the list has more than 1000 bytes"), "{err}");
    let event = response(&[0, 0, 4, 0, 1, 2], 10, MEDIA_TYPE).map(|body| body.with_collect_limit(1000));
    let err = as_json(event, Form::Events, false, || {}).collect_bytes().await.unwrap_err();
    assert!(matches!(err, crate::Error::LinesCodecMaxLineLengthExceeded), "{err}");
}

/// A byte of a text may have six in JSON, and what compresses well may have many of them.
#[tokio::test]
async fn the_limit_of_an_object_is_for_its_json() {
    let limited = async |value: &[u8]| {
        let labels = field(11, &[field(1, b"key"), field(2, value)].concat());
        let item = field(2, &object("large", &labels));
        let list = [b"k8s\0".to_vec(), field(1, &field(2, b"PartialObjectMetadataList")), field(2, &item)];
        let response =
            response(&list.concat(), 1 << 16, MEDIA_TYPE).map(|body| body.with_collect_limit(10_000));
        text(as_json(response, Form::List, false, || {})).await
    };
    for (value, fits) in [("\u{1}", false), ("\n", false), ("é", true), ("x", true)] {
        let json = limited(value.repeat(8_000 / value.len()).as_bytes()).await;
        assert_eq!(json.len() > 8_000, fits, "{value:?}");
        assert_eq!(json.contains("than an object may have"), !fits, "{value:?}");
        assert!(json.contains("\"name\":\"large\""), "{value:?}");
    }
    let endless = limited(&[0xFF; 8_000]).await;
    assert!(endless.len() < 1_000 && endless.contains("than an object may have"));
}

fn event(kind: &str, object: &[u8]) -> Vec<u8> {
    let event = [field(1, kind.as_bytes()), field(2, &field(1, object))].concat();
    [(event.len() as u32).to_be_bytes().to_vec(), event].concat()
}

#[tokio::test]
async fn a_malformed_event_is_one_error_and_the_others_follow() {
    let good = |name| event("ADDED", &enveloped("PartialObjectMetadata", &object(name, &[])));
    let bad = event("MODIFIED", &enveloped("PartialObjectMetadata", &object("b", &[11 << 3])));
    let events = [
        good("a"),
        bad,
        [vec![0, 0, 0, 2], vec![1 << 3 | 2, 9]].concat(),
        event("ADDED", b"{}"),
        good("c"),
        vec![0, 0, 0, 9, 1],
    ];
    let body = body(&events.concat(), 3, Form::Events);
    let events: Vec<_> =
        guarded_events::<Meta>(body, &Prune::default(), KnownObjects::default()).collect().await;
    let show = |event: &Result<WatchEvent<DeserializeGuard<Meta>>, _>| match event {
        Ok(event @ (WatchEvent::Added(object) | WatchEvent::Modified(object))) => match &object.0 {
            Ok(object) => format!("{event:?} {}", object.name_any()),
            Err(invalid) => format!("{event:?} {invalid}"),
        },
        Ok(event) => format!("{event:?}"),
        Err(err) => crate::error::ErasedError::get(err).to_string(),
    };
    let shown: Vec<String> = events.iter().map(show).collect();
    for (shown, expected) in shown.iter().zip([
        ["Added a", ""],
        ["Modified cannot decode object ns/b", "it ends within a field"],
        ["watch event malformed protobuf: it ends within a field", ""],
        ["Added cannot decode object without a name", "not in the envelope of Kubernetes"],
        ["Added c", ""],
    ]) {
        assert!(expected.iter().all(|part| shown.contains(part)), "{expected:?}: {shown}");
    }
    assert_eq!(shown.len(), 5, "{shown:#?}");
}

/// Every piece of the recorded bodies, and each with one bit changed: an error or objects, soon, and nothing large.
#[tokio::test]
async fn no_bytes_from_a_server_panic_or_allocate_without_bounds() {
    for (bytes, form) in [(LIST, Form::List), (EVENTS, Form::Events)] {
        for end in 0..bytes.len() {
            drop(body(&bytes[..end], 64, form).collect().await);
        }
        let mut changed = bytes.to_vec();
        for bit in 0..bytes.len() * 8 {
            changed[bit / 8] ^= 1 << (bit % 8);
            let memory = allocation_counter::measure(|| {
                drop(body(&changed, 200, form).collect().now_or_never().expect("nothing is waited for"));
            });
            assert!(memory.bytes_max < 200_000, "bit {bit}: {memory:?}");
            changed[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
