//! Breaks the operator by one fault of each sort: crashes, lost answers, refusals, old caches. After
//! each step, the cluster has to be as without the fault.
//!
//! `cargo kube verify` tries all places, in several processes, and one plan again: `--plan TEXT`.

#![cfg(feature = "embedded")]

use kube::{Client, operator::manager::ManagerError};
use kube_verify::{Step, Verify};
use serde_json::{Value, json};
use std::{future::pending, net::Ipv4Addr};

use pages::{Addresses, NAME, embedded, manager, manifests};

/// The first kind, its sample, and the ConfigMap of that.
const RESOURCE: &str = "pages.example.com";
const SAMPLE: &str = "page-sample";
const CHILD: &str = "page-sample-page";

/// One fault of each sort, so that all tests together are quick.
#[test]
fn nothing_breaks_the_operator() {
    verify().per_family(1).run();
}

/// What users do. What is known and accepted: `.allow("TEXT", "why")`. A plan that has broken the
/// operator stays a test: `verify().replay("PLAN")`.
fn verify() -> Verify {
    Verify::new(|_| operator)
        .crds(definitions())
        .step("create", |step| step.apply(samples()))
        .step("change", change)
        .step("a user deletes a child", delete_child)
        .step("delete", |step| step.delete_objects(samples()))
        // ANCHOR: allow
        .allow("configmaps index is left over", "it has a line per page")
    // ANCHOR_END: allow
}

/// The whole program, but for its servers. Webhooks are called in the process, if `World::webhooks` serves them.
async fn operator(client: Client) -> Result<(), ManagerError> {
    let addresses = Addresses::at(Ipv4Addr::LOCALHOST);
    let manager = manager(client, addresses).without_servers();
    manager.run_until(pending()).await
}

fn change(step: Step) -> Step {
    let change = json!({ "spec": { "title": "Goodbye" } });
    step.patch_of(RESOURCE, SAMPLE, change)
}

fn delete_child(step: Step) -> Step {
    step.delete_of("configmaps", CHILD)
}

/// Without conversions, which call the operator.
fn definitions() -> Vec<Value> {
    let mut objects = manifests(NAME).unwrap().objects().unwrap();
    objects.retain(|object| object["kind"] == "CustomResourceDefinition");
    for definition in &mut objects {
        let spec = definition["spec"].as_object_mut().unwrap();
        spec.remove("conversion");
    }
    objects
}

fn samples() -> Vec<Value> {
    let samples = embedded::samples().unwrap();
    let values = samples.iter().map(serde_json::to_value);
    values.collect::<Result<_, _>>().unwrap()
}
