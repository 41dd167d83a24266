//! Edits of what is not the operator's alone: a status of another program, fields that the server keeps, copies of the generation.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::CustomResourceExt,
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};
use kube_verify::{Family, Verify};
use serde_json::json;

use super::{
    edits::{self, Site, control, data, reflects},
    operators::{Failed, Result},
};

/// Sites of another program are none of its business.
async fn reflects_its_own(site: Arc<Site>, client: Client) -> Result {
    if site.labels().contains_key("foreign") {
        return Ok(Action::await_change());
    }
    reflects(site, client).await
}

#[test]
fn a_status_of_another_program_is_not_wiped() {
    let foreign = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "0", "labels": {"foreign": "yes"}},
        "spec": {"text": "one", "size": 1}, "status": {"ready": true}});
    let report = edits::verify(|_| |client: Client| control(client, reflects_its_own))
        .fixtures(foreign)
        .families([Family::StatusWiped])
        .report();
    assert!(report.is_ok() && report.tried() == 1, "{report}");
}

#[test]
fn what_another_program_has_of_a_status_is_not_wiped() {
    let seen = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "0"},
        "spec": {"text": "one", "size": 1}, "status": {"seen": "yes"}});
    let verify = edits::verify(|_| |client: Client| control(client, reflects)).fixtures(seen);
    let report = verify.families([Family::StatusWiped]).report();
    assert!(report.is_ok() && report.tried() == 1, "{report}");
}

/// One note in a list is its own, which has to be written as a whole.
async fn notes_beside_others(site: Arc<Site>, client: Client) -> Result {
    let mut notes = site.status.as_ref().map(|status| status.notes.clone()).unwrap_or_default();
    if !notes.contains(&"ours".to_owned()) {
        notes.push("ours".to_owned());
        let status = Patch::Merge(json!({"status": {"notes": notes}}));
        let sites: Api<Site> = Api::default_namespaced(client);
        sites.patch_status(&site.name_any(), &PatchParams::default(), &status).await?;
    }
    Ok(Action::await_change())
}

#[test]
fn an_item_of_another_program_in_the_list_of_a_status_is_not_wiped() {
    let noted = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "0"},
        "spec": {"text": "one", "size": 1}, "status": {"notes": ["theirs"]}});
    let verify = edits::verify(|_| |client: Client| control(client, notes_beside_others)).fixtures(noted);
    let report = verify.families([Family::StatusWiped]).report();
    assert!(report.is_ok() && report.tried() == 1, "{report}");
}

/// The child says of which generation it is.
async fn notes_the_generation(site: Arc<Site>, client: Client) -> Result {
    let mut data = data(&site);
    data["generation"] = site.metadata.generation.unwrap_or_default().to_string().into();
    edits::apply(&client, &site, &site.name_any(), data).await?;
    Ok(Action::await_change())
}

#[test]
fn a_copy_of_the_generation_is_no_use_of_a_field() {
    let report = edits::verify(|_| |client: Client| control(client, notes_the_generation))
        .families([Family::Change])
        .report();
    assert!(report.is_ok(), "{report}");
    let named = &report.to_json()["changesNothing"];
    assert_eq!(*named, json!(["spec.code of sites.example.com", "spec.color of sites.example.com"]));
}

/// The size goes from 1 to 2, as the generation does.
#[test]
fn a_value_that_changes_as_the_generation_does_is_used() {
    let site = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "a"},
        "spec": {"text": "one two", "size": 1, "color": "Red"}});
    let named = |new: Verify| {
        let site = site.clone();
        let verify = new.crds([Site::crd()]).step("create", move |step| step.apply(site));
        let report = verify.families([Family::Change]).report();
        assert!(report.is_ok(), "{report}");
        report.to_json()["changesNothing"].clone()
    };
    let color = json!(["spec.color of sites.example.com"]);
    assert_eq!(named(Verify::new(|_| |client: Client| control(client, reflects))), color);
    assert_eq!(named(Verify::new(|_| |client: Client| control(client, notes_the_generation))), color);
}

/// A Deployment of one container.
async fn deploy(client: &Client, site: &Site) -> Result<()> {
    let labels = json!({"app": site.name_any()});
    let container = json!({"name": "web", "image": "web:1"});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": site.name_any(), "ownerReferences": [site.controller_owner_ref(&())]},
        "spec": {"selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let apply = PatchParams::apply("sites").force();
    deployments.patch(&site.name_any(), &apply, &Patch::Apply(deployment)).await?;
    Ok(())
}

/// Whether it watches its Deployments. BUG if not: what a user changes stays.
async fn deploys(client: Client, watches: bool) {
    let sites = Controller::new(Api::<Site>::all(client.clone()), watcher::Config::default());
    let sites = match watches {
        true => sites.owns(Api::<Deployment>::all(client.clone()), watcher::Config::default()),
        false => sites,
    };
    let reconcile = |site: Arc<Site>, client: Arc<Client>| async move {
        if site.metadata.deletion_timestamp.is_none() {
            deploy(&client, &site).await.map_err(Failed)?;
        }
        Ok(Action::await_change())
    };
    let retry = |_, _: &Failed, _| Action::requeue(Duration::from_secs(5));
    sites.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}

/// A map that nobody can change.
async fn keeps(site: Arc<Site>, client: Client) -> Result {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": {"of": site.name_any()},
        "metadata": {"name": site.name_any(), "ownerReferences": [site.controller_owner_ref(&())]}});
    if site.metadata.deletion_timestamp.is_none() {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        maps.patch(&site.name_any(), &PatchParams::apply("sites").force(), &Patch::Apply(map)).await?;
    }
    Ok(Action::await_change())
}

#[test]
fn a_child_of_which_nothing_can_be_edited_is_told() {
    let verify = edits::verify(|_| |client: Client| control(client, keeps));
    let report = verify.families([Family::ChildEdited]).report();
    assert!(report.is_ok(), "{report}");
    assert!(report.to_string().contains("not covered: no value of configmaps can be edited\n"), "{report}");
    assert_eq!(report.to_json()["refused"], json!(0), "{report}");
}

#[test]
fn a_child_is_edited_where_the_server_lets_users() {
    let report = |watches| {
        let verify = edits::verify(move |_| move |client: Client| deploys(client, watches));
        verify.families([Family::ChildEdited]).report()
    };
    let trusting = report(false);
    let found: Vec<_> = trusting.findings().map(|(plan, _)| plan).collect();
    // Its selector cannot be changed, and so not its labels.
    assert_eq!(
        found,
        ["overwrite spec.template.spec.containers[0].image of deployments.apps a after step 1"],
        "{trusting}"
    );
    assert_eq!(trusting.to_json()["refused"], json!(0), "{trusting}");
    let right = report(true);
    assert!(right.is_ok(), "{right}");
    assert_eq!(right.tried(), trusting.tried(), "{right}");
}
