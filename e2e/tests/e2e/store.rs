//! The store of a reflector: follows the server, waits for a write, indexes, subscribers of different speed.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, Index, ObjectRef, store::Writer};
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

#[test]
fn indexes_return_the_same_as_a_full_scan() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let (by_size, by_label) = (Index::new(|it: &Widget| [it.spec.size]), Index::labels());
            let (store, writer) = reflector::store::<Widget>();
            let driver = spawn_reflector(env, writer.with_index(&by_size).with_index(&by_label));
            let mut last = None;
            for at in 0..12 {
                let mut object = widget(&format!("w{at}"), at % 3);
                object.labels_mut().insert("parity".into(), ["even", "odd"][at as usize % 2].into());
                last = Some(api.create(&PostParams::default(), &object).await?);
            }
            let patch = Patch::Merge(json!({ "metadata": { "labels": { "parity": null } } }));
            let patched = api.patch("w1", &PatchParams::default(), &patch).await?;
            for seen in [last.as_ref().expect("12 were created"), &patched] {
                with_timeout(store.wait_for(seen)).await??;
            }
            assert_eq!(store.by_index(&by_size, &1).len(), 4);
            assert_eq!(store.by_index(&by_size, &7).len(), 0);
            assert_eq!(store.by_index(&by_label, "parity=odd").len(), 5);
            assert_eq!(store.state_filter_selector(&"parity in (even,odd)".parse()?).len(), 11);
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn slow_and_fast_subscribers_both_reach_the_newest_state() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("first", 1)).await?;
            let (store, writer) = reflector::store_shared::<Widget>(1);
            let mut early = writer.subscribe().expect("the store is shared");
            let driver = spawn_reflector(env, writer);
            assert_eq!(with_timeout(early.next()).await?.map(|it| it.name_any()).as_deref(), Some("first"));

            let mut late = store.subscribe().expect("the store is shared");
            let mut written = None;
            for size in 0..20 {
                let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                written = Some(api.patch("first", &PatchParams::default(), &patch).await?);
            }
            with_timeout(store.wait_for(&written.expect("20 writes were made"))).await??;
            let newest = with_timeout(late.next()).await?.map(|it| it.spec.size);
            assert_eq!(newest, Some(19), "a slow subscriber gets only the newest state");

            api.delete("first", &DeleteParams::default()).await?;
            let gone = with_timeout(async {
                loop {
                    let object = early.next().await.expect("the writer still exists");
                    if store.get(&(&*object).into()).is_none() {
                        return object;
                    }
                }
            });
            assert_eq!(gone.await?.name_any(), "first", "every subscriber gets deletions");
            driver.abort();
            assert!(driver.await.is_err());
            while with_timeout(late.next()).await?.is_some() {}
            Ok(())
        }
        .boxed()
    })
}
