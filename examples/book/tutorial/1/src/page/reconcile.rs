//! Reconciling a `Page`: the ConfigMap that it owns, and its status.

use super::Page;
use crate::NAME;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt, apply,
    operator::manager::{Manager, Writes},
    runtime::{
        Controller,
        apply::{Apply, ApplyError, Change},
        conditions::{Conditions, InvalidCondition},
        controller::Action,
        status::{StatusError, apply_status},
        watcher::Config,
    },
};
use std::sync::Arc;

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
        .writes(&objects, Writes::OwnerReferences)
        .writes(&maps, Writes::Objects)
        .controller("pages", controller, reconcile, context)
}
// ANCHOR_END: add

// ANCHOR: reconcile
/// Makes the cluster what the object says. Runs again after each change of the object or of its
/// children, so it only looks at the present state.
pub async fn reconcile(object: Arc<Page>, context: Arc<Context>) -> Result<Action, Error> {
    let change = write_map(&object, &context.client).await?;
    let name = object.name_any();
    tracing::info!(name, ?change, "reconciled");

    let mut status = object.status.clone().unwrap_or_default();
    status.observed_generation = object.metadata.generation;
    let mut conditions = Conditions::new(&mut status.conditions, object.metadata.generation);
    conditions.set("Ready", true, "Written", "the message is in the ConfigMap")?;
    let namespace = object.namespace().unwrap_or_default();
    let objects: Api<Page> = Api::namespaced(context.client.clone(), &namespace);
    apply_status(&objects, NAME, &*object, &status).await?;
    Ok(Action::await_change())
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
        data: { "message": &object.spec.message },
    });
    let children = Apply::owned_by(client.clone(), NAME, object)?;
    Ok(children.apply(&map).await?.change)
}
// ANCHOR_END: map
