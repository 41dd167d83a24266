//! `Api`: reads, writes, lists and patches of objects.

use either::Either;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use kube_client::discovery::{self, Discovery, Scope};
use kube_client::{Api, Error, ResourceExt};
use serde_json::json;

use crate::server::{config_map, in_process};

fn code(err: &Error) -> u16 {
    match err {
        Error::Api(status) => status.code,
        other => panic!("expected an error of the server: {other:?}"),
    }
}

#[tokio::test]
async fn an_object_is_created_replaced_and_deleted() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let created = api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    assert!(created.uid().is_some());
    assert_eq!(api.get("a").await.unwrap().resource_version(), created.resource_version());

    let mut changed = created.clone();
    changed.data = Some([("key".to_owned(), "2".to_owned())].into());
    let replaced = api.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert_ne!(replaced.resource_version(), created.resource_version());
    let stale = api.replace("a", &PostParams::default(), &changed).await.unwrap_err();
    assert_eq!(code(&stale), 409);

    let deleted = api.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(matches!(deleted, Either::Right(status) if status.is_success()));
    assert_eq!(code(&api.get("a").await.unwrap_err()), 404);
    assert!(api.get_opt("a").await.unwrap().is_none());
    assert!(api.get_metadata_opt("a").await.unwrap().is_none());
    assert!(matches!(api.get("").await, Err(Error::BuildRequest(_))));
}

#[tokio::test]
async fn deleting_an_object_with_a_finalizer_returns_the_object() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let mut held = config_map("held", "1");
    held.metadata.finalizers = Some(vec!["example.org/hold".to_owned()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    let Either::Left(held) = api.delete("held", &DeleteParams::default()).await.unwrap() else {
        panic!("the object should still exist");
    };
    assert!(held.metadata.deletion_timestamp.is_some());
}

#[tokio::test]
async fn lists_are_paged_and_selected_by_label() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for number in 0..5 {
        let mut map = config_map(&format!("map-{number}"), "x");
        map.metadata.labels = Some([("odd".to_owned(), (number % 2).to_string())].into());
        api.create(&PostParams::default(), &map).await.unwrap();
    }
    let mut names = Vec::new();
    let mut params = ListParams::default().limit(2);
    loop {
        let page = api.list(&params).await.unwrap();
        assert!(page.items.len() <= 2);
        names.extend(page.iter().map(ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["map-0", "map-1", "map-2", "map-3", "map-4"]);
    let odd = api.list_metadata(&ListParams::default().labels("odd=1")).await.unwrap();
    assert_eq!(odd.items.len(), 2);
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("odd=1")).await.unwrap();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 3);
}

#[tokio::test]
async fn patches_are_applied_and_merged_and_conflicts_are_errors() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let apply =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}, "data": {"a": "1"}});
    let params = PatchParams::apply("test");
    let applied = api.patch("p", &params, &Patch::Apply(&apply)).await.unwrap();
    assert_eq!(applied.data.unwrap()["a"], "1");
    let merged =
        api.patch("p", &PatchParams::default(), &Patch::Merge(json!({"data": {"b": "2"}}))).await.unwrap();
    assert_eq!(merged.data.unwrap()["b"], "2");
    let meta = api.patch_metadata("p", &params, &Patch::Apply(&apply)).await.unwrap();
    assert_eq!(meta.name_any(), "p");
    let theirs =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}, "data": {"a": "9"}});
    let other = api.patch("p", &PatchParams::apply("other"), &Patch::Apply(&theirs)).await;
    assert_eq!(code(&other.unwrap_err()), 409);
}

#[tokio::test]
async fn a_strategic_patch_merges_lists_by_their_keys() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("p", "1")).await.unwrap();
    let strategic = Patch::Strategic(json!({"data": {"key": null, "other": "2"}}));
    let patched = api.patch("p", &PatchParams::default(), &strategic).await.unwrap();
    assert_eq!(patched.data.unwrap().into_iter().collect::<Vec<_>>(), [("other".to_owned(), "2".to_owned())]);
}

#[tokio::test]
async fn patch_status_changes_the_status_only() {
    let (client, _server) = in_process();
    let api: Api<Deployment> = Api::namespaced(client, "default");
    let deployment: Deployment = serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}},
                 "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}))
    .unwrap();
    api.create(&PostParams::default(), &deployment).await.unwrap();
    let patch = Patch::Merge(json!({"status": {"replicas": 3}, "spec": {"replicas": 9}}));
    let patched = api.patch_status("d", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.status.as_ref().unwrap().replicas, Some(3));
    assert_ne!(patched.spec.replicas, Some(9));
    let mut status = api.get_status("d").await.unwrap();
    status.status.as_mut().unwrap().replicas = Some(4);
    let replaced = api.replace_status("d", &PostParams::default(), &status).await.unwrap();
    assert_eq!(replaced.status.unwrap().replicas, Some(4));
}

#[tokio::test]
async fn discovered_kinds_are_used_with_dynamic_objects() {
    let (client, _server) = in_process();
    for discovery in
        [Discovery::new(client.clone()).run().await, Discovery::new(client.clone()).run_aggregated().await]
    {
        let discovery = discovery.unwrap();
        let (resource, capabilities) =
            discovery.resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment")).unwrap();
        assert_eq!((resource.plural.as_str(), &capabilities.scope), ("deployments", &Scope::Namespaced));
        assert!(capabilities.subresources.iter().any(|(sub, _)| sub.plural == "status"));
        assert!(discovery.has_group("") && discovery.failed_groups().next().is_none());
    }
    let (resource, capabilities) =
        discovery::pinned_kind(&client, &GroupVersionKind::gvk("", "v1", "Namespace")).await.unwrap();
    let api =
        Api::<DynamicObject>::dynamic(client.clone(), &resource, &capabilities.scope).constrain("nowhere");
    let created = api.create(&PostParams::default(), &DynamicObject::new("web", &resource)).await.unwrap();
    assert_eq!(created.types.unwrap().kind, "Namespace");

    let maps = ApiResource::erase::<ConfigMap>(&());
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), "web", &maps);
    api.create(&PostParams::default(), &DynamicObject::new("a", &maps)).await.unwrap();
    let everywhere = api.unconstrain().list(&ListParams::default()).await.unwrap();
    assert_eq!(everywhere.items[0].namespace().as_deref(), Some("web"));
    assert!(Api::<Namespace>::all(client.clone()).get_opt("web").await.unwrap().is_some());
    assert!(!client.apiserver_version().await.unwrap().git_version.is_empty());
}
