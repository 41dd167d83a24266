//! Notices on two genuine servers: the hub, and a member whose Secret has a token with the roles of members alone. `KUBE_E2E_FLEET` names
//! their kubeconfigs, separated by a colon; `cargo xtask ci fleet-genuine` starts them.

#![allow(clippy::unwrap_used)]

use fleet::{Notice, NoticeSpec, Written, manager};
use k8s_openapi::{
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::{ConfigMap, Namespace, Secret, ServiceAccount},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config, CustomResourceExt, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, DynamicObject, GroupVersionKind},
    operator::{
        clusters::SecretClusters,
        manifests::{Manifests, offline_client},
    },
    runtime::wait::{await_condition, conditions},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

const LIMIT: Duration = Duration::from_secs(60);

/// A client with its kubeconfig.
async fn administrator(path: &str) -> (Client, Kubeconfig) {
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await.unwrap();
    (Client::try_from(config).unwrap(), kubeconfig)
}

async fn apply(client: &Client, object: &Value) {
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap());
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &kind),
        None => Api::all_with(client.clone(), &kind),
    };
    let params = PatchParams::apply("test").force();
    api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await.unwrap();
}

/// What the program asks of members, and a kubeconfig with a token that permits no more.
async fn member(client: &Client, administrator: &Kubeconfig) -> Value {
    let manager = manager(offline_client("fleet")).clusters(SecretClusters::new(offline_client("fleet")));
    let objects = Manifests::new("fleet", &manager).for_members("fleet").member_objects().unwrap();
    for object in &objects {
        apply(client, object).await;
    }
    let account = objects.iter().find(|object| object["kind"] == "ServiceAccount").unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "fleet");
    let request = TokenRequest {
        spec: TokenRequestSpec { expiration_seconds: Some(3600), ..Default::default() }.into(),
        ..Default::default()
    };
    let name = account["metadata"]["name"].as_str().unwrap();
    let token = accounts.create_token_request(name, &PostParams::default(), &request).await.unwrap();
    let current = serde_json::to_value(administrator).unwrap();
    let cluster = &current["clusters"][0]["cluster"];
    json!({
        "current-context": "east",
        "clusters": [{"name": "east", "cluster": cluster}],
        "users": [{"name": "fleet", "user": {"token": token.status.unwrap().token}}],
        "contexts": [{"name": "east", "context": {"cluster": "east", "user": "fleet", "namespace": "fleet"}}],
    })
}

/// Waits until all clusters of the notice are as expected.
async fn until(notices: &Api<Notice>, expected: &[Written]) {
    let has = |notice: Option<&Notice>| {
        notice.and_then(|notice| notice.status.as_ref()).is_some_and(|status| status.clusters == expected)
    };
    let waited = timeout(LIMIT, await_condition(notices.clone(), "hello", has)).await;
    assert!(waited.is_ok(), "{:?} in place of {expected:?}", notices.get("hello").await.unwrap().status);
}

#[tokio::test]
async fn a_notice_comes_changes_and_goes_on_genuine_servers() {
    let Ok(paths) = std::env::var("KUBE_E2E_FLEET") else { return println!("without KUBE_E2E_FLEET") };
    let (hub, east) = paths.split_once(':').expect("two kubeconfigs");
    let ((hub, _), (east, of_east)) = (administrator(hub).await, administrator(east).await);
    apply(&hub, &serde_json::to_value(Notice::crd()).unwrap()).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(hub.clone());
    let established = await_condition(definitions, Notice::crd_name(), conditions::is_crd_established());
    timeout(LIMIT, established).await.unwrap().unwrap();
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "fleet"}})).unwrap();
    Api::all(hub.clone()).create(&PostParams::default(), &namespace).await.unwrap();

    let clusters = SecretClusters::new(hub.clone()).namespace("fleet");
    let (stop, stopped) = oneshot::channel::<()>();
    let manager = manager(hub.clone()).clusters(clusters);
    let running = tokio::spawn(manager.run_until(async { stopped.await.unwrap_or_default() }));
    let notices: Api<Notice> = Api::namespaced(hub.clone(), "fleet");
    let spec = NoticeSpec { clusters: Default::default(), text: "hi".into() };
    notices.create(&PostParams::default(), &Notice::new("hello", spec)).await.unwrap();
    let kubeconfig = member(&east, &of_east).await.to_string();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"kubeconfig": kubeconfig},
        "metadata": {"name": "east", "namespace": "fleet", "labels": {"sigs.k8s.io/multicluster-runtime-kubeconfig": "true"}}});
    apply(&hub, &secret).await;
    let written = Written { name: "fleet/east".into(), written: true, message: None };
    until(&notices, std::slice::from_ref(&written)).await;

    // Somebody deletes the copy; the notice changes.
    let copies: Api<ConfigMap> = Api::namespaced(east.clone(), "fleet");
    let name = "notice-fleet.hello";
    let has_text = |text: &'static str| {
        move |map: Option<&ConfigMap>| {
            map.and_then(|map| map.data.as_ref()?.get("text")).is_some_and(|now| now == text)
        }
    };
    copies.delete(name, &DeleteParams::default()).await.unwrap();
    timeout(LIMIT, await_condition(copies.clone(), name, has_text("hi"))).await.unwrap().unwrap();
    let change = Patch::Merge(json!({"spec": {"text": "bye"}}));
    notices.patch("hello", &PatchParams::default(), &change).await.unwrap();
    timeout(LIMIT, await_condition(copies.clone(), name, has_text("bye"))).await.unwrap().unwrap();

    // A Secret that is gone takes its cluster along, and the copy stays there; as a member again, it loses the deleted notice's.
    let secrets: Api<Secret> = Api::namespaced(hub.clone(), "fleet");
    secrets.delete("east", &DeleteParams::default()).await.unwrap();
    until(&notices, &[]).await;
    assert!(copies.get_opt(name).await.unwrap().is_some());
    apply(&hub, &secret).await;
    until(&notices, &[written]).await;
    notices.delete("hello", &DeleteParams::default()).await.unwrap();
    timeout(LIMIT, async {
        while notices.get_opt("hello").await.unwrap().is_some() {
            sleep(Duration::from_millis(100)).await;
        }
    })
    .await
    .unwrap();
    assert!(copies.get_opt(name).await.unwrap().is_none());
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}
