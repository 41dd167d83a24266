//! Deletion: at once, held by a finalizer, guarded by preconditions, and by the collection.

use futures::FutureExt as _;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, answer, run};

#[test]
fn a_deleted_object_is_gone() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            api.create(&PostParams::default(), &widget("short", 1)).await?;
            let status = api.delete("short", &DeleteParams::default()).await?.right();
            assert!(status.is_some_and(|status| status.is_success()));
            assert!(answer(api.delete("short", &DeleteParams::default()).await)?.is_not_found());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_finalizer_holds_an_object_until_it_is_removed() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let mut object = widget("held", 1);
            object.finalizers_mut().push("e2e.example.com/hold".into());
            api.create(&PostParams::default(), &object).await?;
            let held = api.delete("held", &DeleteParams::default()).await?.left();
            let held = held.expect("a held object is returned, not a status");
            assert!(held.metadata.deletion_timestamp.is_some());
            assert_eq!(held.metadata.generation, Some(2), "deletion counts as a change of the wish");

            let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            api.patch("held", &PatchParams::default(), &release).await?;
            assert!(api.get_opt("held").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_terminating_object_takes_no_new_finalizer() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let mut object = widget("late", 1);
            object.finalizers_mut().push("e2e.example.com/hold".into());
            api.create(&PostParams::default(), &object).await?;
            api.delete("late", &DeleteParams::default()).await?;
            let more = Patch::Merge(
                json!({ "metadata": { "finalizers": ["e2e.example.com/hold", "e2e.example.com/more"] } }),
            );
            let status = answer(api.patch("late", &PatchParams::default(), &more).await)?;
            assert!(status.is_invalid() && status.code == 422, "{status:?}");
            let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            api.patch("late", &PatchParams::default(), &release).await?;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn preconditions_guard_a_deletion() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let made = api.create(&PostParams::default(), &widget("guarded", 1)).await?;
            let other = Preconditions { uid: Some("somebody-else".into()), ..Preconditions::default() };
            let status = answer(api.delete("guarded", &DeleteParams::default().preconditions(other)).await)?;
            assert!(status.is_conflict(), "{status:?}");
            let right = Preconditions { uid: made.uid(), resource_version: made.resource_version() };
            api.delete("guarded", &DeleteParams::default().preconditions(right)).await?;
            assert!(api.get_opt("guarded").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_collection_is_deleted_by_selector() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            for (name, fate) in [("a", "go"), ("b", "go"), ("c", "stay")] {
                let mut object = widget(name, 1);
                object.labels_mut().insert("fate".into(), fate.into());
                api.create(&PostParams::default(), &object).await?;
            }
            api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("fate=go")).await?;
            let left: Vec<_> =
                api.list(&ListParams::default()).await?.into_iter().map(|w| w.name_any()).collect();
            assert_eq!(left, ["c"]);
            Ok(())
        }
        .boxed()
    })
}
