//! Predicates on the watches that a controller makes.

use crate::common::{
    ApiExt, Outputs, assert_idle, config_maps, expect_next, in_namespaces, named, owned, server,
    spawn_outputs, wait_for_change,
};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};
use kube_client::{Api, Client};
use kube_core::{
    ApiResource, ResourceExt,
    params::{Patch, PatchParams},
};
use kube_runtime::{
    Controller, Predicate, WatchStreamExt,
    controller::{Action, Related},
    predicates,
    reflector::{self, ObjectRef},
    watcher,
};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};

fn deployments(client: &Client) -> Api<Deployment> {
    Api::default_namespaced(client.clone())
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

fn deployment(name: &str) -> Deployment {
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let spec = json!({ "selector": { "matchLabels": { "a": "b" } }, "template": template });
    serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
}

async fn scale(client: &Client, name: &str, replicas: u32) {
    let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    deployments(client).patch(name, &PatchParams::default(), &patch).await.unwrap();
}

async fn set_status(client: &Client, name: &str, replicas: u32) -> Deployment {
    let patch = Patch::Merge(json!({ "status": { "replicas": replicas } }));
    deployments(client).patch_status(name, &PatchParams::default(), &patch).await.unwrap()
}

fn run<K>(controller: Controller<K>) -> Outputs
where
    K: kube_core::Resource<DynamicType = ()>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + Sync
        + 'static,
{
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())))
}

#[tokio::test(start_paused = true)]
async fn own_changes_that_do_not_matter_trigger_nothing_but_reach_the_store() {
    let (_server, client) = server();
    deployments(&client).add(deployment("web")).await;
    let controller = Controller::new(deployments(&client), all())
        .filter(predicates::generation.combine(predicates::finalizers));
    let store = controller.store();
    let mut outputs = run(controller);
    assert_eq!(expect_next(&mut outputs.items).await, "done: web");
    let written = set_status(&client, "web", 3).await;
    let cached =
        tokio::time::timeout(Duration::from_secs(10), store.wait_for(&written)).await.unwrap().unwrap();
    assert_eq!(cached.unwrap().status.as_ref().unwrap().replicas, Some(3));
    assert_idle(&mut outputs.items).await;
    scale(&client, "web", 2).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: web");

    let finalizer = Patch::Merge(json!({ "metadata": { "finalizers": ["example.com/a"] } }));
    deployments(&client).patch("web", &PatchParams::default(), &finalizer).await.unwrap();
    assert_eq!(expect_next(&mut outputs.items).await, "done: web");
    deployments(&client).remove("web").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: web", "the deletion has started");
}

#[tokio::test(start_paused = true)]
async fn after_write_ends_with_a_write_whose_event_is_filtered() {
    let (_server, client) = server();
    deployments(&client).add(deployment("web")).await;
    let (again, requests) = futures::channel::mpsc::unbounded();
    let output = Controller::new(deployments(&client), all())
        .filter(predicates::generation)
        .reconcile_on(requests)
        .run(
            |object: Arc<Deployment>, client: Arc<Client>| async move {
                let seen = object.status.as_ref().and_then(|status| status.replicas).unwrap_or_default();
                let written = set_status(&client, "web", u32::try_from(seen).unwrap() + 1).await;
                Ok::<_, Infallible>(Action::await_change().after_write(&written))
            },
            wait_for_change,
            Arc::new(client.clone()),
        );
    let mut outputs = spawn_outputs(output);
    for _ in 0..3 {
        assert_eq!(expect_next(&mut outputs.items).await, "done: web");
        again.unbounded_send(ObjectRef::new("web").within("default")).unwrap();
    }
    assert_eq!(expect_next(&mut outputs.items).await, "done: web");
    let last = deployments(&client).get("web").await.unwrap();
    assert_eq!(last.status.unwrap().replicas, Some(4), "each run saw the write of the previous one");
}

#[tokio::test(start_paused = true)]
async fn custom_streams_and_namespaces_are_filtered_too() {
    let (_server, client) = server();
    deployments(&client).add(deployment("web")).await;
    let (store, writer) = reflector::store();
    let stream =
        watcher::watcher(deployments(&client), all()).default_backoff().reflect(writer).touched_objects();
    let (shared, shared_writer) = reflector::store_shared(8);
    let subscription = shared_writer.subscribe().unwrap();
    let watch = watcher::watcher(deployments(&client), all()).default_backoff().reflect_shared(shared_writer);
    let watch = tokio::spawn(futures::StreamExt::for_each(watch, |_| std::future::ready(())));
    for controller in [
        Controller::for_stream(stream, store),
        Controller::for_shared_stream(subscription, shared),
        in_namespaces(client.clone(), ["default", "other"], all()),
    ] {
        let mut outputs = run(controller.filter(predicates::generation));
        assert_eq!(expect_next(&mut outputs.items).await, "done: web");
        set_status(&client, "web", 5).await;
        set_status(&client, "web", 6).await;
        assert_idle(&mut outputs.items).await;
        let replicas = deployments(&client).get("web").await.unwrap().metadata.generation.unwrap();
        scale(&client, "web", u32::try_from(replicas).unwrap() + 1).await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: web");
    }
    watch.abort();
}

#[tokio::test(start_paused = true)]
async fn owned_objects_trigger_only_changes_that_matter_and_deletions() {
    let (_server, client) = server();
    let owner = config_maps(&client).add(named("site")).await;
    let kind = ApiResource::erase::<Deployment>(&());
    for dynamic in [false, true] {
        let controller = Controller::new(config_maps(&client), all());
        let mut outputs = run(match dynamic {
            false => controller
                .owns_related(Related::metadata(deployments(&client), all()).filter(predicates::generation)),
            true => {
                let api = Api::<kube_core::DynamicObject>::default_namespaced_with(client.clone(), &kind);
                let children = Related::metadata_with(api, kind.clone(), all());
                controller.owns_related(children.filter(predicates::generation))
            }
        });
        assert_eq!(expect_next(&mut outputs.items).await, "done: site");
        let mut child = deployment("web");
        child.metadata.owner_references = owned::<Deployment, _>("web", &owner).metadata.owner_references;
        deployments(&client).add(child).await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: site", "created");
        set_status(&client, "web", 1).await;
        assert_idle(&mut outputs.items).await;
        scale(&client, "web", 3).await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: site", "changed");
        deployments(&client).remove("web").await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: site", "deleted");
        assert_idle(&mut outputs.items).await;
    }
}

#[tokio::test(start_paused = true)]
async fn watched_objects_trigger_only_changes_that_matter_and_deletions() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let namesake = |secret: &Secret| Some(ObjectRef::<ConfigMap>::new(&secret.name_any()).within("default"));
    let related = Related::api(secrets.clone(), all()).filter(predicates::labels);
    let controller = Controller::new(config_maps(&client), all());
    let mut outputs = run(controller.watches_related(related, namesake));
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    secrets.add(named("a")).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a", "created");
    secrets.touch("a", "1").await;
    assert_idle(&mut outputs.items).await;
    let label = Patch::Merge(json!({ "metadata": { "labels": { "tier": "web" } } }));
    secrets.patch("a", &PatchParams::default(), &label).await.unwrap();
    assert_eq!(expect_next(&mut outputs.items).await, "done: a", "changed");
    secrets.remove("a").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a", "deleted");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_predicate_is_an_error_and_the_object_is_reconciled() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let panics = |_: &ConfigMap| -> Option<u64> { panic!("no such field") };
    let mut outputs = run(Controller::new(config_maps(&client), all()).filter(panics));
    let error = "running reconcilers failed";
    assert_eq!(expect_next(&mut outputs.items).await, error);
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    config_maps(&client).touch("a", "1").await;
    assert_eq!(expect_next(&mut outputs.items).await, error);
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
}
