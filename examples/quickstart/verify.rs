//! The controller of the quickstart, broken by three faults of each sort.

#![allow(dead_code, unreachable_pub, reason = "the program uses the rest of these files")]

#[path = "controller.rs"]
mod controller;
#[path = "page.rs"]
mod page;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, CustomResourceExt as _};
use kube_verify::Verify;
use serde_json::json;
use tokio::sync::oneshot;

use controller::{Context, config_map_name};
use page::{Page, PageSpec};

/// One process: it ends by a crash only.
async fn operator(client: Client) {
    let (_stop, stopped) = oneshot::channel();
    let (_pages, running) = controller::start(Context::new(client, true), "default", stopped);
    running.await;
}

fn page(name: &str) -> Page {
    Page::new(name, PageSpec { title: format!("Page {name}"), text: "Hello.".into() })
}

/// Three faults of each sort, so that all tests together are quick; `cargo kube verify` tries all places.
#[test]
fn nothing_breaks_the_controller() {
    Verify::new(|_| operator)
        .crds([Page::crd()])
        .step("create", |step| step.apply([page("alpha"), page("beta")]))
        .step("change", |step| step.patch::<Page>("alpha", json!({"spec": {"title": "Another"}})))
        .step("a user deletes a child", |step| step.delete::<ConfigMap>(&config_map_name("alpha")))
        .step("delete", |step| step.delete_objects([page("alpha"), page("beta")]))
        .per_family(3)
        .run();
}
