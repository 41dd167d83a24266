//! Operators that take a cache for the truth.

use std::{sync::Arc, time::Duration};

use futures::{StreamExt, future::join};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams},
    core::CustomResourceExt,
    runtime::{
        WatchStreamExt,
        controller::Action,
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use kube_verify::Verify;
use serde_json::json;

use super::operators::{Page, control, is_deleted, one_child, page, patch_status};

/// A cache of all pages of its own, and what fills it.
fn cache(client: &Client, config: watcher::Config) -> (Store<Page>, impl Future<Output = ()> + use<>) {
    let (store, writer) = reflector::store();
    let events = watcher(Api::<Page>::all(client.clone()), config).default_backoff();
    let filled = reflector::reflector(writer, events).for_each(|_| futures::future::ready(()));
    (store, filled)
}

/// BUG: at the start, children are deleted whose page is not in a list that may be old.
pub(crate) async fn sweeps_at_start(client: Client) {
    let (store, filled) = cache(&client, watcher::Config::default().any_semantic());
    let sweep = async {
        if store.wait_until_ready().await.is_err() {
            return;
        }
        let all: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let children = loop {
            match all.list(&ListParams::default().labels("page")).await {
                Ok(children) => break children,
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        };
        for map in children {
            let owner = map.labels().get("page").cloned().unwrap_or_default();
            if store.get(&ObjectRef::new(&owner).within("default")).is_none() {
                drop(all.delete(&map.name_any(), &DeleteParams::default()).await);
            }
        }
        control(client.clone(), one_child).await;
    };
    join(filled, sweep).await;
}

/// BUG: the next number is the one after those in the cache.
pub(crate) async fn numbers_by_cache(client: Client) {
    let (store, filled) = cache(&client, watcher::Config::default());
    let reconcile = move |page: Arc<Page>, client: Client| {
        let store = store.clone();
        async move {
            let number = |page: &Page| page.status.as_ref()?.child.as_ref()?.parse::<u32>().ok();
            if number(&page).is_none() && !is_deleted(&page) {
                let highest = store.state().iter().filter_map(|page| number(page)).max().unwrap_or(0);
                patch_status(&client, &page, json!({"child": (highest + 1).to_string()})).await?;
            }
            Ok(Action::await_change())
        }
    };
    join(filled, control(client, reconcile)).await;
}

/// Pages one after the other, of which each has a number of its own.
pub(crate) fn verify_numbers() -> Verify {
    Verify::new(|_| numbers_by_cache)
        .crds([Page::crd()])
        .step("create", |step| step.apply(page("a")))
        .step("two more", |step| step.apply(page("b")).advance(Duration::from_secs(5)).apply(page("c")))
        .invariant("each page has a number of its own", |state| {
            let numbers = || state.objects::<Page>().filter_map(|page| page["status"]["child"].as_str());
            numbers().count() == numbers().collect::<std::collections::BTreeSet<_>>().len()
        })
}
