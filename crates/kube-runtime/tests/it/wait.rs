//! Waiting for a condition of an object, and for its deletion.

use crate::{
    common::{ApiExt, config_maps, eventually, named, server},
    scripted_server::*,
};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::Api;
use kube_core::{
    ApiResource, DynamicObject, GroupVersionKind, ResourceExt,
    params::{DeleteParams, PostParams},
};
use kube_runtime::{
    conditions,
    wait::{Condition, await_condition, delete::delete_and_finalize},
};
use serde_json::json;
use std::{io, time::Duration};
use tokio::time::{Instant, sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_deletion_as_a_dry_run_is_not_waited_for() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let params = DeleteParams { dry_run: true, ..DeleteParams::default() };
    let deletion = delete_and_finalize(api.clone(), "a", &params);
    timeout(Duration::from_secs(60), deletion).await.expect("it returns").unwrap();
    assert!(api.get_opt("a").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn await_condition_returns_once_the_condition_holds() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let waiting = tokio::spawn(await_condition(
        api.clone(),
        "a",
        conditions::is_created()
            .and(|it: Option<&ConfigMap>| it.is_some_and(|it| it.annotations().len() == 1)),
    ));
    sleep(Duration::from_secs(1)).await;
    api.add(named("a")).await;
    sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished());
    api.touch("a", "1").await;
    let object = waiting.await.unwrap().unwrap().unwrap();
    assert_eq!(object.name_any(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_new_crd_becomes_established() {
    let (_server, client) = server();
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let crd = serde_json::from_value(json!({
        "metadata": { "name": "foos.wait.example.com" },
        "spec": {
            "group": "wait.example.com",
            "names": { "kind": "Foo", "plural": "foos" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    }))
    .unwrap();
    crds.create(&PostParams::default(), &crd).await.unwrap();
    let established = await_condition(crds, "foos.wait.example.com", conditions::is_crd_established());
    timeout(Duration::from_secs(5), established).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_kind_fails_at_once() {
    let (_server, client) = server();
    let unknown = ApiResource::from_gvk(&GroupVersionKind::gvk("no.example.com", "v1", "No"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &unknown);
    let error =
        timeout(Duration::from_secs(5), await_condition(api, "a", conditions::is_created())).await.unwrap();
    assert!(error.unwrap_err().to_string().contains("failed to probe"));
}

#[tokio::test(start_paused = true)]
async fn delete_and_finalize_waits_for_finalizers() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let mut object: ConfigMap = named("a");
    object.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.add(object).await;
    let params = DeleteParams::default();
    let deletion = tokio::spawn({
        let api = api.clone();
        async move { delete_and_finalize(api, "a", &params).await }
    });
    eventually(async || api.get("a").await.unwrap().metadata.deletion_timestamp.is_some()).await;
    sleep(Duration::from_secs(1)).await;
    assert!(!deletion.is_finished());
    let mut object = api.get("a").await.unwrap();
    object.metadata.finalizers = None;
    api.replace("a", &PostParams::default(), &object).await.unwrap();
    deletion.await.unwrap().unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());

    let error = delete_and_finalize(api, "a", &DeleteParams::default()).await.unwrap_err();
    assert!(error.to_string().contains("failed to delete"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_after_an_idle_period_is_resumed() {
    let (client, _) = scripted_server(
        |_, _| list("10", &[]),
        |before, _| match before {
            0..=3 => watch_response(&[], error_after(70, io::ErrorKind::ConnectionReset)),
            _ => watch_response(&[event("ADDED", object("a", "11"))], idle()),
        },
    );
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let waiting = await_condition(api, "a", conditions::is_created());
    assert!(timeout(Duration::from_secs(600), waiting).await.unwrap().unwrap().is_some());
}

/// A server that starts refuses all users until it has read their roles.
#[tokio::test(start_paused = true)]
async fn what_was_allowed_before_is_awaited_after_a_refusal() {
    let refused = || status_response(http::StatusCode::FORBIDDEN, "Forbidden");
    let (client, _) = scripted_server(
        move |before, _| if (1..4).contains(&before) { refused() } else { list("10", &[]) },
        move |before, _| match before {
            0 => watch_response(&[], error_after(70, io::ErrorKind::ConnectionReset)),
            1..=3 => refused(),
            _ => watch_response(&[event("ADDED", object("a", "11"))], idle()),
        },
    );
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let waiting = await_condition(api, "a", conditions::is_created());
    assert!(timeout(Duration::from_secs(600), waiting).await.unwrap().unwrap().is_some());
    // Who may list and not watch is told so at once.
    let (client, _) = scripted_server(|_, _| list("10", &[]), move |_, _| refused());
    let start = Instant::now();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    await_condition(api, "a", conditions::is_created()).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_fails_after_a_minute_of_failures() {
    let (client, _) = scripted_server(
        |_, _| list("10", &[]),
        |before, _| match before {
            0 => watch_response(&[], error_after(300, io::ErrorKind::ConnectionReset)),
            _ => watch_response(&[], end_of_stream()),
        },
    );
    let start = Instant::now();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let waiting = await_condition(api, "a", conditions::is_created());
    timeout(Duration::from_secs(600), waiting).await.unwrap().unwrap_err();
    assert!((360..=370).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}
