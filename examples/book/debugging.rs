//! Why a controller does nothing: the causes of the page "Debugging" that need no cluster.

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::OwnerExt;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::ControllerState;
use kube::runtime::predicates;
use kube_testserver::{FaultResponse, Match, TestServer};
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

// ANCHOR: state
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{Config, Controller, controller::Action, watcher};
use kube::{Api, Client, error::ErrorChain};
use std::{convert::Infallible, sync::Arc};

/// Prints every error, and each minute what the controller does: queue, running and failing objects, watches with their last error.
async fn run(client: Client) {
    let controller = Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
        .with_config(Config::default().name("maps"));
    let monitor = controller.monitor();
    let reports = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(60)).await;
            println!("{:#?}", monitor.snapshot());
        }
    });
    controller
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::retry(), Arc::new(()))
        .for_each(async |outcome| {
            if let Err(error) = outcome {
                eprintln!("{}", ErrorChain(&error));
            }
        })
        .await;
    reports.abort();
}
// ANCHOR_END: state

async fn reconcile(_map: Arc<ConfigMap>, _context: Arc<()>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

/// Runs a controller that reports the names of reconciled objects, and errors as text.
fn observe(controller: Controller<ConfigMap>) -> mpsc::UnboundedReceiver<Result<String, String>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let running = controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(()));
    tokio::spawn(running.for_each(move |outcome| {
        // The test may have ended.
        let _ = sender
            .send(outcome.map(|(object, _)| object.name).map_err(|error| ErrorChain(&error).to_string()));
        async {}
    }));
    receiver
}

fn map(name: &str) -> ConfigMap {
    ConfigMap { metadata: ObjectMeta { name: Some(name.into()), ..Default::default() }, ..Default::default() }
}

async fn next(
    outcomes: &mut mpsc::UnboundedReceiver<Result<String, String>>,
) -> Option<Result<String, String>> {
    timeout(Duration::from_secs(3600), outcomes.recv()).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn a_controller_whose_output_is_not_polled_never_starts() {
    let controller = Controller::new(
        Api::<ConfigMap>::all(Client::new(TestServer::service(), "default")),
        watcher::Config::default(),
    );
    let monitor = controller.monitor();
    let output = controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(monitor.snapshot().state, ControllerState::NotStarted);
    drop(output);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_an_error_that_names_the_kind() {
    let server = TestServer::service();
    let refused = FaultResponse::status(403, "Forbidden");
    server.fault(Match::list::<ConfigMap>(), refused);
    let maps: Api<ConfigMap> = Api::all(Client::new(server, "default"));
    let mut outcomes = observe(Controller::new(maps, watcher::Config::default()));
    let error = next(&mut outcomes).await.unwrap().unwrap_err();
    assert!(error.contains("configmaps") && error.contains("403"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn only_the_namespace_of_the_api_is_watched() {
    let client = Client::new(TestServer::service(), "default");
    let namespace = Namespace { metadata: map("shop").metadata, ..Default::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    Api::namespaced(client.clone(), "shop").create(&PostParams::default(), &map("elsewhere")).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &map("here")).await.unwrap();
    let mut outcomes = observe(Controller::new(maps, watcher::Config::default()));
    assert_eq!(next(&mut outcomes).await, Some(Ok("here".into())));
    assert_eq!(next(&mut outcomes).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_filter_drops_the_changes_that_it_does_not_look_at() {
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(TestServer::service(), "default"));
    maps.create(&PostParams::default(), &map("a")).await.unwrap();
    let controller = Controller::new(maps.clone(), watcher::Config::default()).filter(predicates::labels);
    let mut outcomes = observe(controller);
    assert_eq!(next(&mut outcomes).await, Some(Ok("a".into())));
    let patch = |value: serde_json::Value| Patch::Merge(value);
    maps.patch("a", &PatchParams::default(), &patch(json!({ "data": { "k": "v" } }))).await.unwrap();
    assert_eq!(next(&mut outcomes).await, None);
    let labels = json!({ "metadata": { "labels": { "k": "v" } } });
    maps.patch("a", &PatchParams::default(), &patch(labels)).await.unwrap();
    assert_eq!(next(&mut outcomes).await, Some(Ok("a".into())));
}

#[tokio::test(start_paused = true)]
async fn a_child_without_an_owner_reference_triggers_nothing() {
    let client = Client::new(TestServer::service(), "default");
    let (maps, secrets) = (
        Api::<ConfigMap>::default_namespaced(client.clone()),
        Api::<Secret>::default_namespaced(client.clone()),
    );
    let owner = maps.create(&PostParams::default(), &map("a")).await.unwrap();
    let controller =
        Controller::new(maps, watcher::Config::default()).owns(secrets.clone(), watcher::Config::default());
    let mut outcomes = observe(controller);
    assert_eq!(next(&mut outcomes).await, Some(Ok("a".into())));

    let mut child = Secret { metadata: map("child").metadata, ..Default::default() };
    secrets.create(&PostParams::default(), &child).await.unwrap();
    assert_eq!(next(&mut outcomes).await, None);
    child.metadata.name = Some("owned".into());
    let child = child.owned_by(&owner).unwrap();
    secrets.create(&PostParams::default(), &child).await.unwrap();
    assert_eq!(next(&mut outcomes).await, Some(Ok("a".into())));
}
