//! Create, get and replace: what the server returns, and what it rejects.

use futures::FutureExt as _;
use kube::ResourceExt as _;
use kube::api::PostParams;

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
fn an_update_that_changes_nothing_keeps_the_resource_version() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let created = api.create(&PostParams::default(), &widget("same", 1)).await?;
            let again = api.replace("same", &PostParams::default(), &created).await?;
            assert_eq!(again.resource_version(), created.resource_version());
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_stale_replace_is_a_conflict() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let old = api.create(&PostParams::default(), &widget("stale", 1)).await?;
            let mut new = old.clone();
            new.spec.size = 2;
            api.replace("stale", &PostParams::default(), &new).await?;
            let mut late = old;
            late.spec.size = 3;
            let status = rejection(api.replace("stale", &PostParams::default(), &late).await)?;
            assert!(status.is_conflict() && status.code == 409, "{status:?}");
            assert!(status.message.contains("the object has been modified"), "{}", status.message);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn an_update_is_repeated_after_the_change_of_another_client() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let created = api.get_or_create("shared", || widget("shared", 0)).await?;
            assert_eq!(api.get_or_create("shared", || widget("shared", 9)).await?, created);
            let count = async || {
                for _ in 0..10 {
                    while let Err(error) =
                        api.update_with_retry("shared", |widget| widget.spec.size += 1).await
                    {
                        anyhow::ensure!(error.is_conflict(), "{error}");
                    }
                }
                Ok(())
            };
            futures::try_join!(count(), count(), count())?;
            let counted = api.get("shared").await?;
            assert_eq!(counted.spec.size, 30);
            assert_eq!(api.update_with_retry("shared", |_| ()).await?, counted);

            let phase = |phase: &str| WidgetStatus { phase: phase.to_owned() };
            let shown =
                api.update_status_with_retry("shared", |widget| widget.status = Some(phase("Ready"))).await?;
            assert_eq!((shown.status, shown.spec.size), (Some(phase("Ready")), 30));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_missing_name_is_404_and_a_taken_name_409() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            assert!(api.get_opt("missing").await?.is_none());
            let status = rejection(api.get("missing").await)?;
            assert!(status.is_not_found() && status.code == 404, "{status:?}");
            assert_eq!(status.message, "widgets.e2e.example.com \"missing\" not found");
            api.create(&PostParams::default(), &widget("taken", 1)).await?;
            let status = rejection(api.create(&PostParams::default(), &widget("taken", 1)).await)?;
            assert!(status.is_already_exists() && status.code == 409, "{status:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn generate_name_creates_unique_names() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
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
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            assert_eq!(api.create(&dry, &widget("ghost", 7)).await?.spec.size, 7);
            assert!(api.get_opt("ghost").await?.is_none());
            Ok(())
        }
        .boxed()
    })
}
