//! Create, read, replace: what comes back, and what is refused.

use futures::FutureExt as _;
use kube::ResourceExt as _;
use kube::api::PostParams;

use crate::widget::{Widget, widget};
use crate::world::{Need, answer, run};

#[test]
fn an_object_is_created_read_and_replaced() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let made = api.create(&PostParams::default(), &widget("one", 1)).await?;
            assert!(
                made.uid().is_some()
                    && made.resource_version().is_some()
                    && made.creation_timestamp().is_some()
            );
            assert_eq!(made.metadata.generation, Some(1));
            assert_eq!(made.namespace().as_ref(), Some(&world.namespace));

            let mut read = api.get("one").await?;
            assert_eq!(read, made);
            read.spec.size = 2;
            let replaced = api.replace("one", &PostParams::default(), &read).await?;
            assert_eq!((replaced.spec.size, replaced.metadata.generation), (2, Some(2)));
            assert_eq!(replaced.uid(), made.uid());
            assert_ne!(replaced.resource_version(), made.resource_version());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn an_update_that_changes_nothing_keeps_the_resource_version() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let made = api.create(&PostParams::default(), &widget("same", 1)).await?;
            let again = api.replace("same", &PostParams::default(), &made).await?;
            assert_eq!(again.resource_version(), made.resource_version());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_stale_replace_is_a_conflict() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let old = api.create(&PostParams::default(), &widget("stale", 1)).await?;
            let mut new = old.clone();
            new.spec.size = 2;
            api.replace("stale", &PostParams::default(), &new).await?;
            let mut late = old;
            late.spec.size = 3;
            let status = answer(api.replace("stale", &PostParams::default(), &late).await)?;
            assert!(status.is_conflict() && status.code == 409, "{status:?}");
            assert!(status.message.contains("the object has been modified"), "{}", status.message);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn missing_and_existing_names_are_told_apart() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            assert!(api.get_opt("nobody").await?.is_none());
            let status = answer(api.get("nobody").await)?;
            assert!(status.is_not_found() && status.code == 404, "{status:?}");
            assert_eq!(status.message, "widgets.e2e.example.com \"nobody\" not found");
            api.create(&PostParams::default(), &widget("somebody", 1)).await?;
            let status = answer(api.create(&PostParams::default(), &widget("somebody", 1)).await)?;
            assert!(status.is_already_exists() && status.code == 409, "{status:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_name_may_be_left_to_the_server() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let mut unnamed = widget("", 1);
            unnamed.metadata.name = None;
            unnamed.metadata.generate_name = Some("made-".into());
            let first = api.create(&PostParams::default(), &unnamed).await?.name_any();
            let second = api.create(&PostParams::default(), &unnamed).await?.name_any();
            assert!(
                first.starts_with("made-") && second.starts_with("made-") && first != second,
                "{first} {second}"
            );
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_dry_run_leaves_nothing_behind() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            assert_eq!(api.create(&dry, &widget("ghost", 7)).await?.spec.size, 7);
            assert!(api.get_opt("ghost").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}
