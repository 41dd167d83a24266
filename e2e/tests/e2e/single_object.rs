//! One object: `watch_object`, `await_condition` and `delete_and_finalize`.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::conditions::{is_created, is_deleted};
use kube::runtime::wait::{Condition as _, await_condition, delete::delete_and_finalize};
use kube::runtime::watcher::watch_object;
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::timeout;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const TIMEOUT: Duration = Duration::from_secs(10);

async fn set_size(api: &Api<Widget>, size: i64) -> kube::Result<Widget> {
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": size } }))).await
}

#[test]
fn watch_object_reports_creation_change_and_deletion() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("other", 9)).await?;
            let mut states =
                Box::pin(watch_object(api.clone(), "a").map(|it| it.map(|it| it.map(|it| it.spec.size))));
            let mut next = async || {
                timeout(TIMEOUT, states.next())
                    .await?
                    .expect("a watch has no end")
                    .map_err(anyhow::Error::from)
            };
            assert_eq!(next().await?, None);
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            assert_eq!(next().await?, Some(1));
            set_size(&api, 2).await?;
            assert_eq!(next().await?, Some(2));
            api.delete("a", &DeleteParams::default()).await?;
            assert_eq!(next().await?, None);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn await_condition_accepts_combined_conditions() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let size = |wanted: i64| move |it: Option<&Widget>| it.is_some_and(|it| it.spec.size == wanted);
            let wanted = is_created().and(size(2).or(size(3))).and(size(2).not());
            let waiting = tokio::spawn(await_condition(api.clone(), "a", wanted));
            let created = api.create(&PostParams::default(), &widget("a", 1)).await?;
            set_size(&api, 2).await?;
            set_size(&api, 3).await?;
            let reached =
                timeout(TIMEOUT, waiting).await???.expect("the condition requires that the object exists");
            assert_eq!(reached.spec.size, 3);

            let uid = created.uid().expect("the server sets a uid");
            let deleted = tokio::spawn({
                let api = api.clone();
                async move { await_condition(api, "a", is_deleted(&uid)).await }
            });
            let add_finalizer =
                Patch::Merge(json!({ "metadata": { "finalizers": ["e2e.example.com/hold"] } }));
            api.patch("a", &PatchParams::default(), &add_finalizer).await?;
            let deletion = tokio::spawn({
                let api = api.clone();
                async move { delete_and_finalize(api, "a", &DeleteParams::default()).await }
            });
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(!deletion.is_finished() && !deleted.is_finished(), "the finalizer delays the deletion");
            let remove_finalizers = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            api.patch("a", &PatchParams::default(), &remove_finalizers).await?;
            timeout(TIMEOUT, deletion).await???;
            assert!(timeout(TIMEOUT, deleted).await???.is_none());
            Ok(())
        }
        .boxed()
    })
}
