//! `Api::watch`: where it starts, which events it delivers, how it ends.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, pin_mut};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

fn label(event: &WatchEvent<Widget>) -> String {
    match event {
        WatchEvent::Added(object) => format!("added {}", object.name_any()),
        WatchEvent::Modified(object) => format!("modified {}", object.name_any()),
        WatchEvent::Deleted(object) => format!("deleted {}", object.name_any()),
        WatchEvent::Bookmark(_) => "bookmark".into(),
        WatchEvent::Error(status) => format!("error {}", status.code),
    }
}

#[test]
fn a_watch_from_a_list_version_misses_no_event() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("before", 1)).await?;
            let version =
                api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
            api.create(&PostParams::default(), &widget("after", 1)).await?;
            api.patch("after", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } })))
                .await?;
            api.delete("after", &DeleteParams::default()).await?;
            let events = api.watch(&WatchParams::default().disable_bookmarks(), &version).await?.take(3);
            let labels: Vec<_> = events.map_ok(|event| label(&event)).try_collect().await?;
            assert_eq!(labels, ["added after", "modified after", "deleted after"]);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_watch_ends_after_its_timeout() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let version =
                api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
            let events = api.watch(&WatchParams::default().timeout(1), &version).await?;
            let rest =
                tokio::time::timeout(Duration::from_secs(10), events.try_collect::<Vec<_>>()).await??;
            assert!(rest.iter().all(|event| matches!(event, WatchEvent::Bookmark(_))), "{rest:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_changed_label_moves_an_object_in_and_out_of_a_watch() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let version =
                api.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
            api.create(&PostParams::default(), &widget("moving", 1)).await?;
            for value in [json!("yes"), json!(null)] {
                let patch = Patch::Merge(json!({ "metadata": { "labels": { "watched": value } } }));
                api.patch("moving", &PatchParams::default(), &patch).await?;
            }
            let params = WatchParams::default().labels("watched=yes").disable_bookmarks();
            let events = api.watch(&params, &version).await?.take(2);
            let labels: Vec<_> = events.map_ok(|event| label(&event)).try_collect().await?;
            assert_eq!(labels, ["added moving", "deleted moving"]);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn initial_events_end_with_an_annotated_bookmark() -> anyhow::Result<()> {
    run(Requires::StreamingLists, |env| {
        async move {
            let api = env.api::<Widget>();
            for name in ["a", "b"] {
                api.create(&PostParams::default(), &widget(name, 1)).await?;
            }
            let events = api.watch(&WatchParams::streaming_lists(), "").await?.take(3);
            pin_mut!(events);
            let mut seen = Vec::new();
            while let Some(event) = events.try_next().await? {
                if let WatchEvent::Bookmark(bookmark) = &event {
                    let annotation = bookmark.metadata.annotations.get("k8s.io/initial-events-end");
                    assert_eq!(annotation.map(String::as_str), Some("true"));
                }
                seen.push(label(&event));
            }
            seen[..2].sort();
            assert_eq!(seen, ["added a", "added b", "bookmark"]);
            Ok(())
        }
        .boxed()
    })
}
