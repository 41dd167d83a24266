//! `cargo kube crd migrate` among other writers, killed again and again. Kubernetes itself then removes the old version: an object that is
//! still stored in it could not be read any more.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cargo_kube::migrate::Migration;
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt as _, crds};
use serde_json::json;
use tokio::time::sleep;

use crate::test_env::{Requires, TestEnv, run};

const CRD: &str = "leaflets.migration.example.com";
/// Two pages of a migration.
const OBJECTS: u64 = 520;
const KILLS: u64 = 2;

fn definition(versions: &[(&str, bool)]) -> anyhow::Result<CustomResourceDefinition> {
    let versions = versions.iter().map(|(name, storage)| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        })
    });
    let names =
        json!({ "plural": "leaflets", "singular": "leaflet", "kind": "Leaflet", "listKind": "LeafletList" });
    Ok(serde_json::from_value(json!({
        "metadata": { "name": CRD },
        "spec": {
            "group": "migration.example.com", "scope": "Namespaced", "names": names,
            "versions": versions.collect::<Vec<_>>(),
        },
    }))?)
}

fn leaflets(client: &Client, namespace: &str, version: &str) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("migration.example.com", version, "Leaflet");
    Api::namespaced_with(client.clone(), namespace, &ApiResource::from_gvk_with_plural(&gvk, "leaflets"))
}

fn leaflet(name: &str, version: &str, n: u64) -> anyhow::Result<DynamicObject> {
    let api_version = format!("migration.example.com/{version}");
    Ok(serde_json::from_value::<DynamicObject>(json!({
        "apiVersion": api_version, "kind": "Leaflet", "metadata": { "name": name }, "spec": { "n": n },
    }))?)
}

/// Changes, creates and deletes objects in either version, and returns what it wrote last.
async fn write(
    client: Client,
    namespace: String,
    stopped: Arc<AtomicBool>,
) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut model: BTreeMap<_, _> = (0..OBJECTS).map(|n| (format!("leaflet-{n}"), n)).collect();
    let apis = ["v1", "v2"].map(|version| (version, leaflets(&client, &namespace, version)));
    let mut n = OBJECTS;
    while !stopped.load(Ordering::SeqCst) {
        n += 1;
        let (version, api) = &apis[usize::from(n.is_multiple_of(2))];
        // Steps through all names, some of which do not exist yet.
        let name = format!("leaflet-{}", n * 37 % (OBJECTS + 60));
        let is_new = !model.contains_key(&name);
        if is_new {
            api.create(&PostParams::default(), &leaflet(&name, version, n)?).await?;
            model.insert(name, n);
        } else if n.is_multiple_of(10) {
            api.delete(&name, &DeleteParams::default()).await?;
            model.remove(&name);
        } else {
            let change = Patch::Merge(json!({ "spec": { "n": n } }));
            api.patch(&name, &PatchParams::default(), &change).await?;
            model.insert(name, n);
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(model)
}

async fn prepare(env: &TestEnv) -> anyhow::Result<()> {
    crds::install(&env.client, "e2e", [definition(&[("v1", true)])?]).await?;
    let api = leaflets(&env.client, &env.namespace, "v1");
    let create = async |n: u64| {
        let object = leaflet(&format!("leaflet-{n}"), "v1", n)?;
        api.create(&PostParams::default(), &object).await?;
        anyhow::Ok(())
    };
    stream::iter(0..OBJECTS).map(create).buffer_unordered(16).try_collect::<()>().await?;
    crds::install(&env.client, "e2e", [definition(&[("v1", false), ("v2", true)])?]).await?;
    Ok(())
}

#[test]
fn a_killed_migration_among_writers_loses_nothing() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            prepare(env).await?;
            let stopped = Arc::new(AtomicBool::new(false));
            let writer = tokio::spawn(write(env.client.clone(), env.namespace.clone(), stopped.clone()));
            let qps = NonZeroU32::new(2000).unwrap_or(NonZeroU32::MIN);
            let migration = || Migration::new(env.client.clone(), CRD).qps(qps);
            let definitions: Api<CustomResourceDefinition> = Api::all(env.client.clone());
            for kill in 0..KILLS {
                // Five seconds until the definition has settled, then pages of objects.
                let time = Duration::from_millis(5100 + 200 * kill);
                if tokio::time::timeout(time, migration().run(|_| {})).await.is_ok() {
                    break; // faster than the kill
                }
                assert_eq!(stored_versions(&definitions).await?.len(), 2);
            }
            let summary = migration().run(|_| {}).await?;
            assert!(summary.refused.is_empty(), "{summary:?}");
            assert_eq!(stored_versions(&definitions).await?, ["v2"]);
            stopped.store(true, Ordering::SeqCst);
            let expected = writer.await??;

            let only_new = json!({ "spec": { "versions": definition(&[("v2", true)])?.spec.versions } });
            definitions.patch(CRD, &PatchParams::default(), &Patch::Merge(only_new)).await?;
            let list = leaflets(&env.client, &env.namespace, "v2").list(&ListParams::default()).await?;
            let n = |object: &DynamicObject| object.data["spec"]["n"].as_u64().unwrap_or_default();
            let stored: BTreeMap<_, _> =
                list.items.iter().map(|object| (object.name_any(), n(object))).collect();
            assert_eq!(stored, expected);
            definitions.delete(CRD, &DeleteParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}

async fn stored_versions(definitions: &Api<CustomResourceDefinition>) -> anyhow::Result<Vec<String>> {
    let crd = definitions.get(CRD).await?;
    Ok(crd.status.and_then(|status| status.stored_versions).unwrap_or_default())
}
