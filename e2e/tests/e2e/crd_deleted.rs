//! A CRD that is deleted and created again while its objects are watched.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::runtime::wait::delete::delete_and_finalize;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::runtime::{WatchStreamExt as _, reflector::store::Writer};
use kube::{Api, ResourceExt as _, crds};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::test_env::{Requires, TestEnv, run, unique};

const TIMEOUT: Duration = Duration::from_secs(20);

async fn create_crd(env: &TestEnv, group: &str) -> anyhow::Result<String> {
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let name = format!("ephemerals.{group}");
    let crd = serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "group": group,
            "names": { "kind": "Ephemeral", "plural": "ephemerals" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    }))?;
    crds::install(&env.client, "e2e", [crd]).await?;
    Ok(name)
}

/// Creates an object, with retries: a kind is served shortly after its CRD is established.
async fn create(api: &Api<DynamicObject>, kind: &ApiResource, name: &str) -> anyhow::Result<()> {
    for _ in 0..100 {
        match api.create(&PostParams::default(), &DynamicObject::new(name, kind)).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code != 409 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    anyhow::bail!("{name} cannot be created 10 s after its kind was established")
}

#[test]
fn a_watcher_of_a_deleted_kind_backs_off_and_recovers() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let group = format!("{}.example.com", unique("gone"));
            let crds: Api<CustomResourceDefinition> = Api::all(env.client.clone());
            let name = create_crd(env, &group).await?;
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Ephemeral"));
            let api: Api<DynamicObject> = Api::namespaced_with(env.client.clone(), &env.namespace, &kind);
            create(&api, &kind, "old").await?;
            let writer = Writer::new(kind.clone());
            let store = writer.as_reader();
            let mut events = Box::pin(watcher(api.clone(), Config::default()).reflect(writer));
            while !matches!(timeout(TIMEOUT, events.next()).await?, Some(Ok(Event::InitDone))) {}
            assert_eq!(store.len(), 1);

            timeout(TIMEOUT, delete_and_finalize(crds.clone(), &name, &DeleteParams::default())).await??;
            let start = Instant::now();
            let mut errors = 0;
            while start.elapsed() < Duration::from_secs(4) {
                let item = timeout(Duration::from_secs(1), events.next()).await;
                errors += usize::from(matches!(item, Ok(Some(Err(_)))));
            }
            assert!(
                (1..=8).contains(&errors),
                "{errors} errors within 4 s, without a backoff set by the user"
            );

            create_crd(env, &group).await?;
            create(&api, &kind, "new").await?;
            let names = || store.state().iter().map(|it| it.name_any()).collect::<Vec<_>>();
            let start = Instant::now();
            while names() != ["new"] {
                anyhow::ensure!(start.elapsed() < TIMEOUT, "after 20 s the store still has {:?}", names());
                timeout(TIMEOUT, events.next()).await?;
            }
            timeout(TIMEOUT, delete_and_finalize(crds, &name, &DeleteParams::default())).await??;
            Ok(())
        }
        .boxed()
    })
}
