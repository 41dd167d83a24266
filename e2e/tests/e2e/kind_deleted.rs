//! A kind that goes away under its watcher, and comes back.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::runtime::wait::delete::delete_and_finalize;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::runtime::{WatchStreamExt as _, conditions, reflector::store::Writer, wait::await_condition};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::world::{Need, World, run, unique};

const WAIT: Duration = Duration::from_secs(20);

async fn define(world: &World, group: &str) -> anyhow::Result<String> {
    let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let name = format!("passings.{group}");
    let crd = serde_json::from_value(json!({
        "metadata": { "name": name },
        "spec": {
            "group": group,
            "names": { "kind": "Passing", "plural": "passings" },
            "scope": "Namespaced",
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    }))?;
    crds.create(&PostParams::default(), &crd).await?;
    timeout(WAIT, await_condition(crds, &name, conditions::is_crd_established())).await??;
    Ok(name)
}

/// Creates an object as soon as the kind is served, which is a moment after it is established.
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
fn is_asked_for_seldom_and_followed_again() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let group = format!("{}.example.com", unique("gone"));
            let crds: Api<CustomResourceDefinition> = Api::all(world.client.clone());
            let name = define(world, &group).await?;
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Passing"));
            let api: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), &world.namespace, &kind);
            create(&api, &kind, "old").await?;
            let writer = Writer::new(kind.clone());
            let store = writer.as_reader();
            let mut events = Box::pin(watcher(api.clone(), Config::default()).reflect(writer));
            while !matches!(timeout(WAIT, events.next()).await?, Some(Ok(Event::InitDone))) {}
            assert_eq!(store.len(), 1);

            timeout(WAIT, delete_and_finalize(crds.clone(), &name, &DeleteParams::default())).await??;
            let start = Instant::now();
            let mut errors = 0;
            while start.elapsed() < Duration::from_secs(4) {
                let item = timeout(Duration::from_secs(1), events.next()).await;
                errors += usize::from(matches!(item, Ok(Some(Err(_)))));
            }
            assert!((1..=8).contains(&errors), "{errors} errors within 4 s, without a backoff of the user");

            define(world, &group).await?;
            create(&api, &kind, "new").await?;
            let names = || store.state().iter().map(|it| it.name_any()).collect::<Vec<_>>();
            let start = Instant::now();
            while names() != ["new"] {
                anyhow::ensure!(start.elapsed() < WAIT, "20 s later the store shows {:?}", names());
                timeout(WAIT, events.next()).await?;
            }
            timeout(WAIT, delete_and_finalize(crds, &name, &DeleteParams::default())).await??;
            Ok(())
        }
        .boxed()
    })
}
