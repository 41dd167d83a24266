//! Children applied to a server that tracks field managers.

use crate::{
    common::{
        ApiExt, config_maps, eventually, expect_next, named, owned, server, spawn_outputs, wait_for_change,
    },
    layers::counted,
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Service},
};
use kube_client::{Api, Client};
use kube_core::{
    ApiResource, DynamicObject, ResourceExt, Sparse,
    params::{DeleteParams, Patch, PatchParams},
};
use kube_operator::apply::{Apply, ApplyError, Change, InvalidChild, OnConflict};
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::{Action, Related},
    reflector::{self, Store},
    watcher,
};
use serde_json::json;
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

const MANAGER: &str = "sites.example.com";

/// The number of requests since the last call.
fn sent(requests: &Mutex<Vec<String>>) -> usize {
    requests.lock().unwrap().drain(..).count()
}

async fn owner(client: &Client) -> Secret {
    Api::default_namespaced(client.clone()).add(named("site")).await
}

fn child(text: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": "pages" }, "data": { "index": text } })).unwrap()
}

fn apply(client: &Client, owner: &Secret) -> Apply {
    Apply::owned_by(client.clone(), MANAGER, owner).unwrap()
}

async fn change(children: &Apply, child: &ConfigMap) -> Change {
    children.apply(child).await.unwrap().change
}

/// Sets a field as another manager.
async fn kubectl_sets(client: &Client, key: &str, value: &str) {
    let patch = Patch::Apply(json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { key: value } }));
    config_maps(client).patch("pages", &PatchParams::apply("kubectl").force(), &patch).await.unwrap();
}

#[tokio::test]
async fn a_child_is_created_changed_and_left_alone() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    let created = children.apply(&child("a")).await.unwrap();
    assert_eq!(created.change, Change::Created);
    let stored = config_maps(&client).get("pages").await.unwrap();
    assert_eq!(stored, *created.object);
    assert_eq!(stored.owner_references()[0].name, "site");
    assert_eq!(stored.owner_references()[0].controller, Some(true));
    assert_eq!(stored.managed_fields()[0].manager.as_deref(), Some(MANAGER));

    let unchanged = children.apply(&child("a")).await.unwrap();
    assert_eq!((unchanged.change, &*unchanged.object), (Change::Unchanged, &stored));
    assert_eq!(change(&children, &child("b")).await, Change::Changed);
    let without_data = named("pages");
    assert_eq!(change(&children, &without_data).await, Change::Changed, "what is missing now is removed");
    assert_eq!(config_maps(&client).get("pages").await.unwrap().data, None);
    config_maps(&client).remove("pages").await;
    assert_eq!(change(&children, &child("b")).await, Change::Created);
}

#[tokio::test]
async fn an_unchanged_child_costs_one_request_or_none_with_a_store() {
    let (server, client) = server();
    let children = apply(&client, &owner(&client).await);
    children.apply(&child("a")).await.unwrap();
    kubectl_sets(&client, "theirs", "1").await;

    let (counting, requests) = counted(&server);
    let children = apply(&counting, &owner_again(&client).await);
    assert_eq!(change(&children, &child("a")).await, Change::Unchanged);
    assert_eq!(sent(&requests), 1);

    let (store, writer) = reflector::store::<ConfigMap>();
    let mut fill =
        Box::pin(watcher::watcher(config_maps(&client), watcher::Config::default()).reflect(writer));
    let cached = async {
        use futures::StreamExt;
        while !store.is_ready() {
            fill.next().await;
        }
    };
    cached.await;
    let unchanged = children.apply_cached(&child("a"), &store).await.unwrap();
    assert_eq!((unchanged.change, sent(&requests)), (Change::Unchanged, 0));
    assert_eq!(unchanged.object.data.as_ref().unwrap()["theirs"], "1");
    let changed = children.apply_cached(&child("b"), &store).await.unwrap();
    assert_eq!((changed.change, sent(&requests)), (Change::Changed, 2));
    let lagging = children.apply_cached(&child("b"), &store).await.unwrap();
    assert_eq!((lagging.change, sent(&requests)), (Change::Unchanged, 1), "the store lags behind");
}

async fn owner_again(client: &Client) -> Secret {
    Api::default_namespaced(client.clone()).get("site").await.unwrap()
}

#[tokio::test]
async fn lists_with_keys_and_defaults_are_recognized_as_unchanged() {
    let (server, client) = server();
    let owner = owner(&client).await;
    let service = json!({
        "metadata": { "name": "web", "labels": { "app": "web" } },
        "spec": { "selector": { "app": "web" }, "ports": [{ "name": "http", "port": 80 }, { "name": "tls", "port": 443 }] },
    });
    let container = json!({ "name": "web", "image": "web:1", "ports": [{ "containerPort": 80 }], "env": [{ "name": "A", "value": "1" }] });
    let deployment = json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [container] } },
        },
    });
    let service: Service = serde_json::from_value(service).unwrap();
    let deployment: Deployment = serde_json::from_value(deployment).unwrap();
    let (counting, requests) = counted(&server);
    let children = apply(&counting, &owner);
    assert_eq!(children.apply(&service).await.unwrap().change, Change::Created);
    assert_eq!(children.apply(&deployment).await.unwrap().change, Change::Created);
    sent(&requests);
    assert_eq!(children.apply(&service).await.unwrap().change, Change::Unchanged);
    assert_eq!(children.apply(&deployment).await.unwrap().change, Change::Unchanged);
    assert_eq!(sent(&requests), 2, "no patches");
}

#[tokio::test]
async fn values_that_the_server_stores_in_another_form_are_reported_as_unchanged() {
    let (_server, client) = server();
    let owner = owner(&client).await;
    let children = apply(&client, &owner);
    let quota = |cpu: &str| -> k8s_openapi::api::core::v1::ResourceQuota {
        serde_json::from_value(json!({ "metadata": { "name": "q" }, "spec": { "hard": { "cpu": cpu } } }))
            .unwrap()
    };
    assert_eq!(children.apply(&quota("1000m")).await.unwrap().change, Change::Created);
    let before = children.apply(&quota("1000m")).await.unwrap();
    assert_eq!(before.change, Change::Unchanged);
}

#[tokio::test]
async fn drift_of_a_controlled_child_is_corrected() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    children.apply(&child("a")).await.unwrap();
    kubectl_sets(&client, "index", "edited").await;
    let careful = children.clone().on_conflict(OnConflict::Fail);
    let Err(ApplyError::Conflict(conflict)) = careful.apply(&child("a")).await else { panic!("no conflict") };
    let expected = "ConfigMap pages: field manager \"sites.example.com\" may not change fields of other managers: .data.index of \"kubectl\"";
    assert_eq!(conflict.to_string(), expected);
    assert_eq!(change(&children, &child("a")).await, Change::Changed);
    assert_eq!(config_maps(&client).get("pages").await.unwrap().data.unwrap()["index"], "a");
}

#[tokio::test]
async fn an_object_that_was_there_before_is_adopted_but_not_seized() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    config_maps(&client).add(named("pages")).await;
    kubectl_sets(&client, "index", "theirs").await;
    let error = children.apply(&child("ours")).await.unwrap_err();
    assert!(
        matches!(&error, ApplyError::Conflict(conflict) if conflict.fields[0].field == ".data.index"),
        "{error}"
    );
    let seizing = children.clone().on_conflict(OnConflict::TakeOver);
    assert_eq!(change(&seizing, &child("ours")).await, Change::Changed);

    config_maps(&client).add(named("other")).await;
    let adopted: ConfigMap = named("other");
    assert_eq!(change(&children, &adopted).await, Change::Changed, "without a conflict it is adopted");
    assert_eq!(config_maps(&client).get("other").await.unwrap().owner_references()[0].name, "site");
}

#[tokio::test]
async fn a_child_of_another_controller_is_an_error_that_names_it() {
    let (_server, client) = server();
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let (first, second) = (secrets.add(named("first")).await, secrets.add(named("second")).await);
    let taken = config_maps(&client).add(owned("pages", &first)).await;
    let error =
        apply(&client, &second).on_conflict(OnConflict::TakeOver).apply(&child("a")).await.unwrap_err();
    assert!(matches!(error, ApplyError::InvalidChild(InvalidChild::OtherController { .. })));
    let expected = format!("is controlled by Secret first with uid {}", first.uid().unwrap());
    assert!(error.to_string().contains(&expected), "{error}");
    assert_eq!(config_maps(&client).get("pages").await.unwrap(), taken);
}

#[tokio::test]
async fn invalid_children_send_no_request() {
    let (server, client) = server();
    let owner = owner(&client).await;
    let (counting, requests) = counted(&server);
    let mut elsewhere = child("a");
    elsewhere.metadata.namespace = Some("elsewhere".into());
    let error = apply(&counting, &owner).apply(&elsewhere).await.unwrap_err();
    assert!(matches!(error, ApplyError::InvalidChild(InvalidChild::OtherNamespace { .. })));
    assert_eq!(sent(&requests), 0);
}

#[tokio::test]
async fn a_refused_request_names_the_child() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    let kind = ApiResource {
        plural: "nothings".into(),
        kind: "Nothing".into(),
        ..ApiResource::erase::<ConfigMap>(&())
    };
    let error = children.apply_with(&DynamicObject::new("a", &kind), &kind).await.unwrap_err();
    assert!(error.to_string().starts_with("failed to read Nothing a: "), "{error}");
    let mut invalid = child("a");
    invalid.metadata.labels = Some([("a".to_owned(), "not valid!".to_owned())].into());
    let error = children.apply(&invalid).await.unwrap_err();
    assert!(error.to_string().starts_with("failed to apply ConfigMap pages: "), "{error}");
}

#[tokio::test]
async fn a_child_that_is_being_deleted_is_not_reported_as_wanted() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    let mut held = child("a");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    children.apply(&held).await.unwrap();
    config_maps(&client).delete("pages", &DeleteParams::default()).await.unwrap();
    let result = children.apply(&held).await.unwrap();
    assert!(result.object.metadata.deletion_timestamp.is_some());
    assert_eq!(result.change, Change::Unchanged, "the server had nothing to change");
}

#[tokio::test(start_paused = true)]
async fn children_as_wanted_cost_no_request_in_a_controller() {
    let (server, client) = server();
    config_maps(&client).add(named("site")).await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let (counting, requests) = counted(&server);
    let (children, writer) = reflector::store::<Secret>();
    let wanted = || -> Secret {
        serde_json::from_value(
            json!({ "metadata": { "name": "child", "labels": { "app": "web" } }, "type": "Opaque" }),
        )
        .unwrap()
    };
    let changes = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&changes);
    let (again, requests_to_run) = futures::channel::mpsc::unbounded();
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .owns_related(Related::api(secrets, watcher::Config::default()).store(writer))
        .reconcile_all_on(requests_to_run)
        .run(
            move |owner: Arc<ConfigMap>, context: Arc<(Client, Store<Secret>)>| {
                let log = Arc::clone(&log);
                async move {
                    let (client, store) = &*context;
                    let applied = Apply::owned_by(client.clone(), "sites.example.com", &*owner).unwrap();
                    let applied = applied.apply_cached(&wanted(), store).await.unwrap();
                    store.wait_for(&applied.object).await.unwrap();
                    log.lock().unwrap().push(applied.change);
                    Ok::<_, Infallible>(Action::await_change())
                }
            },
            wait_for_change,
            Arc::new((counting, children)),
        );
    let mut outputs = spawn_outputs(output);
    eventually(|| std::future::ready(changes.lock().unwrap().last() == Some(&Change::Unchanged))).await;
    assert_eq!(changes.lock().unwrap()[0], Change::Created);
    requests.lock().unwrap().clear();
    let before = changes.lock().unwrap().len();
    for _ in 0..5 {
        again.unbounded_send(()).unwrap();
        expect_next(&mut outputs.items).await;
    }
    eventually(|| std::future::ready(changes.lock().unwrap().len() >= before + 4)).await;
    assert_eq!(*requests.lock().unwrap(), Vec::<String>::new());
}

fn sparse(json: serde_json::Value) -> Sparse<Service> {
    let serde_json::Value::Object(fields) = json else { unreachable!() };
    Sparse::from_fields(fields)
}

#[tokio::test]
async fn a_child_may_have_only_the_fields_that_were_written() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    let service = |port: u16| {
        sparse(
            json!({ "metadata": { "name": "web" }, "spec": { "ports": [{ "port": port }], "selector": { "app": "web" } } }),
        )
    };
    let created = children.apply(&service(80)).await.unwrap();
    assert_eq!((created.change, created.object.namespace().as_deref()), (Change::Created, Some("default")));
    assert_eq!(created.object.owner_references()[0].name, "site");
    assert_eq!(children.apply(&service(80)).await.unwrap().change, Change::Unchanged);
    let changed = children.apply(&service(81)).await.unwrap();
    assert_eq!(changed.change, Change::Changed);
    let ports = changed.object.spec.as_ref().and_then(|spec| spec.ports.clone()).unwrap_or_default();
    assert_eq!(ports.iter().map(|port| port.port).collect::<Vec<_>>(), [81], "what is left out is removed");
}

#[tokio::test]
async fn a_child_whose_item_lacks_its_key_names_list_and_key() {
    let (_server, client) = server();
    let children = apply(&client, &owner(&client).await);
    let service = sparse(json!({ "metadata": { "name": "web" }, "spec": { "ports": [{ "name": "http" }] } }));
    let error = children.apply(&service).await.unwrap_err();
    assert!(matches!(error, ApplyError::InvalidChild(InvalidChild::MissingKey { .. })), "{error}");
    assert_eq!(error.to_string(), "Service web: .spec.ports[0] has no \"port\", a key of this list");
    let nameless = children.apply(&sparse(json!({ "metadata": {} }))).await.unwrap_err();
    assert_eq!(
        nameless.to_string(),
        "a child Service of Secret site in namespace default has no metadata.name"
    );
}
