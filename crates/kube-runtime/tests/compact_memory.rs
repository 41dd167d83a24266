//! The memory of a compact cache. A test binary of its own, because it has a counting allocator.

#![cfg(feature = "compact-cache")]
#![allow(clippy::unwrap_used)] // a panic fails the test

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client, client::Body};
use kube_core::PartialObjectMeta;
use kube_runtime::{
    reflector::{self, ObjectRef},
    watcher::Config,
};
use std::{convert::Infallible, fmt::Write};

const OBJECTS: usize = 5_000;

/// A client of a server that lists objects, which it makes while they are sent, and whose watches are silent.
fn client(item: fn(usize) -> String) -> Client {
    let server = tower::service_fn(move |request: Request<Body>| async move {
        let list = !request.uri().query().is_some_and(|query| query.contains("watch="));
        let head = list.then(|| r#"{"metadata":{"resourceVersion":"9"},"items":["#.to_owned());
        let items = (0..if list { OBJECTS } else { 0 }).map(move |index| {
            let mut text = item(index);
            text.push(if index + 1 < OBJECTS { ',' } else { ']' });
            text
        });
        let texts = head.into_iter().chain(items).chain(list.then(|| "}".to_owned()));
        let frames = stream::iter(texts.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text)))));
        // A watch stays open.
        let open = stream::iter((!list).then_some(())).then(|()| std::future::pending());
        Ok::<_, Infallible>(Response::new(StreamBody::new(frames.chain(open))))
    });
    Client::new(server, "default")
}

/// The bytes that each object takes in a filled compact cache.
fn bytes_per_object<K>(api: fn(Client) -> Api<K>, item: fn(usize) -> String, last: &str) -> u64
where
    K: kube_core::Resource<DynamicType = ()>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + Sync
        + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = api(client(item));
    let mut kept = None;
    let counted = allocation_counter::measure(|| {
        kept = Some(runtime.block_on(async {
            let (store, writer) = reflector::compact_store::<K>();
            let mut events = Box::pin(writer.watch(api, Config::default().page_size(u32::MAX)));
            while !store.is_ready() {
                events.try_next().await.unwrap();
            }
            (store, events)
        }));
    });
    let (store, _events) = kept.unwrap();
    assert_eq!(store.len(), OBJECTS);
    assert!(store.try_get(&ObjectRef::new(last).within("default")).unwrap().is_some());
    u64::try_from(counted.bytes_current).unwrap() / OBJECTS as u64
}

/// A Pod of 7.7 KB. A number, the shard, the node and the address differ.
fn pod(index: usize) -> String {
    let fields = |manager: &str| {
        let fields: String =
            (0..77).map(|field| format!(r#""f:{manager}-field-{field}":{{".":{{}}}},"#)).collect();
        format!(r#"{{"manager":"{manager}","operation":"Update","fieldsV1":{{{fields}"f:last":{{}}}}}}"#)
    };
    let env: String =
        (0..20).map(|name| format!(r#"{{"name":"NAME_{name}","value":"value-{name}"}},"#)).collect();
    let condition = |kind: &str| {
        format!(r#"{{"type":"{kind}","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}}"#)
    };
    format!(
        r#"{{"metadata":{{"name":"checkout-7c9d8f6b54-{index:05}","namespace":"default",
        "uid":"0c6c1f0a-9b1e-4d6e-8f3a-{index:012}","resourceVersion":"{version}","creationTimestamp":"2026-01-02T03:04:05Z",
        "labels":{{"app.kubernetes.io/name":"checkout","shard":"{shard}","pod-template-hash":"7c9d8f6b54"}},
        "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"checkout-7c9d8f6b54",
        "uid":"dcf1a1a0-2f0e-4f0e-9c55-0c2a3b4c5d6e","controller":true}}],"managedFields":[{one},{two}]}},
        "spec":{{"nodeName":"node-{node:03}.example","containers":[{{"name":"checkout","image":"checkout:1.2",
        "env":[{env}{{"name":"LAST"}}]}}]}},
        "status":{{"phase":"Running","podIP":"10.1.{high}.{low}","conditions":[{ready},{scheduled}]}}}}"#,
        version = 100_000 + index,
        shard = index % 40,
        node = index % 250,
        high = index / 250,
        low = index % 250,
        one = fields("kubelet"),
        two = fields("kube-controller-manager"),
        ready = condition("Ready"),
        scheduled = condition("PodScheduled"),
    )
}

#[test]
fn similar_objects_take_some_hundred_bytes() {
    let size = pod(0).len();
    assert!((7_500..8_000).contains(&size), "{size}");
    // A hundred thousand of them would take 60 MB; at most 500 MB are allowed.
    let pods = bytes_per_object::<Pod>(Api::all, pod, "checkout-7c9d8f6b54-04999");
    assert!((200..600).contains(&pods), "{pods} bytes");

    let metadata = |index: usize| {
        let mut text = String::new();
        write!(
            text,
            r#"{{"metadata":{{"name":"object-{index:06}","namespace":"default","uid":"0c6c1f0a-9b1e-4d6e-8f3a-{index:012}",
            "resourceVersion":"{}","creationTimestamp":"2026-01-02T03:04:05Z","labels":{{"app":"bench","shard":"{}"}}}}}}"#,
            1000 + index,
            index % 7
        )
        .unwrap();
        text
    };
    // A million of them would take 300 MB; at most 600 MB are allowed.
    let metadata = bytes_per_object::<PartialObjectMeta<Pod>>(Api::all, metadata, "object-004999");
    assert!((100..400).contains(&metadata), "{metadata} bytes");
}
