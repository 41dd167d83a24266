//! One scenario for each verb of `Api`. What servers do beyond that is shown by the conformance suite, and the requests of every method by
//! the tests of kube-client.

use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;

use crate::test_env::{Requires, rejection, run};
use crate::widget::{Widget, WidgetStatus, widget};

#[test]
fn an_object_is_created_read_and_replaced() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let created = api.create(&PostParams::default(), &widget("one", 1)).await?;
            assert!(
                created.uid().is_some()
                    && created.resource_version().is_some()
                    && created.creation_timestamp().is_some()
            );
            assert_eq!(created.metadata.generation, Some(1));
            assert_eq!(created.namespace().as_ref(), Some(&env.namespace));

            let mut read = api.get("one").await?;
            assert_eq!(read, created);
            read.spec.size = 2;
            let replaced = api.replace("one", &PostParams::default(), &read).await?;
            assert_eq!((replaced.spec.size, replaced.metadata.generation), (2, Some(2)));
            assert_eq!(replaced.uid(), created.uid());
            assert_ne!(replaced.resource_version(), created.resource_version());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn pages_together_are_the_whole_list_in_order() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            for index in 0..10 {
                api.create(&PostParams::default(), &widget(&format!("w{index}"), index)).await?;
            }
            let (mut names, mut params, mut pages) = (Vec::new(), ListParams::default().limit(4), 0);
            loop {
                let page = api.list(&params).await?;
                pages += 1;
                assert!(page.items.len() <= 4);
                names.extend(page.items.iter().map(|widget| widget.name_any()));
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => {
                        assert_eq!(page.metadata.remaining_item_count, Some(10 - names.len() as i64));
                        params = params.continue_token(&token);
                    }
                    None => break,
                }
            }
            assert_eq!(pages, 3);
            assert_eq!(names, (0..10).map(|index| format!("w{index}")).collect::<Vec<_>>());
            Ok(())
        }
        .boxed()
    })
}

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
fn a_merge_patch_changes_and_removes_fields() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("merged", 1);
            object.spec.color = Some("red".into());
            api.create(&PostParams::default(), &object).await?;
            let patch = Patch::Merge(json!({ "spec": { "size": 2, "color": null } }));
            let patched = api.patch("merged", &PatchParams::default(), &patch).await?;
            assert_eq!((patched.spec.size, patched.spec.color), (2, None));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn spec_and_status_are_written_separately() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("two", 1);
            object.status = Some(WidgetStatus { phase: "Ignored".into() });
            let created = api.create(&PostParams::default(), &object).await?;
            assert_eq!(created.status, None, "a create does not set the status");

            let patch = Patch::Merge(json!({ "spec": { "size": 9 }, "status": { "phase": "Ready" } }));
            let updated = api.patch_status("two", &PatchParams::default(), &patch).await?;
            assert_eq!(updated.status, Some(WidgetStatus { phase: "Ready".into() }));
            assert_eq!(updated.spec.size, 1, "a status write does not change the spec");
            assert_eq!(updated.metadata.generation, Some(1), "nor the generation");

            let patched = api.patch("two", &PatchParams::default(), &patch).await?;
            assert_eq!((patched.spec.size, patched.metadata.generation), (9, Some(2)));

            let mut whole = api.get_status("two").await?;
            whole.status = Some(WidgetStatus { phase: "Done".into() });
            let replaced = api.replace_status("two", &PostParams::default(), &whole).await?;
            assert_eq!(replaced.status, Some(WidgetStatus { phase: "Done".into() }));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_deleted_object_is_gone() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("short", 1)).await?;
            let status = api.delete("short", &DeleteParams::default()).await?.right();
            assert!(status.is_some_and(|status| status.is_success()));
            assert!(rejection(api.delete("short", &DeleteParams::default()).await)?.is_not_found());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn delete_collection_deletes_the_selected_objects() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            for (name, group) in [("a", "deleted"), ("b", "deleted"), ("c", "kept")] {
                let mut object = widget(name, 1);
                object.labels_mut().insert("group".into(), group.into());
                api.create(&PostParams::default(), &object).await?;
            }
            api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("group=deleted"))
                .await?;
            let remaining: Vec<_> =
                api.list(&ListParams::default()).await?.into_iter().map(|w| w.name_any()).collect();
            assert_eq!(remaining, ["c"]);
            Ok(())
        }
        .boxed()
    })
}
