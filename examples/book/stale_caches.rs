//! Decisions from a cache that may be outdated: creations that are not repeated, and deletions that are bound to what was read.

use futures::StreamExt;
use kube_testserver::ApiServer;

// ANCHOR: all
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::controller::{Action, ReconcileScope, Related};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{Config, Controller, watcher};
use kube::{Api, Client, Error, Resource, ResourceExt};
use std::sync::Arc;

struct Context {
    secrets: Api<Secret>,
    /// What the watch of the children has shown so far.
    children: Store<Secret>,
}

/// Each ConfigMap has one Secret with a generated name. Surplus ones are deleted.
async fn reconcile(owner: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, Error> {
    let mut children = context.children.owned_by(&*owner);
    children.sort_by_key(|child| child.name_any());
    if children.is_empty() {
        let create = create_child(context.secrets.clone(), owner.clone());
        // A task is part of the reconcile if the scope spawns it, and if its end is awaited.
        ReconcileScope::current().spawn(create).await.map_err(|panic| Error::Service(panic.into()))??;
    }
    for surplus in children.iter().skip(1) {
        // A 409: it has changed since the cache saw it. The error leads to another reconcile, which decides anew.
        context.secrets.delete_if_current(surplus).await?;
    }
    Ok(Action::await_change())
}

async fn create_child(secrets: Api<Secret>, owner: Arc<ConfigMap>) -> Result<Secret, Error> {
    let metadata = ObjectMeta {
        generate_name: Some(format!("{}-", owner.name_any())),
        owner_references: owner.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    };
    secrets.create(&PostParams::default(), &Secret { metadata, ..Secret::default() }).await
}

fn controller(client: Client) -> (Controller<ConfigMap>, Arc<Context>) {
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let (children, writer) = reflector::store();
    let related = Related::api(secrets.clone(), watcher::Config::default()).store(writer);
    let controller = Controller::new(Api::default_namespaced(client), watcher::Config::default())
        .owns_related(related)
        // A manager does this by itself.
        .with_config(Config::default().wait_for_own_writes(true));
    (controller, Arc::new(Context { secrets, children }))
}
// ANCHOR_END: all

#[tokio::test]
async fn each_map_gets_one_secret() {
    let client = Client::new(ApiServer::new(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let metadata = ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() };
    let map =
        maps.create(&PostParams::default(), &ConfigMap { metadata, ..ConfigMap::default() }).await.unwrap();
    let (controller, context) = controller(client);
    let secrets = context.secrets.clone();
    let surplus = create_child(secrets.clone(), map.clone().into()).await.unwrap();
    create_child(secrets.clone(), map.into()).await.unwrap();

    let running = controller.run(reconcile, |_, _, _| Action::retry(), context);
    let mut running = std::pin::pin!(running);
    let mut names = Vec::new();
    while names.len() != 1 {
        running.next().await.unwrap().unwrap();
        names = secrets.list(&Default::default()).await.unwrap().iter().map(ResourceExt::name_any).collect();
    }
    assert!(names[0].starts_with("a-") && surplus.name_any().starts_with("a-"));
}
