//! `get_or_create` and the updates that are repeated after a conflict.

use std::convert::Infallible;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{DeleteParams, PartialObjectMeta, Patch, PatchParams, PostParams};
use kube_client::client::Prune;
use kube_client::{Api, Error, ResourceExt};
use kube_testserver::{ApiServer, Fault, FaultResponse, Match};
use serde_json::json;

use crate::server::{config_map, create, in_process};

fn data(map: &ConfigMap, key: &str) -> String {
    map.data.as_ref().and_then(|data| data.get(key)).cloned().unwrap_or_default()
}

/// Adds 1 to the entry `key`.
fn count(map: &mut ConfigMap) {
    let next = data(map, "key").parse::<u32>().expect("a number") + 1;
    map.data.get_or_insert_default().insert("key".to_owned(), next.to_string());
}

/// Counts the writes of ConfigMaps from here on, and lets them pass.
fn writes(server: &ApiServer) -> impl Fn() -> u64 {
    let rule = server.fault(Match::update::<ConfigMap>(), Fault::Delay(std::time::Duration::ZERO));
    move || rule.hits()
}

#[tokio::test]
async fn an_object_is_created_unless_it_exists() {
    let (client, server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let created = api.get_or_create("a", || config_map("a", "1")).await.unwrap();
    let found = api.get_or_create("a", || panic!("it exists")).await.unwrap();
    assert_eq!((found.uid(), data(&found, "key").as_str()), (created.uid(), "1"));

    // Another client creates it after the read.
    server.fault(Match::get::<ConfigMap>().name("a").times(1), FaultResponse::status(404, "NotFound"));
    let raced = api.get_or_create("a", || config_map("a", "2")).await.unwrap();
    assert_eq!((raced.uid(), data(&raced, "key").as_str()), (created.uid(), "1"));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_never_appears_and_exists_is_an_error() {
    let (client, server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    create(&client, "a").await.unwrap();
    let reads = server.fault(Match::get::<ConfigMap>(), FaultResponse::status(404, "NotFound"));
    let error = api.get_or_create("a", || config_map("a", "1")).await.unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    assert_eq!(reads.hits(), 6);
}

#[tokio::test]
async fn a_new_object_of_another_name_or_namespace_is_an_error() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let error = api.get_or_create("a", || config_map("b", "1")).await.unwrap_err();
    assert!(matches!(&error, Error::BuildRequest(_)) && error.to_string().contains("\"b\""), "{error}");
    let mut elsewhere = config_map("a", "1");
    elsewhere.metadata.namespace = Some("kube-system".to_owned());
    assert!(matches!(api.get_or_create("a", || elsewhere).await, Err(Error::BuildRequest(_))));
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn no_change_of_concurrent_writers_is_lost() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "0")).await.unwrap();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let api = api.clone();
            tokio::spawn(async move {
                let mut done = 0;
                while done < 25 {
                    match api.update_with_retry("a", count).await {
                        Ok(_) => done += 1,
                        Err(error) => assert!(error.is_conflict(), "{error}"),
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(data(&api.get("a").await.unwrap(), "key"), "100");
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_repeated_five_times_in_all() {
    let (client, server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "0")).await.unwrap();
    let conflicts =
        server.fault(Match::update::<ConfigMap>().times(4), FaultResponse::status(409, "Conflict"));
    let mut calls = 0;
    let changed = api.update_with_retry("a", |map| {
        calls += 1;
        count(map);
    });
    assert_eq!(data(&changed.await.unwrap(), "key"), "1");
    assert_eq!((calls, conflicts.hits()), (5, 4));

    server.clear_faults();
    let conflicts = server.fault(Match::update::<ConfigMap>(), FaultResponse::status(409, "Conflict"));
    assert!(api.update_with_retry("a", count).await.unwrap_err().is_conflict());
    assert_eq!(conflicts.hits(), 5);

    server.clear_faults();
    let refusals = server.fault(Match::update::<ConfigMap>(), FaultResponse::status(403, "Forbidden"));
    assert!(api.update_with_retry("a", count).await.unwrap_err().is_forbidden());
    assert_eq!(refusals.hits(), 1, "only conflicts are repeated");
    assert!(api.update_with_retry("missing", count).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn nothing_is_sent_without_a_change_or_after_an_error() {
    let (client, server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "0")).await.unwrap();
    let writes = writes(&server);
    let unchanged = api.update_with_retry("a", |map| map.metadata.resource_version = None).await.unwrap();
    assert!(unchanged.resource_version().is_some(), "as it was read");
    let refused: Result<_, Box<dyn std::error::Error>> = api
        .update_with_retry("a", |map| {
            count(map);
            Err("the change is not possible".into())
        })
        .await;
    assert_eq!(refused.unwrap_err().to_string(), "the change is not possible");
    assert_eq!(writes(), 0);
    api.update_with_retry("a", count).await.unwrap();
    assert_eq!(writes(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_that_was_read_is_replaced_whatever_the_change_does() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("a", "0")).await.unwrap();
    let (mut calls, other) = (0, api.clone());
    let changed = api
        .update_with_retry("a", |map| {
            calls += 1;
            if calls == 1 {
                // Another client writes between the read and the write.
                let patch = Patch::Merge(json!({ "data": { "other": "kept" } }));
                let runtime = tokio::runtime::Handle::current();
                let write = async { other.patch("a", &PatchParams::default(), &patch).await };
                assert!(tokio::task::block_in_place(|| runtime.block_on(write)).is_ok());
            }
            count(map);
            map.metadata.resource_version = None;
        })
        .await
        .unwrap();
    assert_eq!((calls, data(&changed, "other").as_str(), data(&changed, "key").as_str()), (2, "kept", "1"));
}

#[tokio::test]
async fn whole_objects_are_written_by_an_api_that_prunes() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client).prune(Prune::default().last_applied());
    let mut map = config_map("a", "0");
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    map.metadata.annotations = Some([(annotation.to_owned(), "{}".to_owned())].into());
    api.create(&PostParams::default(), &map).await.unwrap();
    assert!(api.update_with_retry("a", count).await.unwrap().annotations().contains_key(annotation));
    assert!(api.get_or_create("a", || panic!()).await.unwrap().annotations().contains_key(annotation));
}

#[tokio::test]
async fn metadata_alone_cannot_be_replaced() {
    let (client, _server) = in_process();
    create(&client, "a").await.unwrap();
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let error = api.update_with_retry("a", |map| drop(map.labels_mut().insert("a".into(), "b".into()))).await;
    assert!(error.unwrap_err().to_string().contains("read without its content"));
}

#[tokio::test]
async fn a_status_is_updated_alone() {
    let (client, server) = in_process();
    let api: Api<Deployment> = Api::default_namespaced(client);
    let labels = json!({ "app": "web" });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let spec = json!({ "replicas": 1, "selector": { "matchLabels": labels }, "template": template });
    let web = serde_json::from_value(json!({ "metadata": { "name": "web" }, "spec": spec })).unwrap();
    api.create(&PostParams::default(), &web).await.unwrap();
    let status = Match::update::<Deployment>().subresource("status");
    server.fault(status.times(1), FaultResponse::status(409, "Conflict"));
    let updated = api
        .update_status_with_retry("web", |web| {
            web.status.get_or_insert_default().observed_generation = Some(1);
            web.spec.replicas = Some(5);
        })
        .await
        .unwrap();
    let replicas = updated.spec.replicas;
    assert_eq!((updated.status.and_then(|status| status.observed_generation), replicas), (Some(1), Some(1)));
}

/// An error type of a program.
#[derive(Debug)]
struct Failed(String);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Infallible> for Failed {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[tokio::test]
async fn the_error_of_the_program_is_that_of_the_closure() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    create(&client, "a").await.unwrap();
    let failed = api.update_with_retry("a", |_| Err(Failed("no".to_owned()))).await.unwrap_err();
    assert_eq!(failed.0, "no");
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let missing = api.update_with_retry("a", |_| Ok::<(), Failed>(())).await.unwrap_err();
    assert!(missing.0.contains("not found"), "{}", missing.0);
}
