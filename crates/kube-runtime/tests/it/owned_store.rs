//! Children read from the cache that a controller's own watch fills.

use crate::common::{
    ApiExt, assert_idle, config_maps, expect_next, named, owned, server, spawn_outputs, wait_for_change,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::{ApiResource, DynamicObject, ResourceExt};
use kube_runtime::{
    Controller,
    controller::Action,
    predicates,
    reflector::{self, Store, store::Writer},
    watcher,
};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

fn names<K: ResourceExt>(objects: &[Arc<K>]) -> Vec<String> {
    let mut names: Vec<String> = objects.iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

/// The children that each reconcile saw.
type Seen = Arc<Mutex<Vec<Vec<String>>>>;

#[tokio::test(start_paused = true)]
async fn a_reconcile_sees_the_child_whose_change_triggered_it() {
    let (_server, client) = server();
    let owner = config_maps(&client).add(named("site")).await;
    let (children, writer) = reflector::store::<Secret>();
    let seen = Seen::default();
    let output =
        Controller::new(config_maps(&client), all()).owns_with_store(secrets(&client), all(), writer).run(
            |owner: Arc<ConfigMap>, context: Arc<(Store<Secret>, Seen)>| async move {
                context.1.lock().unwrap().push(names(&context.0.owned_by(&*owner)));
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::new((children.clone(), Arc::clone(&seen))),
        );
    let mut outputs = spawn_outputs(output);
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    secrets(&client).add(named("unrelated")).await;
    assert_idle(&mut outputs.items).await;
    for name in ["a", "b"] {
        secrets(&client).add(owned(name, &owner)).await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    }
    secrets(&client).remove("a").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    let expected: [&[&str]; 4] = [&[], &["a"], &["a", "b"], &["b"]];
    assert_eq!(
        *seen.lock().unwrap(),
        expected.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
    );
    assert_eq!(names(&children.state()), ["b", "unrelated"], "the store has all that is watched");
    let recreated = ConfigMap {
        metadata: kube_core::ObjectMeta { uid: Some("other".into()), ..owner.metadata },
        ..owner
    };
    assert!(children.owned_by(&recreated).is_empty(), "owners are compared by uid");
}

#[tokio::test(start_paused = true)]
async fn a_filter_drops_triggers_but_not_states_of_the_store() {
    let (_server, client) = server();
    let owner = config_maps(&client).add(named("site")).await;
    let (children, writer) = reflector::store::<Secret>();
    let controller = Controller::new(config_maps(&client), all()).owns_with_store_filtered(
        secrets(&client),
        all(),
        writer,
        predicates::labels,
    );
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    secrets(&client).add(owned("a", &owner)).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    let written = secrets(&client).touch("a", "1").await;
    let cached = children.wait_for(&written).await.unwrap().unwrap();
    assert_eq!(cached.annotations()["touched"], "1");
    assert_idle(&mut outputs.items).await;
    secrets(&client).remove("a").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
}

#[tokio::test(start_paused = true)]
async fn a_store_of_a_kind_known_at_run_time_is_filled() {
    let (_server, client) = server();
    let owner = config_maps(&client).add(named("site")).await;
    secrets(&client).add(owned("a", &owner)).await;
    let kind = ApiResource::erase::<Secret>(&());
    let writer = Writer::<DynamicObject>::new(kind.clone());
    let children = writer.as_reader();
    let api = Api::default_namespaced_with(client.clone(), &kind);
    let controller = Controller::new(config_maps(&client), all()).owns_with_store(api, all(), writer);
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    assert_eq!(names(&children.owned_by(&owner)), ["a"]);
}
