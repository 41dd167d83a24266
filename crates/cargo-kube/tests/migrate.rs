//! Migrations on the embedded server: killed, throttled, among other writers. Time is paused.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use cargo_kube::migrate::Migration;
use futures::future::poll_fn;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::{Api, Client};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind, ResourceExt};
use kube_testserver::{ApiServer, FaultResponse, Match};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

const CRD: &str = "pages.example.com";

/// A definition with both versions, stored in this one, whose schemas accept anything.
fn definition(storage: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == storage,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": CRD },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
            "versions": [version("v1"), version("v2")],
        },
    })
}

fn pages(client: &Client, version: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("example.com", version, "Page");
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk_with_plural(&gvk, "pages"))
}

fn page(name: &str, n: u64) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": { "name": name }, "spec": { "n": n } })
}

/// A server with objects in v1, whose storage version has become v2.
async fn server(objects: &[Value]) -> (ApiServer, Client) {
    let server = ApiServer::builder().with_crds([definition("v1")]).with_objects(objects).service().unwrap();
    let client = Client::new(server.clone(), "default");
    store_in(&client, "v2").await;
    (server, client)
}

/// Makes this the storage version.
async fn store_in(client: &Client, version: &str) {
    let change = Patch::Merge(json!({ "spec": { "versions": definition(version)["spec"]["versions"] } }));
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    definitions.patch(CRD, &PatchParams::default(), &change).await.unwrap();
}

fn migration(client: &Client) -> Migration {
    Migration::new(client.clone(), CRD).qps(NonZeroU32::new(1000).unwrap())
}

/// How many objects are stored in this version.
fn stored_in(server: &ApiServer, version: &str) -> usize {
    server.snapshot().matches(&format!("\napiVersion: example.com/{version}\n")).count()
}

async fn stored_versions(client: &Client) -> Vec<String> {
    let crd = Api::<CustomResourceDefinition>::all(client.clone()).get(CRD).await.unwrap();
    crd.status.unwrap().stored_versions.unwrap()
}

/// Changes, creates and deletes the objects whose numbers are `own` modulo 3, in either version, and returns their numbers in the end.
async fn write(client: Client, own: u64, seed: u64, stopped: Arc<Mutex<bool>>) -> BTreeMap<String, u64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut model: BTreeMap<_, _> =
        (0..OBJECTS).filter(|n| n % 3 == own).map(|n| (format!("page-{n}"), n)).collect();
    while !*stopped.lock().unwrap() {
        sleep(Duration::from_millis(rng.u64(5..100))).await;
        let api = pages(&client, rng.choice(["v1", "v2"]).unwrap());
        let name = format!("page-{}", rng.u64(0..OBJECTS + 60) / 3 * 3 + own);
        let n = rng.u64(..1 << 53);
        let is_new = !model.contains_key(&name);
        if is_new {
            let version = if api.resource_url().contains("/v1/") { "v1" } else { "v2" };
            let mut new = page(&name, n);
            new["apiVersion"] = json!(format!("example.com/{version}"));
            api.create(&PostParams::default(), &serde_json::from_value(new).unwrap()).await.unwrap();
            model.insert(name, n);
        } else if rng.u8(..10) == 0 {
            api.delete(&name, &DeleteParams::default()).await.unwrap();
            model.remove(&name);
        } else {
            let change = json!({ "spec": { "n": n } });
            api.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
            model.insert(name, n);
        }
    }
    model
}

/// Two pages.
const OBJECTS: u64 = 700;

#[tokio::test(start_paused = true)]
async fn killed_20_times_among_other_writers_a_migration_loses_nothing() {
    let objects: Vec<_> = (0..OBJECTS).map(|n| page(&format!("page-{n}"), n)).collect();
    let (server, client) = server(&objects).await;
    let stopped = Arc::new(Mutex::new(false));
    let mut writers = JoinSet::new();
    for own in 0..3 {
        writers.spawn(write(client.clone(), own, 40 + own, stopped.clone()));
    }
    let home = tempfile::tempdir().unwrap();
    let mut rng = fastrand::Rng::with_seed(40);
    let (mut kills, mut storage) = (0, "v2");
    loop {
        let is_last = kills == 20;
        let mut migration = migration(&client);
        if rng.bool() {
            migration = migration.state_file(home.path().join("state.json"));
        }
        // Killed at the next `await` after so many.
        let mut polls = if is_last { u32::MAX } else { rng.u32(1..600) };
        let mut run = Box::pin(migration.run(|_| {}));
        let ended = poll_fn(|context| {
            polls -= 1;
            match run.as_mut().poll(context) {
                Poll::Pending if polls == 0 => Poll::Ready(None),
                other => other.map(Some),
            }
        });
        let Some(summary) = ended.await else {
            drop(run);
            kills += 1;
            assert_eq!(stored_versions(&client).await.len(), 2, "only a complete run changes storedVersions");
            continue;
        };
        let other = if storage == "v1" { "v2" } else { "v1" };
        assert_eq!(stored_in(&server, other), 0, "an object was left in {other}");
        let summary = summary.unwrap();
        assert_eq!((summary.refused.len(), &*summary.removed_versions), (0, &[other.to_owned()][..]));
        assert_eq!(stored_versions(&client).await, [storage]);
        if is_last {
            break;
        }
        // It was faster than the kill: now back.
        store_in(&client, other).await;
        storage = other;
    }
    *stopped.lock().unwrap() = true;
    let mut expected = BTreeMap::new();
    while let Some(model) = writers.join_next().await {
        expected.extend(model.unwrap());
    }
    let stored = pages(&client, "v1").list(&ListParams::default()).await.unwrap();
    let stored: BTreeMap<_, _> =
        stored.items.iter().map(|page| (page.name_any(), page.data["spec"]["n"].as_u64().unwrap())).collect();
    assert_eq!(stored, expected);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_killed_goes_on_behind_its_last_page() {
    let objects: Vec<_> = (0..OBJECTS).map(|n| page(&format!("page-{n}"), n)).collect();
    let (server, client) = server(&objects).await;
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state.json");
    let run = migration(&client).state_file(&state).run(|_| {});
    // Five seconds until the definition has settled, and 600 objects.
    assert!(tokio::time::timeout(Duration::from_millis(5600), run).await.is_err());
    assert!(state.exists());
    // The token of the file is too old by then: the server sends another one, for the same place.
    server.compact();
    let summary = migration(&client).state_file(&state).run(|_| {}).await.unwrap();
    assert_eq!(summary.written + summary.unchanged, OBJECTS - 500);
    assert!(summary.unchanged >= 50, "{summary:?}");
    assert_eq!((stored_in(&server, "v1"), stored_in(&server, "v2")), (0, 700));
    assert!(!state.exists());
    let again = migration(&client).run(|_| {}).await.unwrap();
    assert_eq!((again.written + again.unchanged, again.removed_versions.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_throttled_run_waits_as_long_as_the_server_asks() {
    let (server, client) = server(&[page("a", 1), page("b", 2)]).await;
    let throttled = FaultResponse::status(429, "TooManyRequests").retry_after(20);
    let rule = server.fault(Match::resource("example.com", "pages").verb("patch").times(3), throttled);
    let start = tokio::time::Instant::now();
    let summary = migration(&client).run(|_| {}).await.unwrap();
    assert_eq!((summary.written, rule.hits()), (2, 3));
    assert!(start.elapsed() >= Duration::from_secs(60), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn objects_that_wait_for_finalizers_are_migrated_as_well() {
    let mut waiting = page("waiting", 1);
    waiting["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let (server, client) = server(&[waiting]).await;
    pages(&client, "v1").delete("waiting", &DeleteParams::default()).await.unwrap();
    // Deleting wrote it: back to v1, then again to v2, without a write in between.
    store_in(&client, "v1").await;
    migration(&client).run(|_| {}).await.unwrap();
    store_in(&client, "v2").await;
    assert_eq!(stored_in(&server, "v1"), 1);
    let summary = migration(&client).run(|_| {}).await.unwrap();
    assert_eq!((summary.written, stored_in(&server, "v2")), (1, 1));
    let object = pages(&client, "v2").get("waiting").await.unwrap();
    assert!(object.metadata.deletion_timestamp.is_some());
}

#[tokio::test(start_paused = true)]
async fn with_a_refused_object_the_old_version_stays_stored() {
    let (server, client) = server(&[page("bad", 10), page("good", 1)]).await;
    let patches = || Match::resource("example.com", "pages").verb("patch");
    let rule = server.fault(patches().name("bad"), FaultResponse::status(403, "Forbidden"));
    let summary = migration(&client).run(|_| {}).await.unwrap();
    assert_eq!((summary.refused.len(), summary.written, rule.hits()), (1, 1, 1));
    assert!(summary.refused[0].to_string().starts_with("default/bad: "), "{summary:?}");
    assert_eq!((stored_versions(&client).await.len(), summary.removed_versions.len()), (2, 0));
    server.clear_faults();
    let summary = migration(&client).run(|_| {}).await.unwrap();
    assert_eq!(
        (summary.written, summary.unchanged, stored_versions(&client).await),
        (1, 1, vec!["v2".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn errors_name_the_definition_and_what_was_expected() {
    let (_, client) = server(&[]).await;
    let error = |migration: Migration| async { migration.run(|_| {}).await.unwrap_err().to_string() };
    assert_eq!(
        error(Migration::new(client.clone(), "leaves.example.com")).await,
        "leaves.example.com: the cluster has no such definition; expected a name such as widgets.example.com"
    );
    assert_eq!(
        error(migration(&client).to("v1")).await,
        "pages.example.com: expected the storage version v1, found v2"
    );
}
