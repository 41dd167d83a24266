//! Objects watched, cached and reconciled by their metadata only.

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

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const TIMEOUT: Duration = Duration::from_secs(15);

#[test]
#[allow(deprecated)]
fn a_metadata_watcher_fills_a_store_and_follows_changes() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("a", 1)).await?;
            let (store, writer) = reflector::store::<PartialObjectMeta<Widget>>();
            let stream = kube::runtime::metadata_watcher(api.clone(), watcher::Config::default());
            let driver = tokio::spawn(stream.default_backoff().reflect(writer).for_each(|_| async {}));
            timeout(TIMEOUT, store.wait_until_ready()).await??;
            assert_eq!(store.state()[0].name_any(), "a");
            let label = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
            api.patch("a", &PatchParams::default(), &label).await?;
            let until = async |wanted: fn(&PartialObjectMeta<Widget>) -> bool, count: usize| {
                timeout(TIMEOUT, async {
                    while store.state_filter(wanted).len() != count {
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                })
                .await
            };
            until(|it| it.labels().contains_key("seen"), 1).await?;
            api.delete("a", &DeleteParams::default()).await?;
            until(|_| true, 0).await?;
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_dynamic_controller_reconciles_the_owner_of_a_changed_child() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let kind = ApiResource::erase::<Widget>(&());
            let api: Api<DynamicObject> = Api::namespaced_with(env.client.clone(), &env.namespace, &kind);
            let widgets = env.api::<Widget>();
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
            assert_eq!(timeout(TIMEOUT, names.recv()).await?, Some(("owner".to_owned(), Some(1))));
            let owner = widgets.get("owner").await?;
            let mut child = widget("child", 2);
            child.labels_mut().insert("role".to_owned(), "child".to_owned());
            child.owner_references_mut().extend(kube::Resource::controller_owner_ref(&owner, &()));
            widgets.create(&PostParams::default(), &child).await?;
            assert_eq!(timeout(TIMEOUT, names.recv()).await?, Some(("owner".to_owned(), Some(1))));
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}
