//! Correct operators: nothing is found.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, core::CustomResourceExt};
use kube_verify::Verify;
use serde_json::json;

use super::operators::{Page, control, one_child};

/// Pages of these names, without a step that deletes them.
fn create(names: &[&str]) -> Verify {
    let pages: Vec<_> = names
        .iter()
        .map(|name| json!({"apiVersion": "example.com/v1", "kind": "Page", "metadata": {"name": name}, "spec": {"text": "one"}}))
        .collect();
    Verify::new(|_| |client: Client| control(client, one_child))
        .crds([Page::crd()])
        .step("create", move |step| step.apply(pages))
}

#[test]
fn children_of_what_users_have_not_deleted_are_not_left_over() {
    let report =
        create(&["a"]).step("a user deletes the child", |step| step.delete::<ConfigMap>("a-page")).report();
    assert!(report.is_ok(), "{report}");
    let report = create(&["a", "b"]).step("delete one", |step| step.delete::<Page>("a")).report();
    assert!(report.is_ok(), "{report}");
}
