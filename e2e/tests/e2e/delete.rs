//! Deletion: immediate, delayed by a finalizer, with preconditions, and of a collection.

use futures::FutureExt as _;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use crate::test_env::{Requires, rejection, run};
use crate::widget::{Widget, widget};

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
fn a_finalizer_delays_deletion_until_it_is_removed() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("held", 1);
            object.finalizers_mut().push("e2e.example.com/hold".into());
            api.create(&PostParams::default(), &object).await?;
            let held = api.delete("held", &DeleteParams::default()).await?.left();
            let held = held.expect("the server returns the object while a finalizer delays its deletion");
            assert!(held.metadata.deletion_timestamp.is_some());
            assert_eq!(held.metadata.generation, Some(2), "a deletion increments the generation");

            let remove_finalizers = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            api.patch("held", &PatchParams::default(), &remove_finalizers).await?;
            assert!(api.get_opt("held").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_terminating_object_rejects_a_new_finalizer() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut object = widget("late", 1);
            object.finalizers_mut().push("e2e.example.com/hold".into());
            api.create(&PostParams::default(), &object).await?;
            api.delete("late", &DeleteParams::default()).await?;
            let more = Patch::Merge(
                json!({ "metadata": { "finalizers": ["e2e.example.com/hold", "e2e.example.com/more"] } }),
            );
            let status = rejection(api.patch("late", &PatchParams::default(), &more).await)?;
            assert!(status.is_invalid() && status.code == 422, "{status:?}");
            let remove_finalizers = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            api.patch("late", &PatchParams::default(), &remove_finalizers).await?;
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_delete_with_a_wrong_precondition_is_a_conflict() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let created = api.create(&PostParams::default(), &widget("guarded", 1)).await?;
            let other = Preconditions { uid: Some("other-uid".into()), ..Preconditions::default() };
            let status =
                rejection(api.delete("guarded", &DeleteParams::default().preconditions(other)).await)?;
            assert!(status.is_conflict(), "{status:?}");
            let matching = Preconditions { uid: created.uid(), resource_version: created.resource_version() };
            api.delete("guarded", &DeleteParams::default().preconditions(matching)).await?;
            assert!(api.get_opt("guarded").await?.is_none());
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
