//! The limit of the initial sync, with lists that RBAC forbids.

use crate::common::{
    ApiExt, config_maps, expect_next, in_namespaces, named, set_subscriber, spawn_outputs, wait_for_change,
};
use crate::logging::LogBuffer;
use futures::StreamExt;
use k8s_openapi::api::{
    core::v1::{ConfigMap, Secret},
    rbac::v1::{ClusterRole, ClusterRoleBinding},
};
use kube_client::{Api, Client};
use kube_core::params::PostParams;
use kube_runtime::{
    Config, Controller,
    controller::{Action, Error, Related, RunnerError},
    reflector, watcher,
};
use kube_testserver::{ApiServer, User};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::Instant;

/// A server with RBAC, an administrator of it, and a user that may read these resources.
async fn restricted(resources: &[&str]) -> (Client, Client) {
    let server = ApiServer::builder().with_rbac().service().unwrap();
    let admin = Client::new(server.clone(), "default");
    let group = "rbac.authorization.k8s.io";
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"] }],
    }))
    .unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "reader" },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": "robot" }],
    }))
    .unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &role).await.unwrap();
    Api::all(admin.clone()).create(&PostParams::default(), &binding).await.unwrap();
    config_maps(&admin).add(named("a")).await;
    (admin, Client::new(server.as_user(User::new("robot")), "default"))
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::all(client.clone())
}

fn controller(client: &Client) -> Controller<ConfigMap> {
    Controller::new(config_maps(client), watcher::Config::default())
}

type Output = Vec<Result<String, Error<Infallible, watcher::Error>>>;

/// Runs until the end of the output.
async fn run_to_end(controller: Controller<ConfigMap>, limit: u64) -> (Output, Duration) {
    let start = Instant::now();
    let config =
        Config::default().initial_sync_timeout(Duration::from_secs(limit)).fail_without_initial_sync();
    let output = controller.with_config(config).run(
        |_, _| async { Ok::<_, Infallible>(Action::await_change()) },
        wait_for_change,
        Arc::new(()),
    );
    let items = output.map(|item| item.map(|(object, _)| object.name)).collect::<Vec<_>>();
    let items = tokio::time::timeout(Duration::from_secs(3600), items).await.expect("the output ends");
    (items, start.elapsed())
}

#[track_caller]
fn end(output: &Output) -> String {
    match output.last() {
        Some(Err(error @ Error::RunnerError(RunnerError::SyncTimedOut { .. }))) => error.to_string(),
        other => panic!("another end: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn without_permission_to_list_its_objects_a_controller_ends_with_the_reason() {
    let (_admin, robot) = restricted(&["secrets"]).await;
    let (output, after) = run_to_end(controller(&robot), 60).await;
    assert_eq!(after, Duration::from_secs(60));
    let expected = "running reconcilers failed: the initial sync is not complete after 60s: waiting for configmaps in namespace default \
                    (last error: failed to list the objects (configmaps in namespace default): configmaps is forbidden: User \"robot\" \
                    cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\" (Forbidden, code 403) \
                    (does a role of this program permit it?))";
    assert_eq!(end(&output), expected);
}

#[tokio::test(start_paused = true)]
async fn a_related_kind_that_cannot_be_listed_ends_the_controller_too() {
    let (_admin, robot) = restricted(&["configmaps"]).await;
    let (output, _) =
        run_to_end(controller(&robot).owns(secrets(&robot), watcher::Config::default()), 60).await;
    assert!(output.iter().any(|item| item.as_ref().is_ok_and(|name| name == "a")), "it reconciles meanwhile");
    let end = end(&output);
    assert!(
        end.contains("waiting for secrets cluster-wide (last error: ") && !end.contains("configmaps in"),
        "{end}"
    );
}

#[tokio::test(start_paused = true)]
async fn each_missing_list_is_named() {
    let (_admin, robot) = restricted(&["pods"]).await;
    let (_, writer) = reflector::store::<Secret>();
    let namespaces = in_namespaces::<ConfigMap>(robot.clone(), ["a", "b"], watcher::Config::default())
        .owns_related(Related::api(secrets(&robot), watcher::Config::default()).store(writer));
    let (output, _) = run_to_end(namespaces, 90).await;
    let end = end(&output);
    for name in
        ["configmaps in namespace a (last", "configmaps in namespace b (last", "secrets cluster-wide (last"]
    {
        assert!(end.contains(name), "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_waits_says_for_what_and_starts_once_it_may() {
    let buffer = LogBuffer::default();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(buffer.clone());
    let _log = set_subscriber(log.finish());
    let (admin, robot) = restricted(&["secrets"]).await;
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut outputs = spawn_outputs(controller(&robot).run(nothing, wait_for_change, Arc::new(())));
    tokio::time::sleep(Duration::from_secs(65)).await;
    let reports = || buffer.text().matches("the initial sync of the controller is not complete").count();
    assert_eq!(reports(), 2, "after 30 s and 60 s: {}", buffer.text());
    assert!(buffer.text().contains("cannot list resource"), "{}", buffer.text());

    let all =
        json!({ "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"] }] });
    let roles: Api<ClusterRole> = Api::all(admin);
    roles.patch("reader", &Default::default(), &kube_core::params::Patch::Merge(all)).await.unwrap();
    loop {
        if expect_next(&mut outputs.items).await == "done: a" {
            break;
        }
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(reports() <= 4, "none after the sync: {}", buffer.text());
}

#[tokio::test(start_paused = true)]
async fn a_complete_sync_ends_nothing_and_a_custom_stream_is_waited_for() {
    let (_admin, robot) = restricted(&["configmaps", "secrets"]).await;
    let config = Config::default().initial_sync_timeout(Duration::from_secs(5)).fail_without_initial_sync();
    let nothing = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    let synced = controller(&robot).owns(secrets(&robot), watcher::Config::default()).with_config(config);
    let mut outputs = spawn_outputs(synced.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    crate::common::assert_idle(&mut outputs.items).await;

    let (store, _writer) = reflector::store();
    let (output, _) = run_to_end(Controller::for_stream(futures::stream::pending(), store), 5).await;
    assert!(end(&output).ends_with("waiting for the store, which a custom stream fills"));
    let (store, _writer) = reflector::store::<ConfigMap>();
    let ended = Controller::for_stream(futures::stream::empty(), store);
    assert_eq!(run_to_end(ended, 5).await.1, Duration::ZERO, "a stream that ends is not waited for");
}
