//! Metadata alone: watched, cached and reconciled.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

const WAIT: Duration = Duration::from_secs(15);

#[test]
#[allow(deprecated)]
fn fills_a_store_and_follows() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            api.create(&PostParams::default(), &widget("there", 1)).await?;
            let (store, writer) = reflector::store::<PartialObjectMeta<Widget>>();
            let stream = kube::runtime::metadata_watcher(api.clone(), watcher::Config::default());
            let driver = tokio::spawn(stream.default_backoff().reflect(writer).for_each(|_| async {}));
            timeout(WAIT, store.wait_until_ready()).await??;
            assert_eq!(store.state()[0].name_any(), "there");
            let label = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
            api.patch("there", &PatchParams::default(), &label).await?;
            let until = async |wanted: fn(&PartialObjectMeta<Widget>) -> bool, count: usize| {
                timeout(WAIT, async {
                    while store.state_filter(wanted).len() != count {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                })
                .await
            };
            until(|it| it.labels().contains_key("seen"), 1).await?;
            api.delete("there", &DeleteParams::default()).await?;
            until(|_| true, 0).await?;
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn of_children_is_enough_for_owners_of_kinds_known_only_at_run_time() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let kind = ApiResource::erase::<Widget>(&());
            let api: Api<DynamicObject> = Api::namespaced_with(world.client.clone(), &world.namespace, &kind);
            let widgets = world.api::<Widget>();
            widgets.create(&PostParams::default(), &widget("owner", 1)).await?;
            let (send, mut names) = unbounded_channel();
            let (main, owned) = ("role!=child", "role=child");
            let output =
                Controller::new_with(api.clone(), watcher::Config::default().labels(main), kind.clone())
                    .owns_with(api, kind, watcher::Config::default().labels(owned))
                    .run(
                        async |object: Arc<DynamicObject>,
                               names: Arc<tokio::sync::mpsc::UnboundedSender<_>>| {
                            let size = object.data["spec"]["size"].as_i64();
                            let _ = names.send((object.name_any(), size));
                            Ok::<_, std::convert::Infallible>(Action::await_change())
                        },
                        |_, error, _| match *error {},
                        Arc::new(send),
                    );
            let driver = tokio::spawn(output.for_each(|_| async {}));
            assert_eq!(timeout(WAIT, names.recv()).await?, Some(("owner".to_owned(), Some(1))));
            let owner = widgets.get("owner").await?;
            let mut child = widget("child", 2);
            child.labels_mut().insert("role".to_owned(), "child".to_owned());
            child.owner_references_mut().extend(kube::Resource::controller_owner_ref(&owner, &()));
            widgets.create(&PostParams::default(), &child).await?;
            assert_eq!(timeout(WAIT, names.recv()).await?, Some(("owner".to_owned(), Some(1))));
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}
