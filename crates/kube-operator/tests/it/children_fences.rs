//! Children as a set, while others write: copies, old caches, versions that are no longer served, pods that still run.

use crate::{
    children::{
        LABEL, SET, Site, add_namespace, apply, children_of, deployment, failure, map, map_elsewhere, newest,
        object, owner, owner_with_finalizer, recorded, secret, secrets, sites,
    },
    common::{ApiExt, config_maps, named, server},
    layers::{failing, interfering_with},
};
use http::Method;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Pod, Secret},
        rbac::v1::ClusterRole,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{Api, Client};
use kube_core::{
    ApiResource, DynamicObject, GroupVersionKind, Resource, ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_operator::children::{ChildState, Children, ChildrenError, RemovalState};
use kube_testserver::{ApiServer, BuiltInController, FaultResponse, Match};
use serde_json::json;

/// Config maps of an owner by their names.
fn maps<O: Resource<DynamicType: Default>>(owner: &O, names: &[&str]) -> Children {
    let mut children = Children::of(SET, owner);
    for name in names {
        children.add(name, &map(name, "x"));
    }
    children
}

#[tokio::test]
async fn an_owner_without_a_generation_is_the_newest_by_its_resource_version() {
    let (_server, client) = server();
    let read: Secret = secrets(&client).add(named("site")).await;
    // The record that the run itself writes is no change.
    drop(apply(maps(&read, &["a"]), &client).await);
    let cached = secrets(&client).get("site").await.unwrap();
    let change = json!({ "stringData": { "public": "true" } });
    let changed = secrets(&client).merge("site", change).await;
    assert_eq!(changed.metadata.generation, None);
    for names in [&["a", "b"][..], &[]] {
        let error = failure(maps(&cached, names), &client).await;
        let expected = format!(
            "Secret site in namespace default has changed since it was read: its resourceVersion is {}, and this reconcile works with {}",
            changed.resource_version().unwrap(),
            cached.resource_version().unwrap()
        );
        assert_eq!(error, expected);
        assert_eq!(children_of(&client).await, ["ConfigMap default/a"]);
    }
    assert!(apply(maps(&cached, &["a"]), &client).await.is_ready(), "nothing is created or deleted");
    drop(apply(maps(&changed, &["b"]), &client).await);
    assert_eq!(children_of(&client).await, ["ConfigMap default/b"]);
}

#[tokio::test]
async fn labels_and_annotations_of_the_owner_are_inputs_too() {
    let (_server, client) = server();
    let read = owner(&client).await;
    drop(apply(maps(&read, &["a"]), &client).await);
    let cached = newest(&client).await;
    for (field, key) in [("annotations", "example.com/paused"), ("labels", "tier")] {
        let change = json!({ "metadata": { field: { key: "true" } } });
        let changed = sites(&client).merge("site", change).await;
        assert_eq!(changed.metadata.generation, cached.metadata.generation);
        let error = failure(maps(&cached, &[]), &client).await;
        assert_eq!(
            error,
            format!(
                "NetworkPolicy site in namespace default has changed since it was read: its {field} are others"
            )
        );
        assert_eq!(children_of(&client).await, ["ConfigMap default/a"]);
        let undo = json!({ "metadata": { field: { key: null } } });
        sites(&client).merge("site", undo).await;
    }
    // Another write of the owner, as of its status, or of the record of children, is no change.
    assert!(apply(maps(&read, &[]), &client).await.is_ready());
    assert!(children_of(&client).await.is_empty());
}

#[tokio::test]
async fn a_copy_of_a_child_elsewhere_is_not_deleted() {
    let (_server, client) = server();
    add_namespace(&client).await;
    let site = owner_with_finalizer(&client).await;
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "other");
    let mut children = Children::of(SET, &site);
    children.add("role", &named::<ClusterRole>("site-role"));
    children.add("map", &map_elsewhere("map"));
    drop(apply(children, &client).await);
    // What `kubectl get -o yaml | sed | kubectl create -f -` and tools that mirror objects make.
    let copied = roles.get("site-role").await.unwrap().metadata;
    let copy = |name: &str| json!({ "metadata": { "name": name, "labels": copied.labels, "annotations": copied.annotations } });
    roles.create(&PostParams::default(), &object(copy("my-role"))).await.unwrap();
    elsewhere.add(object(copy("my-map"))).await;

    let next = Children::of(SET, &newest(&client).await);
    let removed: Vec<String> = apply(next, &client).await.removed.into_iter().map(|it| it.object).collect();
    assert_eq!(removed, ["ClusterRole site-role", "ConfigMap map in namespace other"]);
    assert!(roles.get_opt("my-role").await.unwrap().is_some());
    assert_eq!(children_of(&client).await, ["ConfigMap other/my-map"]);
    assert!(Children::of(SET, &newest(&client).await).delete(&client).await.is_ok());
    assert_eq!(children_of(&client).await, ["ConfigMap other/my-map"]);
}

#[tokio::test]
async fn an_object_changed_after_the_list_is_not_deleted() {
    let (server, client) = server();
    let site = owner(&client).await;
    drop(apply(maps(&site, &["a"]), &client).await);
    let keeper = client.clone();
    let interfering = interfering_with(&server, Method::DELETE, move || {
        let maps = config_maps(&keeper);
        async move {
            let keep = json!({ "metadata": { "ownerReferences": null } });
            maps.merge("a", keep).await;
        }
    });
    let status = maps(&site, &[]).apply(&interfering).await.unwrap();
    assert!(matches!(status.removed[0].state, RemovalState::Changed(_)), "{status:?}");
    assert!(
        status
            .to_string()
            .starts_with("ConfigMap a in namespace default has changed, and is looked at again: "),
        "{status}"
    );
    assert!(!status.has_failed());
    drop(apply(maps(&site, &[]), &client).await);
    assert!(
        config_maps(&client).get_opt("a").await.unwrap().is_some(),
        "its reference was removed to keep it"
    );
}

#[tokio::test]
async fn an_object_that_was_to_be_kept_is_not_deleted_with_the_owner() {
    let (_server, client) = server();
    let site = owner(&client).await;
    drop(apply(maps(&site, &["a", "b"]), &client).await);
    let keep = json!({ "metadata": { "ownerReferences": null } });
    config_maps(&client).merge("a", keep).await;
    let status = maps(&site, &["a", "b"]).delete(&client).await.unwrap();
    assert_eq!(status.removed.len(), 1);
    assert_eq!(children_of(&client).await, ["ConfigMap default/a"]);
}

#[tokio::test]
async fn a_workload_is_gone_when_its_pods_are() {
    let builder = ApiServer::builder().with(BuiltInController::Workloads).with(BuiltInController::Kubelet);
    let client = Client::new(builder.service().unwrap(), "default");
    let site = owner(&client).await;
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let labelled = ListParams::default().labels("app=web");
    let children = || {
        let mut children = Children::of(SET, &site);
        children.add("db", &secret("db"));
        children.add("web", &deployment("web", 1)).after("db");
        children
    };
    for wants_none in [true, false] {
        assert!(apply(children(), &client).await.children.iter().all(|it| it.change.is_some()));
        let pod = pods.list(&labelled).await.unwrap().items.remove(0).name_any();
        let finalizers = |list: serde_json::Value| json!({ "metadata": { "finalizers": list } });
        pods.merge(&pod, finalizers(json!(["example.com/runs"]))).await;
        let remove = || async {
            match wants_none {
                true => Children::of(SET, &newest(&client).await).apply(&client).await.unwrap().to_string(),
                false => {
                    children().delete(&client).await.map_or_else(|it| it.to_string(), |it| it.to_string())
                }
            }
        };
        for _ in 0..2 {
            let message = remove().await;
            assert!(message.contains("Deployment web in namespace default is being deleted"), "{message}");
            assert!(message.contains("Secret db in namespace default is deleted after"), "{message}");
            assert!(secrets(&client).get_opt("db").await.unwrap().is_some());
        }
        pods.merge(&pod, finalizers(json!(null))).await;
        assert_eq!(remove().await, "there are no children");
        assert!(secrets(&client).get_opt("db").await.unwrap().is_none());
        assert!(pods.list(&labelled).await.unwrap().items.is_empty());
    }
}

#[tokio::test]
async fn a_record_that_cannot_shrink_does_not_hide_what_was_done() {
    let (server, client) = server();
    let site = owner(&client).await;
    let mut first = maps(&site, &["a"]);
    first.add("s", &secret("s"));
    drop(apply(first, &client).await);
    let no_record =
        failing(&server, |method, path| method == Method::PATCH && path.contains("/networkpolicies/"));
    let status = maps(&newest(&client).await, &["a"]).apply(&no_record).await.unwrap();
    assert!(status.is_ready() && !status.has_failed(), "{status}");
    assert!(matches!(status.removed[0].state, RemovalState::Gone));
    assert_eq!(recorded(&newest(&client).await), "ConfigMap/default,Secret/default");
    drop(apply(maps(&newest(&client).await, &["a"]), &client).await);
    assert_eq!(recorded(&newest(&client).await), "ConfigMap/default");
}

/// For a moment, while its definition is changed.
#[tokio::test]
async fn a_path_that_is_not_served_is_no_child_that_is_gone() {
    let (server, client) = server();
    let site = owner(&client).await;
    drop(apply(maps(&site, &["a", "b"]), &client).await);
    let unknown = FaultResponse::status(404, "NotFound").body("404 page not found");
    server.fault(Match::delete::<ConfigMap>().name("b").nth(1), unknown);
    let status = maps(&newest(&client).await, &["a"]).apply(&client).await.unwrap();
    assert!(matches!(status.removed[0].state, RemovalState::Failed(_)), "{status}");
    assert_eq!(children_of(&client).await, ["ConfigMap default/a", "ConfigMap default/b"]);
    drop(apply(maps(&newest(&client).await, &["a"]), &client).await);
    assert_eq!(children_of(&client).await, ["ConfigMap default/a"]);
}

#[tokio::test]
async fn what_is_not_deleted_yet_is_told() {
    let (_server, client) = server();
    let site = owner(&client).await;
    drop(apply(maps(&site, &["old"]), &client).await);
    let mut next = Children::of(SET, &site);
    next.add("db", &map("db", "x")).ready_when("a volume", |_: &ConfigMap| false);
    next.add("web", &map("web", "x")).after("db");
    assert_eq!(
        apply(next, &client).await.to_string(),
        "db (ConfigMap db in namespace default) is not ready: it waits for a volume; web waits for db; ConfigMap old in namespace default \
         is deleted after all children are applied"
    );
    assert_eq!(children_of(&client).await, ["ConfigMap default/db", "ConfigMap default/old"]);
}

#[tokio::test]
async fn stopped_children_wait_for_none_that_has_failed() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let children = || {
        let mut children = Children::of(SET, &site);
        children.add("web", &deployment("web", 2)).after("db");
        children.add("db", &map("db", "x"));
        children
    };
    drop(apply(children(), &client).await);
    let other: Site = sites(&client)
        .add(object(json!({ "metadata": { "name": "other" }, "spec": { "podSelector": {} } })))
        .await;
    config_maps(&client).remove("db").await;
    config_maps(&client).add(crate::common::owned("db", &other)).await;
    let status = children().stopped(true).apply(&client).await.unwrap();
    assert!(matches!(status.child("db").unwrap().state, ChildState::Failed(_)), "{status}");
    let web: Deployment = Api::default_namespaced(client.clone()).get("web").await.unwrap();
    assert_eq!(web.spec.replicas, Some(0), "{status}");
}

fn definition(served: &[&str]) -> CustomResourceDefinition {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let version = |name: &&str| json!({ "name": name, "served": served.contains(name), "storage": *name == "v1", "schema": schema });
    let versions: Vec<_> = ["v1beta1", "v1"].iter().map(version).collect();
    object(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "pages.example.com" },
        "spec": { "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": { "plural": "pages", "singular": "page", "kind": "Page", "listKind": "PageList" } }
    }))
}

async fn serve(client: &Client, served: &[&str]) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("test").force();
    definitions.patch("pages.example.com", &params, &Patch::Apply(definition(served))).await.unwrap();
}

fn page(version: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", version, "Page"), "pages")
}

/// A server that serves both versions of pages, and an owner of pages in another namespace.
async fn owner_of_pages() -> (ApiServer, Client, Site) {
    let (server, client) = server();
    add_namespace(&client).await;
    serve(&client, &["v1beta1", "v1"]).await;
    let site = owner_with_finalizer(&client).await;
    (server, client, site)
}

/// A page in each of these versions.
fn pages(owner: &Site, versions: &[&str]) -> Children {
    let mut children = Children::of(SET, owner);
    for version in versions {
        let page = page(version);
        let child = DynamicObject::new(&format!("page-{version}"), &page).within("other");
        children.add_with(version, &child, &page);
    }
    children
}

/// Deletes children of a custom kind: first in the foreground, until the garbage collector has looked.
async fn delete(children: impl Fn() -> Children, client: &Client) {
    let error = children().delete(client).await.unwrap_err();
    assert!(matches!(error, ChildrenError::Deleting(_)), "{error}");
    assert!(children().delete(client).await.is_ok());
}

#[tokio::test]
async fn children_are_found_after_their_version_is_no_longer_served() {
    let (_server, client, site) = owner_of_pages().await;
    let children = || pages(&site, &["v1beta1"]);
    drop(apply(children(), &client).await);
    serve(&client, &["v1"]).await;
    let status = children().apply(&client).await.unwrap();
    assert!(status.has_failed(), "{status}");
    delete(children, &client).await;
    let left = Api::<DynamicObject>::all_with(client.clone(), &page("v1")).list(&ListParams::default()).await;
    assert!(left.unwrap().items.is_empty());

    // Where the whole kind is gone, its objects are, too.
    serve(&client, &["v1beta1", "v1"]).await;
    drop(apply(children(), &client).await);
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.delete("pages.example.com", &DeleteParams::default()).await.unwrap();
    assert!(children().delete(&client).await.is_ok());
}

#[tokio::test]
async fn a_kind_that_cannot_be_discovered_may_have_children() {
    let (server, client, site) = owner_of_pages().await;
    let children = || pages(&site, &["v1beta1"]);
    drop(apply(children(), &client).await);
    serve(&client, &["v1"]).await;
    let blind = failing(&server, |method, path| method == Method::GET && path == "/apis");
    let error = children().delete(&blind).await.unwrap_err();
    assert!(matches!(error, ChildrenError::Failed(_)), "{error}");
    assert!(
        error.to_string().starts_with("the Page objects in namespace other could not be listed: "),
        "{error}"
    );
}

#[tokio::test]
async fn two_versions_of_a_kind_are_children_of_one_set() {
    let (_server, client, site) = owner_of_pages().await;
    for _ in 0..2 {
        assert!(apply(pages(&site, &["v1beta1", "v1"]), &client).await.is_ready());
    }
    // Not an object of another owner with the same name.
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "other", &page("v1"));
    let mut foreign = DynamicObject::new("page-v2", &page("v1"));
    foreign.metadata.labels = Some([(LABEL.to_owned(), site.uid().unwrap())].into());
    api.create(&PostParams::default(), &foreign).await.unwrap();
    let newest = newest(&client).await;
    delete(|| Children::of(SET, &newest), &client).await;
    let left: Vec<String> =
        api.list(&ListParams::default()).await.unwrap().iter().map(ResourceExt::name_any).collect();
    assert_eq!(left, ["page-v2"]);
}
