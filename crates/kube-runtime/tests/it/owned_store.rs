//! Children read from the cache that a controller's own watch fills.

use crate::common::{
    ApiExt, assert_idle, config_maps, eventually, expect_next, named, owned, server, spawn_outputs,
    wait_for_change,
};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{Api, Client};
use kube_core::{ApiResource, DynamicObject, ResourceExt, params::PostParams};
use kube_runtime::{
    Controller,
    controller::{Action, Related},
    predicates,
    reflector::{self, Store, store::Writer},
    watcher,
};
use kube_testserver::{ApiServer, Fault, Match};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

fn stored(secrets: Api<Secret>, writer: Writer<Secret>) -> Related<Secret> {
    Related::api(secrets, all()).store(writer)
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
        Controller::new(config_maps(&client), all()).owns_related(stored(secrets(&client), writer)).run(
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
    let controller = Controller::new(config_maps(&client), all())
        .owns_related(stored(secrets(&client), writer).filter(predicates::labels));
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
    let related = Related::api_with(api, kind, all()).store(writer);
    let controller = Controller::new(config_maps(&client), all()).owns_related(related);
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    assert_eq!(names(&children.owned_by(&owner)), ["a"]);
}

/// Checks a store that `related` fills with the Secrets in the namespaces `a` and `b`.
async fn children_in_two_namespaces(
    store: Store<Secret>,
    related: impl FnOnce(Api<Secret>) -> Controller<ConfigMap>,
    client: Client,
    server: ApiServer,
) {
    let maps = |namespace| Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let secrets = |namespace| Api::<Secret>::namespaced(client.clone(), namespace);
    for namespace in ["a", "b", "c"] {
        let spaces = Api::<Namespace>::all(client.clone());
        spaces.create(&PostParams::default(), &named(namespace)).await.unwrap();
        let owner = maps(namespace).add(named("site")).await;
        secrets(namespace).add(owned("first", &owner)).await;
    }
    let forbidden = server.fault(Match::list::<Secret>().namespace("b"), Fault::status(403, "Forbidden"));
    let controller = related(Api::all(client.clone()));
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    store.wait_until_ready().await.unwrap();
    assert_eq!(names(&store.state()), ["first"], "one namespace is refused, one is not watched");
    forbidden.remove();
    eventually(async || store.len() == 2).await;
    let namespaces: BTreeSet<_> = store.state().iter().filter_map(|child| child.namespace()).collect();
    assert_eq!(namespaces, ["a", "b"].map(str::to_owned).into());
    drain(&mut outputs.items).await;

    let owner = maps("b").get("site").await.unwrap();
    let written = secrets("b").add(owned("second", &owner)).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    assert!(store.wait_for(&written).await.unwrap().is_some());
    assert_eq!(names(&store.owned_by(&owner)), ["first", "second"]);

    // A list of one namespace says nothing about the other. What it does not contain is gone, and triggers its owner.
    let _expired = server.fault(Match::watch::<Secret>().namespace("b").times(1), Fault::Expired);
    server.end_watches();
    secrets("b").remove("second").await;
    while expect_next(&mut outputs.items).await != "done: site" {} // after the error of the watch that has expired
    eventually(async || store.len() == 2).await;
    assert_eq!(names(&store.owned_by(&owner)), ["first"]);
    drain(&mut outputs.items).await;
    secrets("c").remove("first").await;
    assert_idle(&mut outputs.items).await;
}

/// Takes all that is reconciled until nothing is.
async fn drain(items: &mut (impl futures::Stream<Item = String> + Unpin)) {
    while tokio::time::timeout(Duration::from_secs(120), items.next()).await.is_ok() {}
}

#[tokio::test(start_paused = true)]
async fn a_store_has_the_children_of_several_namespaces() {
    let (server, client) = server();
    let (children, writer) = reflector::store();
    let owner = Controller::new(Api::<ConfigMap>::all(client.clone()), all());
    let related =
        |secrets| owner.owns_related(Related::api(secrets, all()).namespaces(["a", "b"]).store(writer));
    children_in_two_namespaces(children, related, client, server).await;
}

#[cfg(feature = "compact-cache")]
#[tokio::test(start_paused = true)]
async fn so_does_a_compact_store() {
    let (server, client) = server();
    let (children, writer) = reflector::compact_store();
    let owner = Controller::new(Api::<ConfigMap>::all(client.clone()), all());
    let related = |secrets| {
        owner.owns_related(Related::metadata(secrets, all()).compact_store(writer).namespaces(["a", "b"]))
    };
    children_in_two_namespaces(children, related, client, server).await;
}

#[tokio::test(start_paused = true)]
async fn without_namespaces_a_store_is_empty_and_ready() {
    let (_server, client) = server();
    config_maps(&client).add(named("site")).await;
    let (children, writer) = reflector::store();
    let nowhere: [&str; 0] = [];
    let controller = Controller::new(config_maps(&client), all())
        .owns_related(stored(secrets(&client), writer).namespaces(nowhere));
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(expect_next(&mut outputs.items).await, "done: site");
    assert!(children.is_ready() && children.is_empty());
}
