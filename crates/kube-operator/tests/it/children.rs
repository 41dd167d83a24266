//! Children as a set: applied in order, deleted when they are no longer wanted, whatever happens in between.

use crate::{
    common::{ApiExt, config_maps, eventually, named, owned, server},
    layers::{counted, dying_after, failing},
};
use futures::StreamExt;
use http::Method;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace, Secret, Service},
    networking::v1::NetworkPolicy,
    rbac::v1::ClusterRole,
};
use kube_client::{Api, Client};
use kube_core::{
    ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams},
};
use kube_operator::{
    apply::{Apply, Change},
    children::{ChildSet, ChildState, Children, ChildrenError, ChildrenStatus, RemovalState},
};
use kube_runtime::{Controller, controller::Action, watcher};
use kube_testserver::ApiServer;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

pub(crate) const SET: ChildSet = ChildSet::new("site-operator", "1.1.0");
const OLDER: ChildSet = ChildSet::new("site-operator", "1.0.0");
const NEWER: ChildSet = ChildSet::new("site-operator", "1.2.0");
pub(crate) const LABEL: &str = "site-operator/child-of";

pub(crate) fn maps_in(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

pub(crate) fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

/// Owners. Their kind has a generation, as most custom resources have.
pub(crate) type Site = NetworkPolicy;

pub(crate) fn sites(client: &Client) -> Api<Site> {
    Api::default_namespaced(client.clone())
}

fn site() -> Site {
    object(json!({ "metadata": { "name": "site" }, "spec": { "podSelector": {} } }))
}

pub(crate) async fn owner(client: &Client) -> Site {
    sites(client).add(site()).await
}

/// An owner whose cleanup deletes children.
pub(crate) async fn owner_with_finalizer(client: &Client) -> Site {
    let mut owner = site();
    owner.metadata.finalizers = Some(vec!["example.com/children".into()]);
    sites(client).add(owner).await
}

pub(crate) async fn newest(client: &Client) -> Site {
    sites(client).get("site").await.unwrap()
}

pub(crate) fn object<K: serde::de::DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

pub(crate) fn map(name: &str, text: &str) -> ConfigMap {
    object(json!({ "metadata": { "name": name }, "data": { "text": text } }))
}

pub(crate) fn map_elsewhere(name: &str) -> ConfigMap {
    object(json!({ "metadata": { "name": name, "namespace": "other" } }))
}

pub(crate) fn secret(name: &str) -> Secret {
    object(json!({ "metadata": { "name": name } }))
}

fn service(name: &str) -> Service {
    object(json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } }))
}

pub(crate) fn deployment(name: &str, replicas: i32) -> Deployment {
    let labels = json!({ "app": name });
    let pod = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    object(
        json!({ "metadata": { "name": name }, "spec": { "replicas": replicas, "selector": { "matchLabels": labels }, "template": pod } }),
    )
}

pub(crate) async fn add_namespace(client: &Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&Default::default(), &named("other")).await.unwrap();
}

pub(crate) async fn apply(children: Children, client: &Client) -> ChildrenStatus {
    children.apply(client).await.unwrap().into_result().unwrap()
}

pub(crate) async fn failure(children: Children, client: &Client) -> String {
    children.apply(client).await.unwrap_err().to_string()
}

pub(crate) fn changes(status: &ChildrenStatus) -> Vec<(&str, Option<Change>)> {
    status.children.iter().map(|child| (child.name.as_str(), child.change)).collect()
}

/// Kind and name of all objects with the label of the set.
pub(crate) async fn children_of(client: &Client) -> Vec<String> {
    let labelled = ListParams::default().labels(LABEL);
    let mut names = Vec::new();
    for it in Api::<ConfigMap>::all(client.clone()).list(&labelled).await.unwrap() {
        names.push(format!("ConfigMap {}/{}", it.namespace().unwrap(), it.name_any()));
    }
    for it in Api::<Secret>::all(client.clone()).list(&labelled).await.unwrap() {
        names.push(format!("Secret {}", it.name_any()));
    }
    for it in Api::<Service>::all(client.clone()).list(&labelled).await.unwrap() {
        names.push(format!("Service {}", it.name_any()));
    }
    names
}

pub(crate) fn recorded(owner: &Site) -> &str {
    owner.annotations().get("site-operator/children").map_or("", String::as_str)
}

#[tokio::test]
async fn children_are_applied_in_order_and_the_status_says_what_waits() {
    let (_server, client) = server();
    let owner = owner(&client).await;
    let children = || {
        let mut children = Children::of(SET, &owner);
        children.add("web", &map("web", "a")).after("db").after("config");
        children
            .add("db", &secret("db"))
            .after("config")
            .ready_when("a password", |secret: &Secret| secret.data.is_some());
        children.add("config", &map("config", "a"));
        children
    };
    let status = apply(children(), &client).await;
    assert_eq!(
        changes(&status),
        [("web", None), ("db", Some(Change::Created)), ("config", Some(Change::Created))]
    );
    assert_eq!(
        status.to_string(),
        "web waits for db; db (Secret db in namespace default) is not ready: it waits for a password"
    );
    assert_eq!(
        (status.is_ready(), status.reason(), status.action()),
        (false, "ChildrenNotReady", Action::await_change())
    );
    assert!(config_maps(&client).get_opt("web").await.unwrap().is_none());

    let password = json!({ "stringData": { "password": "x" } });
    secrets(&client).merge("db", password).await;
    let status = apply(children(), &client).await;
    assert_eq!(changes(&status)[0], ("web", Some(Change::Created)));
    assert_eq!(
        (status.is_ready(), status.reason(), status.to_string()),
        (true, "ChildrenReady", "all 3 children are ready".into())
    );
    let web: ConfigMap = status.object("web").unwrap().unwrap();
    assert_eq!(web.labels()[LABEL], owner.uid().unwrap());
    assert_eq!(web.owner_references()[0].controller, Some(true));
    assert_eq!(web.managed_fields()[0].manager.as_deref(), Some("site-operator"));
    assert_eq!(recorded(&newest(&client).await), "ConfigMap/default,Secret/default");
    assert!(matches!(status.object::<Service>("web"), Err(ChildrenError::Type { .. })));
    assert_eq!(status.object::<ConfigMap>("nothing").unwrap(), None);
}

#[tokio::test]
async fn nothing_is_written_if_nothing_changes_and_kinds_are_listed_once() {
    let (server, client) = server();
    owner(&client).await;
    let children = |owner: &Site| {
        let mut children = Children::of(SET, owner);
        children.add("a", &map("a", "x"));
        children.add("b", &map("b", "x")).after("a");
        children.add("c", &secret("c"));
        children
    };
    let status = apply(children(&newest(&client).await), &client).await;
    assert!(status.is_ready());
    let owner = newest(&client).await;
    let (counted, requests) = counted(&server);
    let status = apply(children(&owner), &counted).await;
    assert!(status.children.iter().all(|it| it.change == Some(Change::Unchanged)), "{status:?}");
    assert_eq!(*requests.lock().unwrap(), ["GET", "GET"], "a list of ConfigMaps, and one of Secrets");
}

#[tokio::test]
async fn what_is_no_longer_wanted_is_deleted_and_its_kind_forgotten() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let mut first = Children::of(OLDER, &site);
    first.add("map", &map("map", "a"));
    first.add("second", &map("second", "a"));
    first.add("secret", &secret("secret"));
    drop(apply(first, &client).await);
    // Not children: of nobody, of another owner, and one that someone wants to keep.
    config_maps(&client).add(named("foreign")).await;
    let other = secrets(&client).add(named("other-site")).await;
    let mut of_other = Children::of(OLDER, &other);
    of_other.add("map", &map("of-other", "a"));
    drop(apply(of_other, &client).await);
    let mut copy = map("copy", "a");
    copy.metadata.labels = Some([(LABEL.to_owned(), site.uid().unwrap())].into());
    config_maps(&client).add(copy).await;

    // The next release, after a time without an operator.
    let mut next = Children::of(SET, &newest(&client).await);
    next.add("map", &map("map", "a"));
    let status = apply(next, &client).await;
    let removed: Vec<_> = status
        .removed
        .iter()
        .map(|it| (it.object.as_str(), matches!(it.state, RemovalState::Gone)))
        .collect();
    assert_eq!(
        removed,
        [("ConfigMap second in namespace default", true), ("Secret secret in namespace default", true)]
    );
    assert_eq!((status.to_string(), status.action()), ("the child is ready".into(), Action::await_change()));
    let names: Vec<String> = config_maps(&client)
        .list(&Default::default())
        .await
        .unwrap()
        .iter()
        .map(ResourceExt::name_any)
        .collect();
    assert_eq!(names, ["copy", "foreign", "map", "of-other"]);
    assert_eq!(recorded(&newest(&client).await), "ConfigMap/default");
    assert_eq!(newest(&client).await.annotations()["site-operator/release"], "1.1.0");
}

#[tokio::test]
async fn nothing_is_deleted_before_all_others_are_applied() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let mut first = Children::of(SET, &site);
    first.add("old", &map("old", "a"));
    drop(apply(first, &client).await);
    let next = |is_ready: bool| {
        let mut next = Children::of(SET, &site);
        next.add("db", &secret("db")).ready_when("the moon", move |_: &Secret| is_ready);
        next.add("new", &map("new", "a")).after("db");
        next
    };
    assert!(!apply(next(false), &client).await.is_ready());
    assert_eq!(children_of(&client).await, ["ConfigMap default/old", "Secret db"]);
    assert!(apply(next(true), &client).await.is_ready());
    assert_eq!(children_of(&client).await, ["ConfigMap default/new", "Secret db"]);
}

#[tokio::test]
async fn an_object_with_a_finalizer_is_reported_until_it_is_gone() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let mut kept = map("old", "a");
    kept.metadata.finalizers = Some(vec!["example.com/keep".into()]);
    let mut first = Children::of(SET, &site);
    first.add("old", &kept);
    first.add("secret", &secret("secret"));
    drop(apply(first, &client).await);
    let none = || Children::of(SET, &site);
    let status = apply(none(), &client).await;
    assert_eq!(
        status.to_string(),
        "ConfigMap old in namespace default is being deleted",
        "the Secret is of the same stage"
    );
    assert_eq!(status.action(), Action::requeue(std::time::Duration::from_secs(10)));
    let remove = json!({ "metadata": { "finalizers": null } });
    config_maps(&client).merge("old", remove).await;
    assert_eq!(apply(none(), &client).await.to_string(), "there are no children");
    assert_eq!(recorded(&newest(&client).await), "");
}

#[tokio::test]
async fn foreign_objects_of_the_same_name_are_refused_and_left_alone() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let foreign = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "mine": "yes" } });
    config_maps(&client).patch("a", &PatchParams::apply("kubectl"), &Patch::Apply(foreign)).await.unwrap();
    let other: Secret = secrets(&client).add(named("other")).await;
    config_maps(&client).add(owned("b", &other)).await;
    let before = config_maps(&client).get("a").await.unwrap();
    let mut children = Children::of(SET, &site);
    children.add("a", &map("a", "x"));
    children.add("b", &map("b", "x"));
    children.add("c", &map("c", "x"));
    children.add("d", &map("d", "x")).after("a");
    let status = children.apply(&client).await.unwrap();
    assert_eq!(status.reason(), "ChildrenFailed");
    assert_eq!(status.action(), Action::retry());
    let error = status.into_result().unwrap_err().to_string();
    assert_eq!(
        error,
        "a has failed: ConfigMap a in namespace default exists already, and is no child of NetworkPolicy site in namespace default: it has no \
         owner, and was written by \"kubectl\". Delete it, or choose another name; b has failed: ConfigMap b in namespace default exists \
         already, and is no child of NetworkPolicy site in namespace default: it is controlled by Secret other. Delete it, or choose another \
         name; d waits for a"
    );
    assert_eq!(config_maps(&client).get("a").await.unwrap(), before);
    assert_eq!(children_of(&client).await, ["ConfigMap default/c"]);
}

#[tokio::test]
async fn children_of_an_earlier_apply_get_the_label_and_stay() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let earlier = Apply::owned_by(client.clone(), "site-operator", &site).unwrap();
    let before = earlier.apply(&map("a", "x")).await.unwrap().object;
    let mut children = Children::of(SET, &site);
    children.add("a", &map("a", "y"));
    let status = apply(children, &client).await;
    let after: ConfigMap = status.object("a").unwrap().unwrap();
    assert_eq!((after.uid(), &after.labels()[LABEL]), (before.uid(), &site.uid().unwrap()));
    assert_eq!(after.data.unwrap()["text"], "y");
    assert_eq!(after.metadata.managed_fields.unwrap().len(), 1);
}

#[tokio::test]
async fn an_older_release_deletes_nothing_that_a_newer_one_has_recorded() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let mut newer = Children::of(NEWER, &site);
    newer.add("a", &map("a", "x"));
    newer.add("b", &map("b", "x"));
    newer.add("c", &secret("c"));
    drop(apply(newer, &client).await);
    // With what a lagging cache shows, too.
    for site in [site.clone(), newest(&client).await] {
        let mut older = Children::of(SET, &site);
        older.add("a", &map("a", "x"));
        let status = apply(older, &client).await;
        assert_eq!(status.kept_for.as_deref(), Some("1.2.0"));
        assert!(
            status
                .to_string()
                .ends_with("nothing is deleted: the newer release 1.2.0 has recorded the children"),
            "{status}"
        );
        assert!(status.is_ready());
        assert_eq!(children_of(&client).await.len(), 3);
    }
    let owner = newest(&client).await;
    assert_eq!(
        (recorded(&owner), &*owner.annotations()["site-operator/release"]),
        ("ConfigMap/default,Secret/default", "1.2.0")
    );
}

#[tokio::test]
async fn an_owner_that_has_changed_since_it_was_read_makes_and_deletes_nothing() {
    let (_server, client) = server();
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let owner = deployments.add(deployment("site", 1)).await;
    let children = |owner: &Deployment, names: &[&str]| {
        let mut children = Children::of(SET, owner);
        for name in names {
            children.add(name, &map(name, "x"));
        }
        children
    };
    drop(apply(children(&owner, &["a"]), &client).await);
    let change = json!({ "spec": { "replicas": 2 } });
    let changed = deployments.merge("site", change).await;
    for names in [&["a", "b"][..], &[]] {
        let error = failure(children(&owner, names), &client).await;
        assert_eq!(
            error,
            "Deployment site in namespace default has changed since it was read: its generation is 2, and this reconcile works with 1"
        );
        assert_eq!(children_of(&client).await, ["ConfigMap default/a"]);
    }
    drop(apply(children(&changed, &["b"]), &client).await);
    assert_eq!(children_of(&client).await, ["ConfigMap default/b"]);
    deployments.remove("site").await;
    let error = failure(children(&changed, &["a", "b"]), &client).await;
    assert!(error.contains("has changed since it was read: it was deleted, or "), "{error}");
}

#[tokio::test]
async fn a_record_that_is_older_than_the_cache_shows_is_written_again_before_a_creation() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let with_secret = |site: &Site| {
        let mut children = Children::of(SET, site);
        children.add("s", &secret("s"));
        children
    };
    drop(apply(with_secret(&site), &client).await);
    let cached = newest(&client).await;
    drop(apply(Children::of(SET, &cached), &client).await);
    assert_eq!(recorded(&newest(&client).await), "");
    drop(apply(with_secret(&cached), &client).await);
    assert_eq!(recorded(&newest(&client).await), "Secret/default");
    drop(apply(Children::of(SET, &newest(&client).await), &client).await);
    assert!(children_of(&client).await.is_empty());
}

#[tokio::test]
async fn what_cannot_be_listed_is_neither_written_nor_deleted_nor_forgotten() {
    let (server, client) = server();
    let site = owner(&client).await;
    let mut first = Children::of(SET, &site);
    first.add("a", &map("a", "x"));
    first.add("s", &secret("s"));
    drop(apply(first, &client).await);
    let site = newest(&client).await;
    let no_secrets = failing(&server, |method, path| method == Method::GET && path.ends_with("/secrets"));
    let no_maps = failing(&server, |method, path| method == Method::GET && path.ends_with("/configmaps"));
    let next = || {
        let mut next = Children::of(SET, &site);
        next.add("a", &map("a", "y"));
        next
    };
    let status = next().apply(&no_secrets).await.unwrap();
    assert!(status.is_ready() && status.has_failed());
    let message = status.to_string();
    assert!(
        message.starts_with("the Secret objects in namespace default could not be listed: "),
        "{message}"
    );
    let status = next().apply(&no_maps).await.unwrap();
    let message = status.to_string();
    assert!(
        message.starts_with("a has failed: failed to list the ConfigMap objects in namespace default: "),
        "{message}"
    );
    assert_eq!(children_of(&client).await, ["ConfigMap default/a", "Secret s"]);
    assert_eq!(recorded(&newest(&client).await), "ConfigMap/default,Secret/default");
    let error = next().delete(&no_secrets).await.unwrap_err();
    assert!(matches!(error, ChildrenError::Failed(_)), "{error}");
    drop(apply(next(), &client).await);
    assert_eq!(children_of(&client).await, ["ConfigMap default/a"]);
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table: one row for each error")]
async fn an_invalid_set_is_one_clear_error_without_a_request() {
    let (server, client) = server();
    let site = owner(&client).await;
    let (client, requests) = counted(&server);
    let unstored = named::<Site>("site");
    let nameless = ConfigMap::default();
    let mut sets: Vec<(Children, &str)> = Vec::new();
    let mut add = |owner: &Site, set, fill: &dyn Fn(&mut Children), expected| {
        let mut children = Children::of(set, owner);
        fill(&mut children);
        sets.push((children, expected));
    };
    add(
        &unstored,
        SET,
        &|it| {
            it.add("a", &map("a", "x"));
        },
        "the owner NetworkPolicy site has no metadata.uid: expected an object that was read from the server",
    );
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &nameless);
        },
        "child \"a\": a child ConfigMap of NetworkPolicy site in namespace default has no metadata.name",
    );
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &map("a", "x")).after("b");
            it.add("b", &map("b", "x")).after("a");
        },
        "the children come after each other in a circle: a after b after a",
    );
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &map("a", "x")).after("z");
        },
        "child \"a\" comes after \"z\", which is not in the set: expected one of \"a\"",
    );
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &map("x", "x"));
            it.add("b", &map("x", "y"));
        },
        "the children \"a\" and \"b\" are both ConfigMap x in namespace default",
    );
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &map("x", "x"));
            it.add("a", &map("y", "y"));
        },
        "two children are named \"a\"",
    );
    let needs_finalizer = |object: &str| {
        format!(
            "child \"a\", {object}, cannot have a reference to its owner NetworkPolicy site in namespace default, so nothing deletes it with the \
             owner: expected a finalizer on the owner, whose cleanup calls Children::delete"
        )
    };
    let (elsewhere, role) =
        (needs_finalizer("ConfigMap a in namespace other"), needs_finalizer("ClusterRole a"));
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &map_elsewhere("a"));
        },
        &elsewhere,
    );
    add(
        &site,
        SET,
        &|it| {
            it.add("a", &named::<ClusterRole>("a"));
        },
        &role,
    );
    add(
        &site,
        ChildSet::new("site-operator", "one"),
        &|_| {},
        "the release \"one\" of the set of children \"site-operator\" is invalid: expected a semantic version such as 1.2.3: unexpected character 'o' while parsing major version number",
    );
    for (children, expected) in sets {
        assert_eq!(failure(children, &client).await, expected);
    }
    assert!(requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_paused_owner_or_one_that_is_being_deleted_changes_nothing() {
    let (server, client) = server();
    let site = owner_with_finalizer(&client).await;
    let children = |site: &Site| {
        let mut children = Children::of(SET, site);
        children.add("a", &map("a", "x"));
        children
    };
    let (counted, requests) = counted(&server);
    let status = apply(children(&site).paused(true), &counted).await;
    assert_eq!(
        (status.to_string(), status.reason(), status.is_ready()),
        ("nothing was written: the owner is paused".into(), "ChildrenHeld", false)
    );
    sites(&client).delete("site", &DeleteParams::default()).await.unwrap();
    let status = apply(children(&newest(&client).await), &counted).await;
    assert_eq!(status.to_string(), "nothing was written: the owner is being deleted");
    let error = children(&site).paused(true).delete(&counted).await.unwrap_err();
    assert!(matches!(error, ChildrenError::Deleting(_)));
    assert!(requests.lock().unwrap().is_empty());
    // With what the cache showed before the deletion.
    assert!(failure(children(&site), &client).await.ends_with("it is being deleted"));
    assert!(children_of(&client).await.is_empty());
}

#[tokio::test]
async fn stopped_workloads_run_no_pods_and_none_waits_for_another() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let children = || {
        let mut children = Children::of(SET, &site);
        children.add("db", &deployment("db", 3)).ready_when("never", |_: &Deployment| false);
        children.add("web", &deployment("web", 2)).after("db");
        children
    };
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let status = apply(children(), &client).await;
    assert!(matches!(status.child("web").unwrap().state, ChildState::Waiting(_)));
    let status = apply(children().stopped(true), &client).await;
    assert_eq!(
        (status.to_string(), status.reason()),
        ("db is stopped; web is stopped".into(), "ChildrenStopped")
    );
    for name in ["db", "web"] {
        assert_eq!(deployments.get(name).await.unwrap().spec.replicas, Some(0));
    }
    drop(apply(children(), &client).await);
    assert_eq!(deployments.get("db").await.unwrap().spec.replicas, Some(3));
    assert_eq!(deployments.get("web").await.unwrap().spec.replicas, Some(0), "it waits for the other again");
}

#[tokio::test]
async fn a_dry_run_says_what_would_happen_and_stores_nothing() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let mut first = Children::of(SET, &site);
    first.add("a", &map("a", "x"));
    first.add("b", &map("b", "x"));
    first.add("s", &secret("s"));
    drop(apply(first, &client).await);
    let before = (newest(&client).await, config_maps(&client).list(&Default::default()).await.unwrap().items);
    let mut next = Children::of(NEWER, &before.0);
    next.add("a", &map("a", "y"));
    next.add("b", &map("b", "x"));
    next.add("c", &map("c", "x"));
    let status = apply(next.dry_run(true), &client).await;
    assert_eq!(
        changes(&status),
        [("a", Some(Change::Changed)), ("b", Some(Change::Unchanged)), ("c", Some(Change::Created))]
    );
    assert!(status.dry_run && matches!(status.removed[0].state, RemovalState::Gone));
    assert_eq!(status.removed[0].object, "Secret s in namespace default");
    assert_eq!(
        status.to_string(),
        "a (ConfigMap a in namespace default) would be changed; c (ConfigMap c in namespace default) would be created; Secret s in namespace \
         default would be deleted"
    );
    let mut blocked = Children::of(NEWER, &before.0);
    blocked.add("a", &map("a", "y")).ready_when("never", |_: &ConfigMap| false);
    blocked.add("b", &map("b", "x")).after("a");
    assert_eq!(
        apply(blocked.dry_run(true), &client).await.to_string(),
        "a (ConfigMap a in namespace default) would be changed, and is not ready: it waits for never; b waits for a; Secret s in namespace \
         default is deleted after all children are applied"
    );
    let mut same = Children::of(SET, &before.0);
    same.add("a", &map("a", "x"));
    same.add("b", &map("b", "x"));
    same.add("s", &secret("s"));
    assert_eq!(apply(same.dry_run(true), &client).await.to_string(), "nothing would change");
    let after = (newest(&client).await, config_maps(&client).list(&Default::default()).await.unwrap().items);
    assert_eq!(before, after);
    assert!(secrets(&client).get_opt("s").await.unwrap().is_some());
    let status = Children::of(NEWER, &before.0).dry_run(true).delete(&client).await.unwrap();
    assert_eq!(status.removed.len(), 3);
    assert!(status.to_string().ends_with("; Secret s in namespace default would be deleted"), "{status}");
    assert_eq!(children_of(&client).await.len(), 3);
}

#[tokio::test]
async fn children_elsewhere_have_a_label_only_and_all_are_deleted_in_reverse() {
    let (_server, client) = server();
    add_namespace(&client).await;
    let site = owner_with_finalizer(&client).await;
    let children = |may_go: bool| {
        let mut children = Children::of(SET, &site);
        children.add("config", &map_elsewhere("config"));
        children.add("role", &named::<ClusterRole>("site-role"));
        children
            .add("web", &map("web", "x"))
            .after("config")
            .delete_when("an empty queue", move |_: &ConfigMap| may_go);
        children
    };
    let mut with_old = children(false);
    with_old.add("old", &secret("old")).after("web");
    drop(apply(with_old, &client).await);
    let config = maps_in(&client, "other").get("config").await.unwrap();
    assert!(config.owner_references().is_empty());
    assert_eq!(config.annotations()["site-operator/owner"], "default/site");
    let found = SET.owner_of::<Site>(&config).unwrap();
    assert_eq!((found.name.as_str(), found.namespace.as_deref()), ("site", Some("default")));
    let places = "ClusterRole.rbac.authorization.k8s.io,ConfigMap/default,ConfigMap/other,Secret/default";
    let mut recorded: Vec<String> = recorded(&newest(&client).await).split(',').map(str::to_owned).collect();
    recorded.sort();
    assert_eq!(recorded.join(","), places);

    sites(&client).delete("site", &DeleteParams::default()).await.unwrap();
    let error = children(false).delete(&client).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "not all children are gone: ConfigMap web in namespace default is deleted after an empty queue; ConfigMap config in namespace other \
         is deleted after web"
    );
    assert_eq!(
        children_of(&client).await,
        ["ConfigMap default/web", "ConfigMap other/config"],
        "what is not wanted has gone first"
    );
    let status = children(true).delete(&client).await.unwrap();
    let order: Vec<&str> = status.removed.iter().map(|it| it.object.as_str()).collect();
    assert_eq!(order, ["ConfigMap web in namespace default", "ConfigMap config in namespace other"]);
    assert!(children_of(&client).await.is_empty());
    assert!(Api::<ClusterRole>::all(client.clone()).get_opt("site-role").await.unwrap().is_none());
    assert!(children(true).delete(&client).await.is_ok(), "a second time, as after a crash");
}

#[tokio::test]
async fn a_child_that_is_being_deleted_is_made_again_when_it_is_gone() {
    let (_server, client) = server();
    let site = owner(&client).await;
    let mut kept = map("a", "x");
    kept.metadata.finalizers = Some(vec!["example.com/keep".into()]);
    let children = || {
        let mut children = Children::of(SET, &site);
        children.add("a", &kept);
        children
    };
    drop(apply(children(), &client).await);
    let first = config_maps(&client).get("a").await.unwrap().uid();
    config_maps(&client).remove("a").await;
    let status = apply(children(), &client).await;
    assert!(
        status.to_string().contains("is not ready: it is being deleted, and will be created again"),
        "{status}"
    );
    let remove = json!({ "metadata": { "finalizers": null } });
    config_maps(&client).merge("a", remove).await;
    assert!(apply(children(), &client).await.is_ready());
    assert_ne!(config_maps(&client).get("a").await.unwrap().uid(), first);
}

/// What the program wants, by release.
fn of_release(release: usize, owner: &Site) -> Children {
    let sets = [OLDER, SET, NEWER];
    let mut children = Children::of(sets[release], owner);
    match release {
        0 => {
            children.add("a", &map("a", "0"));
            children.add("b", &map("b", "0")).after("a");
            children.add("s", &secret("s")).after("b");
        }
        1 => {
            children.add("a", &map("a", "1")).after("service");
            children.add("service", &service("service"));
        }
        _ => {
            children.add("s", &secret("s"));
            children.add("elsewhere", &map_elsewhere("elsewhere")).after("s");
        }
    }
    children
}

async fn reconcile(client: &Client, release: usize) -> Result<(), ChildrenError> {
    let read = sites(client).get("site").await;
    let read = read.map_err(|source| ChildrenError::Owner { action: "read", owner: "site".into(), source });
    of_release(release, &read?).apply(client).await?.into_result().map(drop)
}

#[tokio::test]
async fn a_crash_after_any_write_leaves_no_orphan_and_no_duplicate() {
    let wanted = [
        (vec!["ConfigMap default/a", "ConfigMap default/b", "Secret s"], "ConfigMap/default,Secret/default"),
        (vec!["ConfigMap default/a", "Service service"], "ConfigMap/default,Service/default"),
        (vec!["ConfigMap other/elsewhere", "Secret s"], "ConfigMap/other,Secret/default"),
    ];
    let mut crashes = 0;
    for writes in 0.. {
        // After the crash, the same release goes on; or the last one starts, because all of that happened while nobody looked.
        let mut crashed_in = None;
        for restarts_with_last in [false, true] {
            let server = ApiServer::new();
            let client = Client::new(server.clone(), "default");
            add_namespace(&client).await;
            owner_with_finalizer(&client).await;
            let dying = dying_after(&server, writes);
            crashed_in = None;
            for release in 0..wanted.len() {
                if reconcile(&dying, release).await.is_err() {
                    crashed_in = Some(release);
                    break;
                }
            }
            let Some(release) = crashed_in else { break };
            let later = if restarts_with_last { wanted.len() - 1 } else { release };
            for (release, (children, places)) in wanted.iter().enumerate().skip(later) {
                reconcile(&client, release).await.unwrap();
                assert_eq!(
                    children_of(&client).await,
                    *children,
                    "after write {writes}, in release {release}"
                );
                assert_eq!(
                    recorded(&newest(&client).await),
                    *places,
                    "after write {writes}, in release {release}"
                );
            }
            crashes += 1;
        }
        if crashed_in.is_none() {
            break;
        }
    }
    assert!(crashes >= 2 * 14, "{crashes}");
}

#[tokio::test]
async fn a_crash_during_the_deletion_leaves_nothing() {
    for writes in 0..4 {
        let server = ApiServer::new();
        let client = Client::new(server.clone(), "default");
        add_namespace(&client).await;
        owner_with_finalizer(&client).await;
        reconcile(&client, 2).await.unwrap();
        sites(&client).delete("site", &DeleteParams::default()).await.unwrap();
        let site = newest(&client).await;
        let dying = dying_after(&server, writes);
        assert_eq!(of_release(2, &site).delete(&dying).await.is_err(), writes < 2);
        assert!(of_release(2, &site).delete(&client).await.is_ok());
        assert!(children_of(&client).await.is_empty());
    }
}

#[tokio::test]
async fn a_controller_sees_its_children_and_no_foreign_objects() {
    let (_server, client) = server();
    add_namespace(&client).await;
    let site = owner_with_finalizer(&client).await;
    for name in ["foreign", "other"] {
        config_maps(&client).add(named(name)).await;
    }
    let seen = Arc::new(Mutex::new(Vec::<String>::new()));
    let log = Arc::clone(&seen);
    let controller = Controller::new(sites(&client), watcher::Config::default().fields("metadata.name=site"))
        .owns(config_maps(&client), SET.watch())
        .watches(maps_in(&client, "other"), SET.watch(), move |map: ConfigMap| {
            log.lock().unwrap().push(map.name_any());
            SET.owner_of(&map)
        });
    let reconcile = |site: Arc<Site>, client: Arc<Client>| async move {
        let mut children = Children::of(SET, &*site);
        children.add("a", &map("a", "x"));
        children.add("b", &map_elsewhere("b")).after("a");
        let status = children.apply(&client).await.unwrap();
        Ok::<_, Infallible>(status.action())
    };
    let running = controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(client.clone()));
    let running = tokio::spawn(running.for_each(|_| async {}));
    let exists =
        |api: Api<ConfigMap>, name: &'static str| async move { api.get_opt(name).await.unwrap().is_some() };
    for (namespace, name) in [("default", "a"), ("other", "b")] {
        eventually(|| exists(maps_in(&client, namespace), name)).await;
        // Made again, because its deletion triggers a reconcile of the owner.
        maps_in(&client, namespace).remove(name).await;
        eventually(|| exists(maps_in(&client, namespace), name)).await;
    }
    maps_in(&client, "other").add(named("foreign")).await;
    running.abort();
    assert!(seen.lock().unwrap().iter().all(|name| name == "b"));
    assert_eq!(children_of(&client).await, ["ConfigMap default/a", "ConfigMap other/b"]);
    assert_eq!(site.name_any(), "site");
}
