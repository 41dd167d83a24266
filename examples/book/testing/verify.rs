//! Breaks an operator in every place.

// ANCHOR: all
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use kube_verify::Verify;
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// The operator under test: every namespace gets a ConfigMap called `welcome`.
async fn operator(client: Client) {
    let config = watcher::Config::default;
    let controller = Controller::new(Api::<Namespace>::all(client.clone()), config())
        .owns(Api::<ConfigMap>::all(client.clone()), config());
    let retry = |_: Arc<Namespace>, _: &kube::Error, _: Arc<Client>| Action::requeue(Duration::from_secs(5));
    controller.run(reconcile, retry, Arc::new(client)).for_each(async |_| ()).await;
}

async fn reconcile(namespace: Arc<Namespace>, client: Arc<Client>) -> Result<Action, kube::Error> {
    if namespace.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), &namespace.name_any());
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "welcome", "ownerReferences": [namespace.controller_owner_ref(&())]},
        "data": {"to": namespace.name_any()},
    });
    maps.patch("welcome", &PatchParams::apply("welcomer").force(), &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

fn verify() -> Verify {
    Verify::new(|_| operator)
        .step("create", |step| step.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"))
        .step("a user deletes the child", |step| step.delete::<ConfigMap>("shop/welcome"))
        .step("delete", |step| step.delete::<Namespace>("shop"))
        .invariant("no more than one map in the shop", |state| {
            state.objects::<ConfigMap>().filter(|map| map["metadata"]["namespace"] == "shop").count() <= 1
        })
}

#[test]
fn nothing_breaks_the_operator() {
    verify().run();
}

/// What a report prints as `test:` is the regression test of a finding.
#[test]
fn a_lost_answer_of_the_first_apply_is_survived() {
    verify().replay("lost answer of apply configmaps shop/welcome #1");
}
// ANCHOR_END: all
