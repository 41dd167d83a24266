//! The store of a reflector: follows the server, waits for a write.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, ObjectRef, store::Writer};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

fn spawn_reflector(env: &TestEnv, writer: Writer<Widget>) -> JoinHandle<()> {
    let stream = watcher(env.api::<Widget>(), watcher::Config::default()).default_backoff().reflect(writer);
    tokio::spawn(stream.for_each(|_| async {}))
}

async fn with_timeout<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(tokio::time::timeout(Duration::from_secs(10), future).await?)
}

#[test]
fn a_store_follows_the_server() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            let (store, writer) = reflector::store::<Widget>();
            let driver = spawn_reflector(env, writer);
            with_timeout(store.wait_until_ready()).await??;
            let key = ObjectRef::<Widget>::new("a").within(&env.namespace);
            assert_eq!(store.get(&key).map(|object| object.spec.size), Some(1));

            api.create(&PostParams::default(), &widget("b", 2)).await?;
            api.delete("a", &DeleteParams::default()).await?;
            with_timeout(async {
                while store.state().iter().map(|object| object.name_any()).collect::<Vec<_>>() != ["b"] {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            })
            .await?;
            assert_eq!(store.len(), 1);
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn wait_for_returns_once_the_store_has_a_write() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let (store, writer) = reflector::store::<Widget>();
            let driver = spawn_reflector(env, writer);
            let written = api.create(&PostParams::default(), &widget("a", 0)).await?;
            let cached = with_timeout(store.wait_for(&written)).await??;
            assert_eq!(cached.map(|it| it.spec.size), Some(0), "the initial list or the watch delivers it");
            for size in 1..30 {
                let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                let written = api.patch("a", &PatchParams::default(), &patch).await?;
                let cached = with_timeout(store.wait_for(&written)).await??;
                assert_eq!(cached.map(|it| it.spec.size), Some(size));
            }
            let last = api.get("a").await?;
            api.delete("a", &DeleteParams::default()).await?;
            let other = api.create(&PostParams::default(), &widget("b", 1)).await?;
            with_timeout(store.wait_for(&other)).await??;
            assert!(
                with_timeout(store.wait_for(&last)).await??.is_none(),
                "the store has observed the deletion"
            );
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}
