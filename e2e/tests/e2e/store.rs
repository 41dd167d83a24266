//! The store beyond names: indexes, one's own writes, several readers at their own pace.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, Index, store::Writer};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run};

fn fill(world: &World, writer: Writer<Widget>) -> JoinHandle<()> {
    let stream = watcher(world.api::<Widget>(), watcher::Config::default()).default_backoff().reflect(writer);
    tokio::spawn(stream.for_each(|_| async {}))
}

async fn in_time<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(tokio::time::timeout(Duration::from_secs(10), future).await?)
}

#[test]
fn own_writes_are_seen_when_waited_for() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let (store, writer) = reflector::store::<Widget>();
            let driver = fill(world, writer);
            let written = api.create(&PostParams::default(), &widget("a", 0)).await?;
            let cached = in_time(store.wait_for(&written)).await??;
            assert_eq!(cached.map(|it| it.spec.size), Some(0), "the first list or its watch brings it");
            for size in 1..30 {
                let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                let written = api.patch("a", &PatchParams::default(), &patch).await?;
                let cached = in_time(store.wait_for(&written)).await??;
                assert_eq!(cached.map(|it| it.spec.size), Some(size));
            }
            let last = api.get("a").await?;
            api.delete("a", &DeleteParams::default()).await?;
            let other = api.create(&PostParams::default(), &widget("b", 1)).await?;
            in_time(store.wait_for(&other)).await??;
            assert!(in_time(store.wait_for(&last)).await??.is_none(), "seen, and gone since");
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn indexes_find_what_looking_at_everything_finds() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let (by_size, by_label) = (Index::new(|it: &Widget| [it.spec.size]), Index::labels());
            let (store, writer) = reflector::store::<Widget>();
            let driver = fill(world, writer.with_index(&by_size).with_index(&by_label));
            let mut last = None;
            for at in 0..12 {
                let mut object = widget(&format!("w{at}"), at % 3);
                object.labels_mut().insert("parity".into(), ["even", "odd"][at as usize % 2].into());
                last = Some(api.create(&PostParams::default(), &object).await?);
            }
            let patch = Patch::Merge(json!({ "metadata": { "labels": { "parity": null } } }));
            let patched = api.patch("w1", &PatchParams::default(), &patch).await?;
            for seen in [last.as_ref().expect("12 were made"), &patched] {
                in_time(store.wait_for(seen)).await??;
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
fn every_subscriber_gets_everything_at_its_own_pace() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            api.create(&PostParams::default(), &widget("first", 1)).await?;
            let (store, writer) = reflector::store_shared::<Widget>(1);
            let mut early = writer.subscribe().expect("the store is shared");
            let driver = fill(world, writer);
            assert_eq!(in_time(early.next()).await?.map(|it| it.name_any()).as_deref(), Some("first"));

            let mut late = store.subscribe().expect("the store is shared");
            let mut written = None;
            for size in 0..20 {
                let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                written = Some(api.patch("first", &PatchParams::default(), &patch).await?);
            }
            in_time(store.wait_for(&written.expect("20 were written"))).await??;
            let newest = in_time(late.next()).await?.map(|it| it.spec.size);
            assert_eq!(newest, Some(19), "what was passed over is not queued");

            api.delete("first", &DeleteParams::default()).await?;
            let gone = in_time(async {
                loop {
                    let object = early.next().await.expect("the writer lives");
                    if store.get(&(&*object).into()).is_none() {
                        return object;
                    }
                }
            });
            assert_eq!(gone.await?.name_any(), "first", "deletions reach everybody");
            driver.abort();
            assert!(driver.await.is_err());
            while in_time(late.next()).await?.is_some() {}
            Ok(())
        }
        .boxed()
    })
}
