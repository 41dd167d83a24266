//! How much memory lists take while they are read. A program of its own, because it has another allocator: one that counts.

#![allow(clippy::unwrap_used)] // a panic in here is a failed test

use std::convert::Infallible;

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Pod;
use kube_client::client::{Body, Prune};
use kube_client::{Api, Client, api::ListParams};
use tokio_test::block_on;

const PODS: usize = 3_000;

/// A server whose answers are made while they are read, so that they are nowhere as a whole.
fn client() -> Client {
    let server = tower::service_fn(|_: Request<Body>| async {
        let items = (0..PODS).map(|index| format!("{}{}", if index == 0 { "" } else { "," }, pod(index)));
        let head = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":["#;
        let pieces = [head.to_owned()].into_iter().chain(items).chain(["]}".to_owned()]);
        let frames = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece))));
        Ok::<_, Infallible>(Response::new(StreamBody::new(stream::iter(frames))))
    });
    Client::new(server, "default")
}

fn pod(index: usize) -> String {
    let fields: String = (0..12).map(|field| format!(r#""f:field-{field}":{{".":{{}}}},"#)).collect();
    let condition = r#"{"type":"Ready","status":"True"}"#;
    format!(
        r#"{{"metadata":{{"name":"pod-{index}","namespace":"default","annotations":{{"text":"{text}"}},
        "managedFields":[{{"manager":"m","operation":"Update","fieldsV1":{{{fields}"f:last":{{}}}}}}]}},
        "spec":{{"containers":[{{"name":"a","image":"i"}}],"volumes":[{{"name":"v"}},{{"name":"w"}},{{"name":"x"}}]}},
        "status":{{"conditions":[{condition},{condition},{condition},{condition},{condition}]}}}}"#,
        text = "x".repeat(1000)
    )
}

/// Whatever `make` makes, how many bytes that keeps, and the most that there were at a time.
fn cost<T>(make: impl FnOnce() -> T) -> (T, usize, usize) {
    let mut made = None;
    let counted = allocation_counter::measure(|| made = Some(make()));
    let kept = usize::try_from(counted.bytes_current).unwrap();
    (made.unwrap(), kept, usize::try_from(counted.bytes_max).unwrap())
}

#[test]
fn a_list_takes_little_more_than_its_objects_and_they_no_more_than_they_need() {
    let client = client();
    let api: Api<Pod> = Api::all(client.clone());
    let (list, kept, peak) = cost(|| block_on(api.list(&ListParams::default())).unwrap());
    assert_eq!(list.items.len(), PODS);
    assert!(
        peak * 10 <= kept * 11,
        "{peak} at peak for {kept} kept: the body must never be there as a whole"
    );

    let (copies, exact, _) = cost(|| list.items.clone());
    // The list itself may have room for more, its objects not: a copy has exactly what it needs.
    let room = (list.items.capacity() - copies.len()) * size_of::<Pod>();
    assert!((kept - room) * 100 <= exact * 101, "{kept} kept, of it {room} room, where {exact} is needed");
    drop((list, copies));

    let mut request = Request::get("/api/v1/pods").body(Vec::new()).unwrap();
    request.extensions_mut().insert(Prune::managed_fields());
    let (pruned, without, peak) = cost(|| block_on(client.request_list::<Pod>(request)).unwrap());
    assert!(pruned.items.iter().all(|pod| pod.metadata.managed_fields.is_none()));
    assert!(peak * 10 <= without * 11, "{peak} at peak for {without} kept");
    assert!(without * 10 <= kept * 8, "{without} kept without managedFields, {kept} with them");
}
