//! Correct operators: nothing is found.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, api::ListParams, core::CustomResourceExt};
use kube_verify::{Families, Family, Verify};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::operators::{Page, control, one_child};

#[test]
fn a_quick_test_tries_some_plans_of_each_family_and_counts_the_others() {
    let objects = "apiVersion: example.com/v1\nkind: Page\nmetadata: {name: a}\nspec: {text: one}\n";
    let verify = || create(&["a"]).step("delete", |step| step.delete_objects(objects));
    let families = || Families::from([Family::CrashAfter, Family::Restart, Family::Lag]);
    let whole = verify().families(families()).report();
    let some = verify().families(families()).per_family(1).report();
    assert!(whole.is_ok() && some.is_ok(), "{whole}{some}");
    assert!(whole.tried() > 3 && some.tried() == 3, "{whole}{some}");
    let left_out = format!("{} plans left out, because the test says `per_family`", whole.tried() - 3);
    assert!(some.to_string().contains(&left_out), "{some}");
}

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

#[test]
fn a_silent_watch_stays_open() {
    let report = create(&["a"]).families([Family::FailedRead]).report();
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.tried(), 2, "each kind is listed once, as over HTTP/2: {report}");
}

/// It asks again and again, in tasks of its own, and expects an answer within half a minute.
async fn expects_answers(client: Client) {
    let ask = |client: Client| async move {
        let pages: Api<Page> = Api::all(client);
        let answer = timeout(Duration::from_secs(30), pages.list(&ListParams::default())).await;
        drop(answer.expect("the server answers in half a minute"));
        sleep(Duration::from_secs(20)).await;
    };
    let again = client.clone();
    tokio::spawn(async move {
        loop {
            ask(again.clone()).await;
        }
    });
    let anew = client.clone();
    tokio::spawn(async move {
        loop {
            tokio::spawn(ask(anew.clone())).await.unwrap();
        }
    });
    control(client, one_child).await;
}

#[test]
fn what_a_process_has_spawned_does_not_panic_after_its_death() {
    let verify = || {
        let new = Verify::new(|_| expects_answers).crds([Page::crd()]);
        new.step("create", |step| {
            step.apply(json!({"apiVersion": "example.com/v1", "kind": "Page",
            "metadata": {"name": "a"}, "spec": {"text": "one"}}))
        })
    };
    let report = verify().families([Family::CrashAfter, Family::Restart, Family::CrashDown]).report();
    assert!(report.is_ok() && report.tried() > 1, "{report}");
    let report = verify().upgrade_from(|_| expects_answers).families([Family::Upgrade]).report();
    assert!(report.is_ok() && report.tried() > 1, "{report}");
}

/// While the operator is late by ten minutes, its child is not there yet when a user wants to delete or change it.
#[test]
fn users_wait_for_what_a_late_operator_has_not_made_yet() {
    let verify = create(&["a"])
        .step("nothing concerns the child", |step| {
            step.patch_of("pages", "a", json!({"metadata": {"labels": {"x": "y"}}}))
        })
        .step("a user changes the child", |step| {
            step.patch_of("configmaps", "a-page", json!({"data": {"other": "x"}}))
        })
        .step("a user deletes the child", |step| step.delete::<ConfigMap>("a-page"));
    let report = verify.families([Family::LongLag, Family::Down, Family::CrashDown]).report();
    assert!(report.is_ok(), "{report}");
}
