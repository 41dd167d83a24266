//! Operators whose next version meets what the old one has left.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    runtime::controller::Action,
};
use kube_verify::{Family, Verify};
use serde_json::json;

use super::{
    errors::makes_a_password_once,
    operators::{
        Page, Result, absent, apply_child, asks_for_ever, child, control, control_alone, is_deleted, maps,
        one_child, orphans, owner, random, verify,
    },
    statuses::makes_anew,
};

/// The old version of all: a child named after the page.
fn upgrade(new: Verify) -> Verify {
    new.upgrade_from(|_| |client: Client| control(client, one_child)).families([Family::Upgrade])
}

/// The new name of the child.
fn name(page: &Page) -> String {
    format!("{}-content", page.name_any())
}

/// BUG: the child has another name from this version on, and nobody deletes the old one.
async fn renames(page: Arc<Page>, client: Client) -> Result {
    if !is_deleted(&page) {
        apply_child(&client, &page, &name(&page)).await?;
    }
    Ok(Action::await_change())
}

pub(crate) fn renamed_child() -> Verify {
    upgrade(verify(|_| |client: Client| control(client, renames)))
}

/// The old child goes once the new one is there.
async fn migrates(page: Arc<Page>, client: Client) -> Result {
    if !is_deleted(&page) {
        apply_child(&client, &page, &name(&page)).await?;
        let old = format!("{}-page", page.name_any());
        maps(&client, &page).delete(&old, &DeleteParams::default()).await.map(drop).or_else(absent)?;
    }
    Ok(Action::await_change())
}

pub(crate) fn right_migration() -> Verify {
    upgrade(verify(|_| |client: Client| control(client, migrates)))
}

/// A password under a label of this version.
async fn password(page: Arc<Page>, client: Client, label: &'static str) -> Result {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "default");
    let name = format!("{}-password", page.name_any());
    let has_label = |secret: Secret| secret.labels().contains_key(label);
    if !is_deleted(&page) && !secrets.get_opt(&name).await?.is_some_and(has_label) {
        let password = format!("{:016x}", random(&name));
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "labels": {label: ""}, "ownerReferences": [owner(&page)]},
            "stringData": {"password": password}});
        secrets.patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(secret)).await?;
    }
    Ok(Action::await_change())
}

/// BUG: the label by which the password is known is another one from this version on.
pub(crate) fn forgotten_password() -> Verify {
    let version = |label| {
        move |client: Client| control_alone(client, move |page, client| password(page, client, label))
    };
    verify(move |_| version("password"))
        .upgrade_from(move |_| version("generated"))
        .families([Family::Upgrade])
}

#[test]
fn every_write_of_the_old_version_and_every_step_is_the_place_of_an_upgrade() {
    let report = renamed_child().report();
    let plans: Vec<String> = report.findings().map(|(plan, _)| plan).collect();
    // The old version writes twice; after the last step nothing is left of it.
    for plan in
        ["upgrade right after apply configmaps a-page #1", "upgrade after step 1", "upgrade after step 2"]
    {
        assert!(plans.iter().any(|found| found == plan), "{plan}:\n{report}");
    }
    assert_eq!(report.tried(), 6, "{report}");
}

/// A bug of the old version: each reconcile gives the child another label, which is an event for the next one.
async fn labels_for_ever(page: Arc<Page>, client: Client) -> Result {
    if !is_deleted(&page) {
        let name = format!("{}-page", page.name_any());
        let mut map = child(&page, &name);
        map.labels_mut().insert(NUMBER.to_owned(), random(&name).to_string());
        maps(&client, &page).patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(map)).await?;
    }
    Ok(Action::await_change())
}

/// A bug of the old version: another password with each reconcile.
async fn other_passwords(page: Arc<Page>, client: Client) -> Result {
    let secrets: Api<Secret> = Api::namespaced(client, "default");
    let name = format!("{}-password", page.name_any());
    if !is_deleted(&page) {
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "ownerReferences": [owner(&page)]},
            "stringData": {"password": format!("{:016x}", random(&name))}});
        secrets.patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(secret)).await?;
    }
    Ok(Action::await_change())
}

/// A bug of the old version: it panics when its work is done.
async fn panics_at_the_end(page: Arc<Page>, client: Client) -> Result {
    one_child(page, client).await?;
    panic!("of the old version")
}

const NUMBER: &str = "example.com/number";

#[test]
fn what_the_old_version_did_wrong_is_not_the_fault_of_the_new_one() {
    let has_number = |map: &serde_json::Value| !map["metadata"]["labels"][NUMBER].is_null();
    let new = || {
        verify(|_| |client: Client| control(client, one_child))
            .invariant("no map has a number", move |state| !state.objects::<ConfigMap>().any(has_number))
    };
    let passwords = verify(|_| |client: Client| control_alone(client, makes_a_password_once));
    let olds = [
        (
            "invariant and fixed point",
            new().upgrade_from(|_| |client: Client| control(client, labels_for_ever)),
        ),
        ("panic", new().upgrade_from(|_| |client: Client| control(client, panics_at_the_end))),
        ("counts", new().upgrade_from(|_| |client: Client| control(client, makes_anew))),
        ("left over", new().upgrade_from(|_| |client: Client| control(client, orphans))),
        ("regenerated", passwords.upgrade_from(|_| |client: Client| control_alone(client, other_passwords))),
    ];
    for (bug, verify) in olds {
        let report = verify.families([Family::Upgrade]).report();
        assert!(report.is_ok() && report.tried() >= 4, "{bug}:\n{report}");
        // A run in which the new version never starts would find nothing either.
        assert!(!report.to_string().contains("whose fault did not come"), "{bug}:\n{report}");
    }
    new().upgrade_from(|_| |client: Client| control(client, asks_for_ever)).replay("upgrade after step 1");
}

#[test]
fn without_an_old_version_there_is_no_upgrade() {
    let report = verify(|_| |client: Client| control(client, one_child)).families([Family::Upgrade]).report();
    assert!(report.to_string().contains("no fault can be tried"), "{report}");
}

#[test]
fn both_versions_share_the_fakes_of_the_run() {
    let world = kube_verify::World::default();
    let one = world.fake("bucket", || std::sync::Mutex::new(1));
    let other = world.fake("bucket", || std::sync::Mutex::new(2));
    assert!(Arc::ptr_eq(&one, &other));
    let other_type = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.fake("bucket", || 3)));
    let panic = other_type.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*panic, "the fake \"bucket\" is of another type");
}

#[test]
fn an_upgrade_is_replayed() {
    right_migration().replay("upgrade right after apply configmaps a-page #1");
}
