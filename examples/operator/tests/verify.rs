//! The whole operator, broken: its controllers, children and index under the manager with its leader election.

#![allow(clippy::unwrap_used)] // a panic fails the test

use std::{future::pending, path::Path};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{Client, operator::manager::ManagerError};
use kube_testserver::BuiltInController;
use kube_verify::Verify;
use operator::{Addresses, NAME, manager, manifests::manifests, page::v2::Page};
use serde_json::{Value, json};

/// The whole program, but for its servers: no one calls them in simulated time.
async fn operator(client: Client) -> Result<(), ManagerError> {
    manager(client, Addresses::IN_CLUSTER).without_servers().run_until(pending()).await
}

/// Without the conversion, which calls the operator.
fn definitions() -> Vec<Value> {
    let mut objects = manifests(NAME).unwrap().objects().unwrap();
    objects.retain(|object| object["kind"] == "CustomResourceDefinition");
    for definition in &mut objects {
        definition["spec"].as_object_mut().unwrap().remove("conversion");
    }
    objects
}

/// One fault of each sort, so that all tests together are quick; `cargo kube verify` tries all places.
#[test]
fn nothing_breaks_the_operator() {
    let samples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/samples"));
    Verify::new(|_| operator)
        .crds(definitions())
        .cluster(|cluster| cluster.with(BuiltInController::Workloads).with(BuiltInController::Kubelet))
        .step("create", |step| step.apply(samples))
        .step("change", |step| {
            step.patch::<Page>("welcome", json!({"spec": {"replicas": 2, "title": "Hello"}}))
        })
        .step("a user deletes a child", |step| step.delete::<Deployment>("welcome-page"))
        .step("delete", |step| step.delete_objects(samples))
        .allow(
            "configmaps page-index is left over",
            "it has the pages of the whole namespace, and is empty now",
        )
        .per_family(1)
        .run();
}
