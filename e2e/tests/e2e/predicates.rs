//! Predicates: a filtered stream passes each relevant change once and no other change.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::{Predicate as _, PredicateConfig, WatchStreamExt as _, predicates, watcher};
use serde_json::{Value, json};

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

#[test]
fn predicates_pass_spec_and_finalizer_changes_but_not_status_or_annotations() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let mut objects = Box::pin(
                watcher(api.clone(), watcher::Config::default())
                    .default_backoff()
                    .applied_objects()
                    .predicate_filter(
                        predicates::generation.combine(predicates::finalizers),
                        PredicateConfig::default(),
                    ),
            );
            let patch = async |change: Value| {
                api.patch("a", &PatchParams::default(), &Patch::Merge(change)).await.map(drop)
            };
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            let status = Patch::Merge(json!({ "status": { "phase": "Up" } }));
            let mut seen = Vec::new();
            let mut next = async |seen: &mut Vec<(i64, usize)>| -> anyhow::Result<()> {
                let object = tokio::time::timeout(Duration::from_secs(10), objects.next()).await?;
                let object = object.expect("a watch has no end")?;
                seen.push((object.spec.size, object.finalizers().len()));
                Ok(())
            };
            next(&mut seen).await?;
            api.patch_status("a", &PatchParams::default(), &status).await?;
            patch(json!({ "metadata": { "annotations": { "note": "1" } } })).await?;
            patch(json!({ "spec": { "size": 2 } })).await?;
            next(&mut seen).await?;
            patch(json!({ "metadata": { "finalizers": ["e2e.example.com/hold"] } })).await?;
            next(&mut seen).await?;
            patch(json!({ "metadata": { "annotations": { "note": "2" } } })).await?;
            patch(json!({ "metadata": { "finalizers": null } })).await?;
            next(&mut seen).await?;
            assert_eq!(seen, [(1, 0), (2, 0), (2, 1), (2, 0)]);
            Ok(())
        }
        .boxed()
    })
}
