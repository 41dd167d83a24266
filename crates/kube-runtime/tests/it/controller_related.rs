//! Triggers other than changes of the controller's own objects.

use crate::common::{
    ApiExt, Outputs, assert_idle, expect_next, labelled, named, owned, server, spawn_outputs, wait_for_change,
};
use futures::channel::mpsc;
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    rbac::v1::ClusterRole,
};
use kube_client::{Api, Client};
use kube_core::{ResourceExt, params::PostParams};
use kube_runtime::{
    Controller, WatchStreamExt, controller::Action, reflector, reflector::ObjectRef, watcher,
};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// Runs a controller of Secrets whose reconciler does nothing.
fn run(controller: Controller<Secret>) -> Outputs {
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())))
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

#[tokio::test(start_paused = true)]
async fn a_deleted_owned_object_is_recreated() {
    let (_server, client) = server();
    secrets(&client).add(named("owner")).await;
    let controller = Controller::new(secrets(&client), all()).owns(config_maps(&client), all());
    let output = controller.run(
        |owner: Arc<Secret>, client: Arc<Client>| async move {
            let children = config_maps(&client);
            if children.get_opt("child").await?.is_none() {
                children.create(&PostParams::default(), &owned("child", &*owner)).await?;
            }
            Ok::<_, kube_client::Error>(Action::await_change())
        },
        wait_for_change,
        Arc::new(client.clone()),
    );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut outputs.items).await;
    let first = config_maps(&client).get("child").await.unwrap();
    while next_within_5_seconds(&mut outputs).await {}
    config_maps(&client).remove("child").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: owner");
    let second = config_maps(&client).get("child").await.unwrap();
    assert_ne!(first.uid(), second.uid());
}

async fn next_within_5_seconds(outputs: &mut Outputs) -> bool {
    use futures::StreamExt;
    tokio::time::timeout(std::time::Duration::from_secs(5), outputs.items.next()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn objects_returned_by_a_mapper_are_reconciled() {
    let (_server, client) = server();
    secrets(&client).add(named("a")).await;
    let mut outputs =
        run(Controller::new(secrets(&client), all()).watches(config_maps(&client), all(), |map| {
            map.labels().get("for").map(|name| ObjectRef::new(name).within("default"))
        }));
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    config_maps(&client).add(named("without-label")).await;
    assert_idle(&mut outputs.items).await;
    config_maps(&client).add(labelled("for-a", ("for", "a"))).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    config_maps(&client).add(labelled("for-b", ("for", "b"))).await;
    assert!(
        expect_next(&mut outputs.items).await.starts_with("tried to reconcile object Secret.v1./b.default")
    );
}

#[tokio::test(start_paused = true)]
async fn custom_triggers_reconcile_one_or_all_objects() {
    let (_server, client) = server();
    for name in ["a", "b"] {
        secrets(&client).add(named(name)).await;
    }
    let (one, one_trigger) = mpsc::unbounded();
    let (all_objects, all_trigger) = mpsc::unbounded();
    let mut outputs =
        run(Controller::new(secrets(&client), all()).reconcile_on(one_trigger).reconcile_all_on(all_trigger));
    for _ in 0..2 {
        expect_next(&mut outputs.items).await;
    }
    one.unbounded_send(ObjectRef::new("b").within("default")).unwrap();
    assert_eq!(expect_next(&mut outputs.items).await, "done: b");
    all_objects.unbounded_send(()).unwrap();
    let mut both = [expect_next(&mut outputs.items).await, expect_next(&mut outputs.items).await];
    both.sort();
    assert_eq!(both, ["done: a", "done: b"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_owner_of_namespaced_children_is_never_reconciled_twice_at_once() {
    let (_server, client) = server();
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let role = roles.create(&PostParams::default(), &named("role")).await.unwrap();
    let running = Arc::new(Mutex::new(0));
    let output =
        Controller::new(roles, all().fields("metadata.name=role")).owns(config_maps(&client), all()).run(
            |_, running: Arc<Mutex<i32>>| async move {
                *running.lock().unwrap() += 1;
                assert_eq!(
                    *running.lock().unwrap(),
                    1,
                    "two keys of one object became two concurrent reconciles"
                );
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                *running.lock().unwrap() -= 1;
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            running,
        );
    let mut outputs = spawn_outputs(output);
    for n in 0..3 {
        config_maps(&client).add(owned(&format!("child-{n}"), &role)).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    for _ in 0..2 {
        assert_eq!(expect_next(&mut outputs.items).await, "done: role");
    }
}

#[tokio::test(start_paused = true)]
async fn two_controllers_can_share_a_watch() {
    let (_server, client) = server();
    secrets(&client).add(named("a")).await;
    let (reader, writer) = reflector::store_shared(16);
    let first = Controller::for_shared_stream(writer.subscribe().unwrap(), reader.clone());
    let second = Controller::for_shared_stream(writer.subscribe().unwrap(), reader);
    let watch = watcher::watcher(secrets(&client), all()).default_backoff().reflect_shared(writer);
    let watch = tokio::spawn(futures::StreamExt::for_each(watch, |_| std::future::ready(())));
    let (mut first, mut second) = (run(first), run(second));
    assert_eq!(expect_next(&mut first.items).await, "done: a");
    assert_eq!(expect_next(&mut second.items).await, "done: a");
    secrets(&client).add(named("b")).await;
    assert_eq!(expect_next(&mut first.items).await, "done: b");
    assert_eq!(expect_next(&mut second.items).await, "done: b");
    secrets(&client).remove("a").await;
    assert_idle(&mut first.items).await;
    watch.abort();
}
