//! Peak memory of reading a list. A test binary of its own, because it has a counting allocator.

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

/// A client of a server that generates its response frame by frame, so that the whole body is never in memory.
fn client() -> Client {
    let server = tower::service_fn(|_: Request<Body>| async {
        let items = (0..PODS).map(|index| format!("{}{}", if index == 0 { "" } else { "," }, pod(index)));
        let head = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":["#;
        let texts = [head.to_owned()].into_iter().chain(items).chain(["]}".to_owned()]);
        let frames = texts.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text))));
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

/// The result of `make`, the bytes that it retains, and the peak number of bytes.
fn cost<T>(make: impl FnOnce() -> T) -> (T, usize, usize) {
    let mut made = None;
    let counted = allocation_counter::measure(|| made = Some(make()));
    let kept = usize::try_from(counted.bytes_current).unwrap();
    (made.unwrap(), kept, usize::try_from(counted.bytes_max).unwrap())
}

#[test]
fn reading_a_list_needs_little_more_memory_than_its_objects() {
    let client = client();
    let api: Api<Pod> = Api::all(client.clone());
    let (list, kept, peak) = cost(|| block_on(api.list(&ListParams::default())).unwrap());
    assert_eq!(list.items.len(), PODS);
    assert!(
        peak * 10 <= kept * 11,
        "peak {peak} for {kept} retained: the whole body must never be in memory"
    );

    let (copies, exact, _) = cost(|| list.items.clone());
    // The vector may have spare capacity, its objects not: a clone has exactly what it needs.
    let spare = (list.items.capacity() - copies.len()) * size_of::<Pod>();
    assert!(
        (kept - spare) * 100 <= exact * 101,
        "{kept} retained, of it {spare} spare capacity, where {exact} is needed"
    );
    drop((list, copies));

    let mut request = Request::get("/api/v1/pods").body(Vec::new()).unwrap();
    request.extensions_mut().insert(Prune::default().managed_fields());
    let (pruned, without, peak) = cost(|| block_on(client.request_list::<Pod>(request)).unwrap());
    assert!(pruned.items.iter().all(|pod| pod.metadata.managed_fields.is_none()));
    assert!(peak * 10 <= without * 11, "peak {peak} for {without} retained");
    assert!(without * 10 <= kept * 8, "{without} retained without managedFields, {kept} with them");
}
