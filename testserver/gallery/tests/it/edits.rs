//! Operators whose users change their minds, or go to the limits of the schema.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::CustomResourceExt,
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};
use kube_verify::{Family, Verify};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::operators::{Failed, Result, absent};

/// A kind with more fields than a Page has.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced, status = "SiteStatus")]
#[serde(rename_all = "camelCase")]
pub(crate) struct SiteSpec {
    text: String,
    /// A note under the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// The letters of a part of the text.
    size: u32,
    /// Nothing reads this one and the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<Color>,
    #[schemars(regex(pattern = "^[0-9]{4}$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Debug, JsonSchema)]
enum Color {
    Red,
    Blue,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SiteStatus {
    #[serde(default)]
    ready: bool,
    /// Of another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    /// Of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

const ALL: [Family; 5] =
    [Family::Change, Family::Extreme, Family::Labels, Family::ChildEdited, Family::StatusWiped];

pub(crate) async fn control<F, Fut>(client: Client, reconcile: F)
where
    F: Fn(Arc<Site>, Client) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    let config = watcher::Config::default;
    let controller = Controller::new(Api::<Site>::all(client.clone()), config())
        .owns(Api::<ConfigMap>::all(client.clone()), config());
    let reconcile = Arc::new(reconcile);
    let reconcile = move |site: Arc<Site>, client: Arc<Client>| {
        let reconcile = reconcile.clone();
        async move {
            match site.metadata.deletion_timestamp {
                Some(_) => Ok(Action::await_change()),
                None => reconcile(site, (*client).clone()).await.map_err(Failed),
            }
        }
    };
    let retry = |_, _: &Failed, _| Action::requeue(Duration::from_secs(5));
    controller.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// A child with these data.
pub(crate) async fn apply(client: &Client, site: &Site, name: &str, data: Value) -> Result<ConfigMap> {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "ownerReferences": [site.controller_owner_ref(&())]}});
    Ok(maps(client).patch(name, &PatchParams::apply("sites").force(), &Patch::Apply(map)).await?)
}

pub(crate) fn data(site: &Site) -> Value {
    let mut data = json!({"text": site.spec.text, "size": site.spec.size.to_string()});
    let labels = site.labels().iter().map(|(key, value)| format!("{key}={value}"));
    data["labels"] = labels.collect::<Vec<_>>().join(",").into();
    if let Some(note) = &site.spec.note {
        data["note"] = note.as_str().into();
    }
    data
}

/// All fields but the color and the code; the status is derived from the child.
pub(crate) async fn reflects(site: Arc<Site>, client: Client) -> Result {
    let map = apply(&client, &site, &site.name_any(), data(&site)).await?;
    if site.status.as_ref().is_none_or(|status| !status.ready) {
        let status = Patch::Merge(json!({"status": {"ready": map.uid().is_some()}}));
        let sites: Api<Site> = Api::default_namespaced(client);
        sites.patch_status(&site.name_any(), &PatchParams::default(), &status).await?;
    }
    Ok(Action::await_change())
}

/// BUG: a merge patch without null: what is not wanted any more stays.
async fn merges(site: Arc<Site>, client: Client) -> Result {
    let name = site.name_any();
    if maps(&client).get_opt(&name).await?.is_none() {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [site.controller_owner_ref(&())]}});
        maps(&client).create(&PostParams::default(), &serde_json::from_value(map)?).await?;
    }
    let patch = Patch::Merge(json!({"data": data(&site)}));
    maps(&client).patch(&name, &PatchParams::default(), &patch).await?;
    Ok(Action::await_change())
}

/// BUG: every text has a first letter.
async fn panics_at_an_empty_text(site: Arc<Site>, client: Client) -> Result {
    let first = site.spec.text.chars().next().unwrap();
    apply(&client, &site, &site.name_any(), json!({"first": first.to_string()})).await?;
    Ok(Action::await_change())
}

/// A child for each part of the text. BUG: with parts of no letter it never comes to the end.
async fn never_comes_to_the_end(site: Arc<Site>, client: Client) -> Result {
    let (mut at, mut names) = (0, Vec::new());
    while at < site.spec.text.len().min(20) {
        let name = format!("{}-{}", site.name_any(), names.len());
        apply(&client, &site, &name, json!({"from": at.to_string()})).await?;
        names.push(name);
        at += site.spec.size as usize;
    }
    for old in maps(&client).list(&ListParams::default()).await? {
        if !names.contains(&old.name_any()) {
            maps(&client)
                .delete(&old.name_any(), &DeleteParams::default())
                .await
                .map(drop)
                .or_else(absent)?;
        }
    }
    Ok(Action::await_change())
}

/// BUG: the child is made, and never looked at again.
async fn trusts_its_child(client: Client) {
    let sites: Api<Site> = Api::all(client.clone());
    let reconcile = |site: Arc<Site>, client: Arc<Client>| async move {
        if site.metadata.deletion_timestamp.is_none() {
            apply(&client, &site, &site.name_any(), data(&site)).await.map_err(Failed)?;
        }
        Ok(Action::await_change())
    };
    let retry = |_, _: &Failed, _| Action::requeue(Duration::from_secs(5));
    let controller = Controller::new(sites, watcher::Config::default());
    controller.run(reconcile, retry, Arc::new(client)).for_each(|_| async {}).await;
}

/// A Site is created, gets a note, and is deleted.
pub(crate) fn verify<O, M>(operator: impl Fn(&kube_verify::World) -> O + Send + Sync + 'static) -> Verify
where
    O: kube_verify::Operator<M>,
{
    verify_with(&Site::crd(), operator)
}

/// The same with another definition.
pub(crate) fn verify_with<O, M>(
    definition: &CustomResourceDefinition,
    operator: impl Fn(&kube_verify::World) -> O + Send + Sync + 'static,
) -> Verify
where
    O: kube_verify::Operator<M>,
{
    let site = json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "a"},
        "spec": {"text": "one two", "size": 3, "color": "Red", "code": "2026"}});
    Verify::new(operator)
        .crds([definition.clone()])
        .step("create", |step| step.apply(site))
        .step("change", |step| step.patch::<Site>("a", json!({"spec": {"size": 4}})))
        .step("delete", |step| step.delete::<Site>("a"))
        .families(ALL)
}

macro_rules! verifies {
    ($($name:ident => $reconcile:expr;)*) => {
        $(pub(crate) fn $name() -> Verify {
            verify(|_| |client: Client| control(client, $reconcile))
        })*
    };
}

verifies! {
    verify_reflects => reflects;
    verify_merges => merges;
    verify_panics_at_an_empty_text => panics_at_an_empty_text;
    verify_never_comes_to_the_end => never_comes_to_the_end;
}

pub(crate) fn verify_trusts_its_child() -> Verify {
    verify(|_| trusts_its_child)
}

#[test]
fn a_field_that_nothing_reads_is_named() {
    let report = verify_reflects().families([Family::Change]).report();
    assert!(report.is_ok(), "{report}");
    let text = report.to_string();
    let named: Vec<_> = text.lines().filter(|line| line.starts_with("changes nothing: ")).collect();
    assert_eq!(
        named,
        [
            "changes nothing: spec.code of sites.example.com",
            "changes nothing: spec.color of sites.example.com"
        ]
    );
    let json = report.to_json();
    assert_eq!(
        json["changesNothing"],
        json!(["spec.code of sites.example.com", "spec.color of sites.example.com"])
    );
}

#[test]
fn what_the_schema_refuses_is_counted_and_no_finding() {
    let report = verify_reflects().families([Family::Extreme]).report();
    assert!(report.is_ok(), "{report}");
    let json = report.to_json();
    // A size below 0 by its limit; codes that are empty or long by a pattern, which the server knows.
    assert_eq!((&json["notAllowed"], &json["refused"]), (&json!(1), &json!(2)), "{report}");
    assert!(report.to_string().contains("not tried: 3 values that the schema refuses"), "{report}");
}

#[test]
fn an_edit_is_replayed() {
    for plan in [
        "edit spec.text of sites.example.com a after step 1",
        "remove spec.code of sites.example.com a after step 1",
        "empty spec.text of sites.example.com a after step 1",
        "long spec.text of sites.example.com a after step 2",
        "overwrite data.text of configmaps a after step 2",
        "another label of sites.example.com a after step 1",
        "wipe status of sites.example.com a after step 1",
    ] {
        verify_reflects().replay(plan);
    }
}

#[test]
fn an_edit_of_what_is_not_there_does_not_come() {
    let replayed = std::panic::catch_unwind(|| {
        verify_reflects().replay("edit spec.size of sites.example.com b after step 1");
    });
    let panic = replayed.unwrap_err().downcast::<String>().unwrap();
    assert!(panic.contains("the fault did not come"), "{panic}");
}

#[test]
fn a_change_that_cannot_be_taken_back_is_counted_and_no_finding() {
    let mut definition = serde_json::to_value(Site::crd()).unwrap();
    let spec = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["size"]["x-kubernetes-validations"] =
        json!([{"rule": "self >= oldSelf", "message": "it may only grow"}]);
    let definition = serde_json::from_value(definition).unwrap();
    let report = verify_with(&definition, |_| |client: Client| control(client, reflects))
        .families([Family::Change])
        .report();
    assert!(report.is_ok(), "{report}");
    assert_eq!(report.to_json()["irreversible"], json!(1), "{report}");
}

#[test]
fn invariants_are_about_values_that_users_of_the_workload_have() {
    let holds = |state: &kube_verify::State| {
        state
            .objects::<ConfigMap>()
            .all(|map| map["data"]["text"].as_str().is_none_or(|text| text.len() == 7))
    };
    let report = || verify_reflects().invariant("a text has seven letters", holds);
    let quiet = report().families([Family::Extreme, Family::ChildEdited]).report();
    assert!(quiet.is_ok(), "{quiet}");
}
