//! What requests of a reconcile carry and record, and deletions of what has not changed.

#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::sync::{Arc, Mutex};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::client::Body;
use kube_client::core::reconcile::{Observed, OwnWrite, ReconcileMark, ReconcileObserver, WrittenState};
use kube_client::reconcile::ReconcileScope;
use kube_client::{Api, Client, Error, ResourceExt};
use kube_testserver::ApiServer;
use serde_json::json;
use tower::{Service, ServiceBuilder};

use crate::server::{config_map, in_process};

fn mark() -> ReconcileMark {
    ReconcileMark::new("maps", Some("default"), "owner")
}

fn texts(writes: &[OwnWrite]) -> Vec<String> {
    let text = |it: &OwnWrite| match &it.state {
        WrittenState::Version(version) => format!("{} {} {version}", it.plural, it.name),
        WrittenState::Deleted => format!("{} {} gone", it.plural, it.name),
    };
    writes.iter().map(text).collect()
}

fn version(object: &impl ResourceExt) -> String {
    object.resource_version().unwrap()
}

#[tokio::test]
async fn each_confirmed_write_of_a_scope_is_recorded() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let mark = mark();
    let work = async {
        let (post, dry) = (PostParams::default(), PatchParams::default().dry_run());
        let created = maps.create(&post, &config_map("a", "1")).await.unwrap();
        let label = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
        maps.patch("a", &dry, &label).await.unwrap();
        let patched = maps.patch_metadata("a", &PatchParams::default(), &label).await.unwrap();
        let updated = maps
            .update_with_retry("a", |map| {
                map.data = None;
            })
            .await
            .unwrap();
        maps.get("a").await.unwrap();
        maps.create(&post, &config_map("a", "2")).await.unwrap_err();
        let spec = json!({
            "metadata": { "name": "web" },
            "spec": {
                "selector": { "matchLabels": { "app": "web" } },
                "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } },
            },
        });
        let web = deployments.create(&post, &serde_json::from_value(spec).unwrap()).await.unwrap();
        let status = Patch::Merge(json!({ "status": { "observedGeneration": 1 } }));
        let shown = deployments.patch_status("web", &PatchParams::default(), &status).await.unwrap();
        let replicas = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
        let scaled = deployments.patch_scale("web", &PatchParams::default(), &replicas).await.unwrap();
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
        [
            format!("configmaps a {}", version(&created)),
            format!("configmaps a {}", version(&patched)),
            format!("configmaps a {}", version(&updated)),
            format!("deployments web {}", version(&web)),
            format!("deployments web {}", version(&shown)),
            format!("deployments web {}", scaled.metadata.resource_version.unwrap()),
            "configmaps a gone".to_owned(),
        ]
    };
    let expected = ReconcileScope::from(mark.clone()).in_scope(work).await;
    let writes = mark.take_writes();
    assert_eq!(texts(&writes), expected);
    assert_eq!(writes[0].uid, writes[6].uid, "a deletion is one of an object, not of a name");
    assert_eq!(writes[1].labels.as_ref().map(|labels| &*labels["seen"]), Some("yes"));
}

#[tokio::test]
async fn a_write_whose_response_the_program_cannot_decode_is_recorded() {
    let (client, _server) = in_process();
    let mark = mark();
    let work = async {
        let create = kube_client::core::Request::new("/api/v1/namespaces/default/configmaps")
            .create(&PostParams::default(), serde_json::to_vec(&config_map("a", "1")).unwrap())
            .unwrap();
        client.request::<Vec<u8>>(create).await.unwrap_err()
    };
    let error = ReconcileScope::from(mark.clone()).in_scope(work).await;
    assert!(matches!(error, Error::SerdeError(_)), "{error}");
    assert_eq!(mark.take_writes().len(), 1);
}

#[tokio::test]
async fn a_spawned_task_is_in_the_scope_only_if_the_scope_spawns_it() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let create = |name: &'static str| {
        let maps = maps.clone();
        async move { maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap() }
    };
    let mark = mark();
    let work = async {
        let scope = ReconcileScope::current();
        scope.spawn(create("spawned")).await.unwrap();
        tokio::spawn(scope.in_scope(create("carried"))).await.unwrap();
        tokio::spawn(create("nobodys")).await.unwrap();
    };
    ReconcileScope::from(mark.clone()).in_scope(work).await;
    let names: Vec<String> = mark.take_writes().into_iter().map(|write| write.name).collect();
    assert_eq!(names, ["spawned", "carried"]);
    let outside = ReconcileScope::current();
    assert!(outside.mark().is_none());
    outside.spawn(create("outside")).await.unwrap();
}

/// What a layer of the client sees, and what an observer is told.
#[derive(Default)]
struct Observer(Mutex<Vec<String>>);

impl ReconcileObserver for Observer {
    fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
        let text = match what {
            Observed::Requested { method, uri } => format!("{} {method} {}", reconcile.name(), uri.path()),
            Observed::Wrote(write) => format!("{} wrote {}", reconcile.name(), write.name),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(text);
    }
}

#[tokio::test]
async fn layers_see_whose_request_it_is_and_observers_what_a_reconcile_does() {
    let seen: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let log = Arc::clone(&seen);
    let server = ServiceBuilder::new()
        .map_request(move |request: http::Request<Body>| {
            log.lock().unwrap().push(request.extensions().get::<ReconcileMark>().map(ToString::to_string));
            request
        })
        .service_fn({
            let server = ApiServer::new();
            move |request: http::Request<Body>| server.clone().call(request)
        });
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(server, "default"));
    let observer = Arc::new(Observer::default());
    let mark = ReconcileMark::observed("maps", Some("default"), "owner", observer.clone());
    let work = async {
        maps.get_opt("a").await.unwrap();
        maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    };
    ReconcileScope::from(mark).in_scope(work).await;
    maps.get("a").await.unwrap();
    let reconcile = Some("the reconcile of default/owner in maps".to_owned());
    assert_eq!(*seen.lock().unwrap(), [reconcile.clone(), reconcile, None]);
    let path = "/api/v1/namespaces/default/configmaps";
    let expected = [format!("owner GET {path}/a"), format!("owner POST {path}"), "owner wrote a".to_owned()];
    assert_eq!(*observer.0.lock().unwrap(), expected);
}

#[tokio::test]
async fn what_has_changed_or_was_recreated_is_not_deleted() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    let first = maps.create(&post, &config_map("a", "1")).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(matches!(maps.delete_if_current(&first).await, Err(Error::Api(status)) if status.code == 404));
    let second = maps.create(&post, &config_map("a", "1")).await.unwrap();
    assert!(maps.delete_if_current(&first).await.unwrap_err().is_conflict(), "another object of its name");
    let third = maps.replace("a", &post, &ConfigMap { data: None, ..second.clone() }).await.unwrap();
    assert!(maps.delete_if_current(&second).await.unwrap_err().is_conflict(), "it has changed");
    assert!(maps.delete_if_current(&third).await.unwrap().is_right());
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn an_object_that_no_precondition_can_be_made_of_is_an_error_that_says_what_is_missing() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let created = maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let without = |edit: fn(&mut ConfigMap)| {
        let mut map = created.clone();
        edit(&mut map);
        map
    };
    let error = async |maps: &Api<ConfigMap>, map: &ConfigMap| match maps.delete_if_current(map).await {
        Err(Error::BuildRequest(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    for (map, field) in [
        (without(|map| map.metadata.name = None), "the object has no metadata.name: expected"),
        (without(|map| map.metadata.uid = None), "\"a\" has no metadata.uid: expected"),
        (
            without(|map| map.metadata.resource_version = Some(String::new())),
            "\"a\" has no metadata.resourceVersion: expected",
        ),
    ] {
        let text = error(&maps, &map).await;
        assert!(text.contains(field), "{text}");
    }
    let elsewhere = error(&Api::namespaced(client.clone(), "shop"), &created).await;
    assert!(
        elsewhere.contains(r#""a" is in the namespace "default""#) && elsewhere.contains("\"shop\""),
        "{elsewhere}"
    );
    let everywhere = error(&Api::all(client), &created).await;
    assert!(everywhere.contains("but this one has no namespace"), "{everywhere}");
    assert!(maps.get_opt("a").await.unwrap().is_some());
}
