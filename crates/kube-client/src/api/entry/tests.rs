//! Entries against a service that answers with 404, an object or a conflict.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use tower::BoxError;

use super::*;
use crate::client::{Body, Client};

/// Responds to a GET with 404 or the object, and to a write with the written object; records the calls.
fn server(exists: bool) -> (Api<ConfigMap>, Arc<Mutex<Vec<String>>>) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&calls);
    let service = tower::service_fn(move |request: Request<Body>| {
        recorded.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
        async move {
            let (code, body) = match (request.method() == Method::GET, exists) {
                (true, false) => (404, br#"{"status":"Failure","reason":"NotFound","code":404}"#.to_vec()),
                (true, true) => (200, br#"{"metadata":{"name":"a","namespace":"ns"}}"#.to_vec()),
                (false, _) => (200, request.into_body().collect_bytes().await?.to_vec()),
            };
            Ok::<_, BoxError>(Response::builder().status(code).body(Body::from(body)).unwrap())
        }
    });
    (Api::namespaced(Client::new(service, "default"), "ns"), calls)
}

#[tokio::test]
async fn a_vacant_entry_is_created_once() {
    let (api, calls) = server(false);
    let entry = api.entry("a").await.unwrap().and_modify(|_| panic!("the object does not exist"));
    assert!(entry.get().is_none());
    let mut entry = entry.or_insert(ConfigMap::default);
    assert_eq!(entry.get().metadata.namespace.as_deref(), Some("ns"));
    entry.commit(&PostParams::default()).await.unwrap();
    entry.commit(&PostParams::default()).await.unwrap();
    let path = "/api/v1/namespaces/ns/configmaps";
    assert_eq!(*calls.lock().unwrap(), [format!("GET {path}/a"), format!("POST {path}")]);
}

#[tokio::test]
async fn an_occupied_entry_is_replaced_only_if_it_has_changed() {
    let (api, calls) = server(true);
    let mut entry = api.entry("a").await.unwrap().or_insert(ConfigMap::default);
    entry.commit(&PostParams::default()).await.unwrap();
    assert_eq!(calls.lock().unwrap().len(), 1);
    let mut entry = entry.and_modify(|map| map.immutable = Some(true));
    entry.commit(&PostParams { dry_run: true, ..PostParams::default() }).await.unwrap();
    entry.commit(&PostParams::default()).await.unwrap();
    entry.commit(&PostParams::default()).await.unwrap();
    assert_eq!(entry.into_object().immutable, Some(true));
    let put = "PUT /api/v1/namespaces/ns/configmaps/a";
    assert_eq!(calls.lock().unwrap()[1..], [put, put]);
}

#[tokio::test]
async fn an_object_of_another_name_or_namespace_is_an_error() {
    let (api, calls) = server(true);
    let mut entry = api.entry("a").await.unwrap();
    let map = entry.get_mut().unwrap();
    map.metadata.name = Some("b".into());
    let mut entry = entry.or_insert(ConfigMap::default);
    let refused = entry.commit(&PostParams::default()).await;
    assert!(matches!(refused, Err(CommitError::Validate(CommitValidationError::NameMismatch { .. }))));
    entry.get_mut().metadata.name = Some("a".into());
    entry.get_mut().metadata.namespace = None;
    let refused = entry.commit(&PostParams::default()).await;
    assert!(matches!(refused, Err(CommitError::Validate(CommitValidationError::NamespaceMismatch { .. }))));
    entry.get_mut().metadata.name = None;
    entry.get_mut().metadata.generate_name = Some("a-".into());
    let refused = entry.commit(&PostParams::default()).await;
    assert!(matches!(refused, Err(CommitError::Validate(CommitValidationError::GenerateName { .. }))));
    assert_eq!(calls.lock().unwrap().len(), 1);
}
