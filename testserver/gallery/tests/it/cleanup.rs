//! Operators with something outside of the cluster, or with children that no owner reference removes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures::TryStreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::DeleteParams,
    runtime::{WatchStreamExt, controller::Action, watcher},
};
use kube_verify::World;
use serde_json::json;

use super::operators::{
    Page, Result, absent, child, has_finalizer, is_deleted, maps, patch_status, set_finalizer,
};

/// Buckets of a provider by their names, with the texts of their pages.
pub(crate) type Buckets = Arc<Mutex<BTreeMap<String, String>>>;

/// A provider that outlives the processes of the operator.
pub(crate) fn buckets(world: &World) -> Buckets {
    let buckets = Buckets::default();
    let state = buckets.clone();
    world.external("buckets", move || json!(*state.lock().unwrap()));
    buckets
}

fn put(buckets: &Buckets, page: &Page) {
    buckets.lock().unwrap().insert(page.name_any(), page.spec.text.clone());
}

fn remove(buckets: &Buckets, page: &Page) {
    buckets.lock().unwrap().remove(&page.name_any());
}

/// A bucket for each page: the finalizer comes first, and goes last.
pub(crate) async fn bucket(page: Arc<Page>, client: Client, buckets: Buckets) -> Result {
    if !is_deleted(&page) {
        set_finalizer(&client, &page, true).await?;
        put(&buckets, &page);
    } else if has_finalizer(&page) {
        remove(&buckets, &page);
        set_finalizer(&client, &page, false).await?;
    }
    Ok(Action::await_change())
}

/// BUG: the finalizer is removed before the bucket.
pub(crate) async fn finalizer_goes_first(page: Arc<Page>, client: Client, buckets: Buckets) -> Result {
    if !is_deleted(&page) {
        set_finalizer(&client, &page, true).await?;
        put(&buckets, &page);
    } else if has_finalizer(&page) {
        set_finalizer(&client, &page, false).await?;
        remove(&buckets, &page);
    }
    Ok(Action::await_change())
}

/// BUG: the finalizer comes after the bucket, and another write in between.
pub(crate) async fn finalizer_comes_last(page: Arc<Page>, client: Client, buckets: Buckets) -> Result {
    if !is_deleted(&page) {
        put(&buckets, &page);
        if page.status.as_ref().and_then(|status| status.child.as_ref()).is_none() {
            patch_status(&client, &page, json!({"child": "bucket"})).await?;
        }
        set_finalizer(&client, &page, true).await?;
    } else if has_finalizer(&page) {
        remove(&buckets, &page);
        set_finalizer(&client, &page, false).await?;
    }
    Ok(Action::await_change())
}

/// BUG: buckets are removed at the event of a deletion, which a process that is down does not see.
pub(crate) async fn cleans_at_events(client: Client, buckets: Buckets) {
    let pages: Api<Page> = Api::all(client);
    let events = watcher(pages, watcher::Config::default()).default_backoff();
    let end = events.try_for_each(|event| {
        match event {
            watcher::Event::Apply(page) | watcher::Event::InitApply(page) => put(&buckets, &page),
            watcher::Event::Delete(page) => remove(&buckets, &page),
            watcher::Event::Init | watcher::Event::InitDone => {}
        }
        futures::future::ready(Ok(()))
    });
    // A watcher tells its errors, and goes on.
    drop(end.await);
}

/// BUG: each attempt creates an account, and only the status knows which.
pub(crate) async fn creates_accounts(page: Arc<Page>, client: Client, accounts: Buckets) -> Result {
    let known = page.status.as_ref().and_then(|status| status.child.as_ref());
    if known.is_none() && !is_deleted(&page) {
        let id = {
            let mut accounts = accounts.lock().unwrap();
            let id = format!("account-{}", accounts.len() + 1);
            accounts.insert(id.clone(), page.name_any());
            id
        };
        patch_status(&client, &page, json!({"child": id})).await?;
    }
    Ok(Action::await_change())
}

/// A child without an owner reference, for which there is a finalizer.
async fn unowned_child(page: &Page, client: &Client) -> Result<String> {
    let name = format!("{}-page", page.name_any());
    if is_deleted(page) {
        return Ok(name);
    }
    set_finalizer(client, page, true).await?;
    let mut map = child(page, &name);
    map.metadata.owner_references = None;
    let apply = kube::api::PatchParams::apply("pages").force();
    maps(client, page).patch(&name, &apply, &kube::api::Patch::Apply(&map)).await?;
    Ok(name)
}

/// The child is deleted before the finalizer goes, and may be gone already.
pub(crate) async fn deletes_child(page: Arc<Page>, client: Client) -> Result {
    let name = unowned_child(&page, &client).await?;
    if is_deleted(&page) && has_finalizer(&page) {
        let deleted = maps(&client, &page).delete(&name, &DeleteParams::default()).await;
        deleted.map(drop).or_else(absent)?;
        set_finalizer(&client, &page, false).await?;
    }
    Ok(Action::await_change())
}

/// BUG: a child that is gone already is an error, and the finalizer stays.
pub(crate) async fn child_must_be_there(page: Arc<Page>, client: Client) -> Result {
    let name = unowned_child(&page, &client).await?;
    if is_deleted(&page) && has_finalizer(&page) {
        maps(&client, &page).delete(&name, &DeleteParams::default()).await?;
        set_finalizer(&client, &page, false).await?;
    }
    Ok(Action::await_change())
}
