//! Objects by scope and by reference.

use k8s_openapi::api::core::v1::{ConfigMap, LocalObjectReference, Namespace, ObjectReference, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_client::Error;
use kube_client::api::{DynamicObject, ListParams, Resource};
use kube_client::client::scope::{self, NamespacedRef};

use crate::server::{create, in_process};

#[tokio::test]
async fn objects_are_read_and_listed_by_scope() {
    let (client, _server) = in_process();
    create(&client, "a").await.unwrap();
    let ns: Namespace = client.get("default", &scope::Cluster).await.unwrap();
    let ns = scope::Namespace::try_from(&ns).unwrap();
    let map: ConfigMap = client.get("a", &ns).await.unwrap();
    assert_eq!(map.metadata.name.as_deref(), Some("a"));
    let params = ListParams::default().fields("metadata.name=a");
    let in_namespace = client.list::<ConfigMap>(&params, &ns).await.unwrap();
    let in_cluster = client.list::<ConfigMap>(&params, &scope::Cluster).await.unwrap();
    let in_other = client.list::<ConfigMap>(&params, &scope::Namespace::from("kube-system")).await.unwrap();
    assert_eq!([in_namespace, in_cluster, in_other].map(|list| list.items.len()), [1, 1, 0]);
    assert!(scope::Namespace::try_from(&Namespace::default()).is_err());
}

#[tokio::test]
async fn references_are_resolved_to_objects() {
    let (client, _server) = in_process();
    let stored = create(&client, "a").await.unwrap();
    let assert_found = |map: ConfigMap| assert_eq!(map.metadata.uid, stored.metadata.uid);
    let reference = stored.object_ref(&());
    assert_found(client.fetch(&reference).await.unwrap());
    let without = ObjectReference { namespace: None, ..reference.clone() };
    assert_found(client.fetch(&without.within("default".to_owned())).await.unwrap());
    assert_found(client.fetch(&reference.within(None)).await.unwrap());
    let local = LocalObjectReference { name: "a".to_owned() };
    assert_found(client.fetch(&local.within(stored.metadata.namespace.clone())).await.unwrap());
    let owner: OwnerReference = stored.owner_ref(&()).unwrap();
    assert_found(client.fetch(&owner.within("default".to_owned())).await.unwrap());
    let dynamic: DynamicObject = client.fetch(&reference).await.unwrap();
    assert_eq!(dynamic.data["data"]["key"], "value");
    let ns: Namespace = client.get("default", &scope::Cluster).await.unwrap();
    let same: Namespace = client.fetch(&ns.owner_ref(&()).unwrap()).await.unwrap();
    assert_eq!(same.metadata.uid, ns.metadata.uid);
}

#[tokio::test]
async fn an_incomplete_reference_is_an_error_with_the_missing_field() {
    let (client, _server) = in_process();
    let missing = |result: Result<Secret, Error>| match result {
        Err(Error::RefResolve(what)) => what,
        other => panic!("{other:?}"),
    };
    let mut reference = ObjectReference::default();
    assert_eq!(missing(client.fetch(&reference).await), "it has no kind");
    reference.kind = Some("Secret".to_owned());
    assert_eq!(missing(client.fetch(&reference).await), "it has no apiVersion");
    reference.api_version = Some("v1".to_owned());
    assert_eq!(missing(client.fetch(&reference).await), "it has no name");
    let local = LocalObjectReference { name: "a".to_owned() };
    assert_eq!(missing(client.fetch(&local.within(None)).await), "it has no namespace");
}
