//! The whole operator, broken: its controllers, children and index under the manager with its leader election, and its webhooks.

#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{future::pending, path::Path};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Client, operator::manager::ManagerError};
use kube_testserver::BuiltInController;
use kube_verify::{Verify, WebhookServices};
use operator::{
    Addresses, NAME, embedded::autoscaler, manager, manifests::manifests, page::v2::Page, webhooks,
};
use serde_json::{Value, json};

/// The whole program: the manager without its servers, and what the webhook server would serve.
async fn operator(client: Client, served: WebhookServices) -> Result<(), ManagerError> {
    served.serve("default", NAME, 443, webhooks().router().unwrap());
    manager(client, Addresses::IN_CLUSTER).without_servers().run_until(pending()).await
}

/// What is deployed of these kinds. The namespace is that of the client.
fn deployed(kinds: &[&str]) -> Vec<Value> {
    let mut objects = manifests("default").unwrap().objects().unwrap();
    objects.retain(|object| kinds.contains(&object["kind"].as_str().unwrap()));
    objects
}

/// The sample as a client of the old version writes it: the server has it converted.
fn in_v1() -> Value {
    let spec = json!({"title": "Old", "text": "The first paragraph.\n\nAnother one.", "replicas": 2});
    json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": "welcome"}, "spec": spec})
}

/// One fault of each sort, so that all tests together are quick; `cargo kube verify` tries all places.
#[test]
fn nothing_breaks_the_operator() {
    let samples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/samples"));
    Verify::new(|world| {
        let served = world.webhooks();
        move |client: Client| operator(client, served.clone())
    })
    .crds(deployed(&["CustomResourceDefinition"]))
    .crds([serde_json::to_value(autoscaler()).unwrap()])
    .fixtures(deployed(&["ValidatingWebhookConfiguration"]))
    .fixtures(deployed(&["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]))
    .service_account("default", NAME)
    .cluster(|cluster| cluster.with(BuiltInController::Workloads).with(BuiltInController::Kubelet))
    .step("create", |step| step.apply(samples))
    .step("change", |step| step.patch::<Page>("welcome", json!({"spec": {"replicas": 2, "title": "Hello"}})))
    .step("change in the old version", |step| step.apply(in_v1()))
    .step("a user deletes a child", |step| step.delete::<Deployment>("welcome-page"))
    .step("delete", |step| step.delete_objects(samples))
    .allow("configmaps page-index is left over", "it has the pages of the whole namespace, and is empty now")
    .per_family(1)
    .run();
}
