//! Managed fields, which servers keep for every object, are passed over where nobody asks for them.

use futures::{FutureExt as _, StreamExt as _, pin_mut};
use http::Request;
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use kube::client::Prune;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run};

/// How many managers the initial object and a changed one tell of.
async fn managers(world: &World, config: watcher::Config) -> anyhow::Result<[usize; 2]> {
    let api = world.api::<Widget>();
    api.patch("a", &PatchParams::apply("one").force(), &Patch::Apply(widget("a", 1))).await?;
    let stream = watcher(api.clone(), config).default_backoff();
    pin_mut!(stream);
    let (mut initial, mut changed) = (None, None);
    while changed.is_none() {
        match stream.next().await {
            Some(Ok(Event::InitApply(object))) => initial = Some(object),
            Some(Ok(Event::InitDone)) => {
                let patch = Patch::Merge(json!({ "metadata": { "labels": { "changed": "yes" } } }));
                api.patch(
                    "a",
                    &PatchParams { field_manager: Some("two".into()), ..PatchParams::default() },
                    &patch,
                )
                .await?;
            }
            Some(Ok(Event::Apply(object))) => changed = Some(object),
            Some(Ok(Event::Init | Event::Delete(_))) => {}
            Some(Err(err)) => return Err(err.into()),
            None => anyhow::bail!("a watcher does not end"),
        }
    }
    let objects =
        [initial, changed].map(|object| object.map_or(0, |object: Widget| object.managed_fields().len()));
    api.delete("a", &Default::default()).await?;
    Ok(objects)
}

#[test]
fn a_watcher_has_them_unless_it_is_told_otherwise() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            assert_eq!(managers(world, watcher::Config::default()).await?, [1, 2]);
            assert_eq!(managers(world, watcher::Config::default().without_managed_fields()).await?, [0, 0]);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_streaming_list_has_them_unless_it_is_told_otherwise() -> anyhow::Result<()> {
    run(Need::StreamingLists, |world| {
        async move {
            let config = watcher::Config::default().streaming_lists();
            assert_eq!(managers(world, config.clone()).await?, [1, 2]);
            assert_eq!(managers(world, config.without_managed_fields()).await?, [0, 0]);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_request_may_pass_them_over() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            // A write without apply is recorded as well.
            api.create(&Default::default(), &widget("a", 1)).await?;
            let get = || Request::get(format!("{}/a", api.resource_url())).body(Vec::new());
            let whole: Widget = world.client.request(get()?).await?;
            assert_eq!(whole.managed_fields().len(), 1);
            let mut request = get()?;
            request.extensions_mut().insert(Prune::managed_fields());
            let pruned: Widget = world.client.request(request).await?;
            assert_eq!((pruned.managed_fields().len(), pruned.spec.size), (0, 1));
            assert_eq!(pruned.resource_version(), whole.resource_version());
            Ok(())
        }
        .boxed()
    })
}
