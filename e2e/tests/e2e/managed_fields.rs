//! `metadata.managedFields` is decoded only if the watcher wants it.

use futures::{FutureExt as _, StreamExt as _, pin_mut};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::json;

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

/// Watches an object and returns the number of its managedFields entries, initially and after a change.
async fn managed_fields_entries(env: &TestEnv, config: watcher::Config) -> anyhow::Result<[usize; 2]> {
    let api = env.api::<Widget>();
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
    let entries =
        [initial, changed].map(|object| object.map_or(0, |object: Widget| object.managed_fields().len()));
    api.delete("a", &Default::default()).await?;
    Ok(entries)
}

#[test]
fn a_watcher_keeps_managed_fields_unless_configured_otherwise() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            assert_eq!(managed_fields_entries(env, watcher::Config::default()).await?, [1, 2]);
            assert_eq!(
                managed_fields_entries(env, watcher::Config::default().without_managed_fields()).await?,
                [0, 0]
            );
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_streaming_list_keeps_managed_fields_unless_configured_otherwise() -> anyhow::Result<()> {
    run(Requires::StreamingLists, |env| {
        async move {
            let config = watcher::Config::default().streaming_lists();
            assert_eq!(managed_fields_entries(env, config.clone()).await?, [1, 2]);
            assert_eq!(managed_fields_entries(env, config.without_managed_fields()).await?, [0, 0]);
            Ok(())
        }
        .boxed()
    })
}
