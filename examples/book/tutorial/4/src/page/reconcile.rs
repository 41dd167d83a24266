//! Reconciling a `Page`: the ConfigMap that it owns, and its status.

// ANCHOR: imports
use super::Page;
use crate::NAME;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ApiExt, Client, ResourceExt,
    api::PatchParams,
    apply,
    operator::manager::{Manager, Writes},
    runtime::{
        Controller,
        apply::{Apply, ApplyError, Change},
        conditions::{Conditions, InvalidCondition},
        controller::Action,
        finalizer::{self, Event, finalizer},
        status::{StatusError, apply_status},
        watcher::Config,
    },
};
use std::sync::Arc;
// ANCHOR_END: imports

// ANCHOR: head
/// Keeps a deleted page until its line has left the index.
pub const FINALIZER: &str = "example.com/index";
// ANCHOR_END: head

/// What all reconciles share.
#[derive(Debug)]
pub struct Context {
    /// For all requests.
    pub client: Client,
}

/// Why an object was not reconciled. The controller tries again, with backoff.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ConfigMap was not written.
    #[error(transparent)]
    Child(#[from] ApplyError),
    /// The index was not written.
    #[error("cannot write the index: {0}")]
    Index(#[source] kube::Error),
    /// A condition breaks the API conventions.
    #[error(transparent)]
    Condition(#[from] InvalidCondition),
    /// The status was not written.
    #[error(transparent)]
    Status(#[from] StatusError),
}

// ANCHOR: add
/// Adds the controller, and names what it writes: the roles in `deploy/` follow from that.
pub fn add_to(manager: Manager, client: &Client) -> Manager {
    let objects: Api<Page> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::all(client.clone());
    // Only the children, not all ConfigMaps.
    let children = Config::default().labels(&format!("app.kubernetes.io/managed-by={NAME}"));
    let controller = Controller::new(objects.clone(), Config::default())
        .owns(maps.clone(), children)
        // What a reconcile writes itself does not start another.
        .with_config(kube::runtime::Config::default().skip_own_writes());
    let context = Arc::new(Context {
        client: client.clone(),
    });
    manager
        .writes(&objects, Writes::Status)
        // ANCHOR: writes
        .writes(&objects, Writes::Finalizers)
        // ANCHOR_END: writes
        .writes(&objects, Writes::OwnerReferences)
        .writes(&maps, Writes::Objects)
        .controller("pages", controller, reconcile, context)
}
// ANCHOR_END: add

// ANCHOR: reconcile
/// Makes the cluster what the object says. Runs again after each change of the object or of its
/// children, so it only looks at the present state.
pub async fn reconcile(
    object: Arc<Page>,
    context: Arc<Context>,
) -> Result<Action, finalizer::Error<Error>> {
    let client = &context.client;
    let pages: Api<Page> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    finalizer(&pages, FINALIZER, object, async |event| match event {
        Event::Apply(page) => publish(&page, &pages, client).await,
        Event::Cleanup(page) => {
            write_index(&page, client, None).await?; // the ConfigMap is deleted with its owner
            Ok(Action::await_change())
        }
    })
    .await
}

async fn publish(page: &Page, pages: &Api<Page>, client: &Client) -> Result<Action, Error> {
    write_index(page, client, Some(&page.spec.title)).await?;
    let change = write_map(page, client).await?;
    let name = page.name_any();
    tracing::info!(name, ?change, "reconciled");

    let mut status = page.status.clone().unwrap_or_default();
    status.observed_generation = page.metadata.generation;
    let mut conditions = Conditions::new(&mut status.conditions, page.metadata.generation);
    conditions.set("Ready", true, "Written", "the HTML is in the ConfigMap")?;
    apply_status(pages, NAME, page, &status).await?;
    Ok(Action::await_change())
}

/// Writes the line of one page into the ConfigMap `index`, or removes it. No page owns that
/// ConfigMap.
async fn write_index(page: &Page, client: &Client, title: Option<&str>) -> Result<(), Error> {
    let namespace = page.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let index = apply!(ConfigMap {
        metadata: { name: "index" },
        if let Some(title) = title { data: { (page.name_any()): title } }
    });
    // One field manager for each page, so that an apply removes no other page's line.
    let params = PatchParams::apply(&format!("page-{}", page.name_any())).force();
    maps.apply(&params, &index).await.map_err(Error::Index)?;
    Ok(())
}
// ANCHOR_END: reconcile

// ANCHOR: map
/// The child has exactly these fields, and is deleted together with its owner.
async fn write_map(object: &Page, client: &Client) -> Result<Change, ApplyError> {
    let map = apply!(ConfigMap {
        metadata: {
            name: format!("{}-page", object.name_any()),
            labels: { "app.kubernetes.io/managed-by": NAME },
        },
        data: {
            "index.html": format!("<h1>{}</h1>\n{}", object.spec.title, object.spec.paragraphs.join("\n")),
        },
    });
    let children = Apply::owned_by(client.clone(), NAME, object)?;
    Ok(children.apply(&map).await?.change)
}
// ANCHOR_END: map
