//! A related kind that is installed, removed and installed again while a controller runs.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::runtime::controller::{Action, Related};
use kube::runtime::reflector::store::Writer;
use kube::runtime::served::ServedKinds;
use kube::runtime::wait::delete::delete_and_finalize;
use kube::runtime::{Controller, watcher};
use kube::{Api, Resource as _, ResourceExt as _, crds};
use tokio::time::{Instant, sleep};

use crate::definition::definition;
use crate::test_env::{Requires, TestEnv, run, unique};
use crate::widget::{Widget, WidgetSpec};

const TIMEOUT: Duration = Duration::from_secs(30);

async fn reached(what: &str, mut condition: impl FnMut() -> bool) -> anyhow::Result<()> {
    let start = Instant::now();
    while !condition() {
        anyhow::ensure!(start.elapsed() < TIMEOUT, "after 30 s: not {what}");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// An owned object of the kind, with retries: a kind is served shortly after its CRD is established.
async fn add_child(api: &Api<DynamicObject>, kind: &ApiResource, owner: &Widget) -> anyhow::Result<()> {
    let mut child = DynamicObject::new("child", kind);
    child.owner_references_mut().extend(owner.controller_owner_ref(&()));
    let start = Instant::now();
    loop {
        match api.create(&PostParams::default(), &child).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.code != 409 && start.elapsed() < TIMEOUT => {
                sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[test]
fn a_related_kind_is_watched_while_it_is_served_and_its_owners_are_reconciled() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let group = format!("{}.example.com", unique("comes"));
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(&group, "v1", "Guest"));
            let children: Api<DynamicObject> =
                Api::namespaced_with(env.client.clone(), &env.namespace, &kind);
            let widgets: Api<Widget> = env.api();
            let owner =
                widgets.create(&PostParams::default(), &Widget::new("host", WidgetSpec::default())).await?;

            let kinds = ServedKinds::new(env.client.clone());
            let writer = Writer::new(kind.clone());
            let store = writer.as_reader();
            let related = Related::api_with(children.clone(), kind.clone(), watcher::Config::default());
            let reconciles = Arc::new(AtomicUsize::new(0));
            let output = Controller::new(widgets, watcher::Config::default())
                .owns_related(related.store(writer).if_served(&kinds))
                .run(
                    async |_, reconciles: Arc<AtomicUsize>| {
                        reconciles.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, Infallible>(Action::await_change())
                    },
                    |_, _, _| Action::retry(),
                    Arc::clone(&reconciles),
                );
            let controller = tokio::spawn(output.for_each(async |_| {}));
            let count = || reconciles.load(Ordering::SeqCst);
            reached("reconciled without the kind", || count() > 0).await?;
            reached("known to be missing", || kinds.snapshot()[0].state == "missing").await?;
            for _ in 0..2 {
                install(env, &group).await?;
                reached("served", || kinds.snapshot()[0].state == "served").await?;
                add_child(&children, &kind, &owner).await?;
                reached("the child in the store", || store.len() == 1).await?;
                let before = count();
                remove(env, &group).await?;
                reached("missing again", || kinds.snapshot()[0].state == "missing").await?;
                reached("an empty store", || store.is_empty()).await?;
                reached("the owner reconciled", || count() > before).await?;
            }
            anyhow::ensure!(!controller.is_finished());
            controller.abort();
            Ok(())
        }
        .boxed()
    })
}

async fn install(env: &TestEnv, group: &str) -> anyhow::Result<()> {
    crds::install(&env.client, "e2e", [definition(group, "guests", "Guest", "Namespaced", &["v1"])]).await?;
    Ok(())
}

async fn remove(env: &TestEnv, group: &str) -> anyhow::Result<()> {
    let definitions: Api<CustomResourceDefinition> = Api::all(env.client.clone());
    let name = format!("guests.{group}");
    tokio::time::timeout(TIMEOUT, delete_and_finalize(definitions, &name, &DeleteParams::default()))
        .await??;
    Ok(())
}
