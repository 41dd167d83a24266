//! The controller of the tutorial: children, an index outside of them, and the status of a page.

// ANCHOR: head
use crate::page::{Page, PageStatus};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PatchParams;
use kube::runtime::apply::{Apply, ApplyError, Change};
use kube::runtime::conditions::{Conditions, InvalidCondition};
use kube::runtime::finalizer::{self, Event, finalizer};
use kube::runtime::status::{StatusError, apply_status};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, ResourceExt, apply};
use std::sync::Arc;

/// The field manager of everything that this controller writes.
const MANAGER: &str = "pages";
/// Keeps a deleted page until its line has left the index.
pub const FINALIZER: &str = "example.com/index";

/// Why a page was not reconciled.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Child(#[from] ApplyError),
    #[error("cannot write the index: {0}")]
    Index(#[source] kube::Error),
    #[error(transparent)]
    Condition(#[from] InvalidCondition),
    #[error(transparent)]
    Status(#[from] StatusError),
}
// ANCHOR_END: head

// ANCHOR: reconcile
/// Watches pages and the ConfigMaps that they own.
pub fn controller(client: &Client) -> Controller<Page> {
    let maps: Api<ConfigMap> = Api::all(client.clone());
    Controller::new(Api::all(client.clone()), watcher::Config::default())
        .owns(maps, watcher::Config::default())
}

pub async fn reconcile(page: Arc<Page>, client: Arc<Client>) -> Result<Action, finalizer::Error<Error>> {
    let pages: Api<Page> = Api::namespaced((*client).clone(), &page.namespace().unwrap_or_default());
    finalizer(&pages, FINALIZER, page, async |event| match event {
        Event::Apply(page) => publish(&page, &pages, &client).await,
        Event::Cleanup(page) => {
            write_index(&page, &client, None).await?; // the ConfigMap is deleted with its owner
            Ok(Action::await_change())
        }
    })
    .await
}

async fn publish(page: &Page, pages: &Api<Page>, client: &Client) -> Result<Action, Error> {
    write_index(page, client, Some(&page.spec.title)).await?;
    let change = write_html(page, client).await?;
    println!("{}: {change:?}", page.name_any());

    let mut status: PageStatus = page.status.clone().unwrap_or_default();
    let mut conditions = Conditions::new(&mut status.conditions, page.metadata.generation);
    conditions.set("Ready", true, "Published", "the HTML is in the ConfigMap")?;
    apply_status(pages, MANAGER, page, &status).await?;
    Ok(Action::await_change())
}
// ANCHOR_END: reconcile

// ANCHOR: writes
async fn write_html(page: &Page, client: &Client) -> Result<Change, ApplyError> {
    let map = apply!(ConfigMap {
        metadata: { name: format!("{}-html", page.name_any()) },
        data: {
            "index.html": format!("<h1>{}</h1>\n{}", page.spec.title, page.spec.paragraphs.join("\n")),
        },
    });
    Ok(Apply::owned_by(client.clone(), MANAGER, page)?.apply(&map).await?.change)
}

/// Writes the line of one page into the ConfigMap `index`, or removes it. No page owns that ConfigMap.
async fn write_index(page: &Page, client: &Client, title: Option<&str>) -> Result<(), Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &page.namespace().unwrap_or_default());
    let index = apply!(ConfigMap {
        metadata: { name: "index" },
        if let Some(title) = title { data: { (page.name_any()): title } }
    });
    // One field manager for each page, so that an apply removes no other page's line.
    let params = PatchParams::apply(&format!("page-{}", page.name_any())).force();
    maps.apply(&params, &index).await.map_err(Error::Index)?;
    Ok(())
}
// ANCHOR_END: writes
