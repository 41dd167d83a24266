//! Compact caches: a store and a controller that keep objects compressed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::reflector::{self, Index, ObjectRef};
use kube::runtime::watcher;
use serde_json::json;
use tokio::time::timeout;

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_compact_store_follows_the_server_and_waits_for_writes() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let first = api.create(&PostParams::default(), &widget("a", 1)).await?;
            let (store, writer) = reflector::compact_store::<Widget>();
            let labels = Index::labels();
            let events = writer.with_index(&labels).watch(api.clone(), watcher::Config::default());
            let filling = tokio::spawn(events.for_each(|_| async {}));
            timeout(LIMIT, store.wait_until_ready()).await??;
            let key = |name: &str| ObjectRef::<Widget>::new(name).within(&env.namespace);
            let cached = store.try_get(&key("a"))?.expect("it is listed");
            assert_eq!((cached.uid(), cached.spec.size), (first.uid(), 1));

            for size in 2..12 {
                let patch = Patch::Merge(
                    json!({ "metadata": { "labels": { "size": size.to_string() } }, "spec": { "size": size } }),
                );
                let written = api.patch("a", &PatchParams::default(), &patch).await?;
                let cached = timeout(LIMIT, store.wait_for(&written)).await??.expect("it exists");
                assert_eq!((cached.spec.size, cached.resource_version()), (size, written.resource_version()));
                assert_eq!(store.by_index(&labels, format!("size={size}").as_str()).len(), 1);
            }
            api.create(&PostParams::default(), &widget("b", 2)).await?;
            api.delete("a", &DeleteParams::default()).await?;
            let last = api.create(&PostParams::default(), &widget("c", 3)).await?;
            timeout(LIMIT, store.wait_for(&last)).await??;
            let mut names: Vec<_> = store.state().iter().map(|widget| widget.name_any()).collect();
            names.sort();
            assert_eq!(names, ["b", "c"]);
            filling.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_controller_with_a_compact_cache_reconciles_every_object_in_its_newest_state() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            for number in 0..20 {
                api.create(&PostParams::default(), &widget(&format!("w-{number}"), number)).await?;
            }
            let config = watcher::Config::default().compact_cache();
            let (context, writes) = (Arc::new(api.clone()), 20);
            // Each object is doubled once, and seen again with the result.
            let output = Controller::new(api.clone(), config).run(
                async |widget: Arc<Widget>, api: Arc<kube::Api<Widget>>| {
                    if widget.annotations().contains_key("doubled") {
                        return Ok::<_, Infallible>(Action::await_change());
                    }
                    let patch = Patch::Merge(json!({
                        "metadata": { "annotations": { "doubled": "yes" } },
                        "spec": { "size": widget.spec.size * 2 },
                    }));
                    let written = api.patch(&widget.name_any(), &PatchParams::default(), &patch).await;
                    Ok(Action::await_change().after_write(&written.expect("nothing else writes")))
                },
                |_, _, _| Action::await_change(),
                context,
            );
            let runs = timeout(LIMIT, output.take(2 * writes).map(Result::unwrap).count()).await?;
            assert_eq!(runs, 2 * writes);
            for number in 0..20 {
                assert_eq!(api.get(&format!("w-{number}")).await?.spec.size, 2 * number);
            }
            Ok(())
        }
        .boxed()
    })
}
