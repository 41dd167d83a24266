//! Definitions are installed: applied and served.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::{ListParams, Patch, PatchParams};
use kube_client::{Api, Client, ResourceExt};
use kube_testserver::{Fault, FaultResponse, Match};
use kube_tools::crds::{CrdError, install};
use serde_json::json;

use crate::definition::definition;
use crate::server::in_process;

type Crds = Api<CustomResourceDefinition>;

fn crd(plural: &str, kind: &str, versions: &[&str]) -> CustomResourceDefinition {
    definition("example.com", plural, kind, "Namespaced", versions)
}

/// The requests of discovery: of the paths below `/apis`, all reads but the first, which is that of the definition.
fn discovery() -> Match {
    Match::path("/apis").verb("get").from_nth(2)
}

fn no_groups() -> FaultResponse {
    FaultResponse::status(200, "").body(r#"{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}"#)
}

fn versions(crd: &CustomResourceDefinition) -> Vec<(&str, bool, bool)> {
    crd.spec.versions.iter().map(|it| (it.name.as_str(), it.served, it.storage)).collect()
}

async fn version_of(client: &Client, name: &str) -> Option<String> {
    Crds::all(client.clone()).get(name).await.unwrap().resource_version()
}

#[tokio::test]
async fn several_kinds_are_served_afterwards() {
    let (client, _server) = in_process();
    let both = [crd("pages", "Page", &["v1"]), crd("shops", "Shop", &["v1beta1", "v1"])];
    let installed = install(&client, "test", both.clone()).await.unwrap();
    let names: Vec<_> = installed.iter().map(|it| it.crd.name_any()).collect();
    assert_eq!(names, ["pages.example.com", "shops.example.com"]);
    for (kind, version) in [("Page", "v1"), ("Shop", "v1beta1"), ("Shop", "v1")] {
        let kind = kube_client::core::GroupVersionKind::gvk("example.com", version, kind);
        let (kind, _) = kube_client::discovery::pinned_kind(&client, &kind).await.unwrap();
        let objects: Api<kube_client::core::DynamicObject> = Api::all_with(client.clone(), &kind);
        assert!(objects.list(&ListParams::default()).await.unwrap().items.is_empty());
    }
    // Again: nothing changes.
    let before = version_of(&client, "shops.example.com").await;
    install(&client, "test", both).await.unwrap();
    assert_eq!(version_of(&client, "shops.example.com").await, before);
    assert!(install(&client, "test", []).await.unwrap().is_empty());
}

#[tokio::test]
async fn versions_of_the_server_are_kept() {
    let (client, _server) = in_process();
    install(&client, "old", [crd("pages", "Page", &["v1alpha1", "v1"])]).await.unwrap();
    let installed = install(&client, "new", [crd("pages", "Page", &["v2"])]).await.unwrap().remove(0);
    assert_eq!(installed.kept_versions, ["v1alpha1", "v1"]);
    let expected = [("v2", true, true), ("v1alpha1", true, false), ("v1", true, false)];
    assert_eq!(versions(&installed.crd), expected);
    // The same again, although the versions are now its own.
    let again = install(&client, "new", [crd("pages", "Page", &["v2"])]).await.unwrap().remove(0);
    assert_eq!((versions(&again.crd), again.kept_versions), (expected.to_vec(), installed.kept_versions));
    assert_eq!(again.crd.resource_version(), installed.crd.resource_version());
}

/// A rollback, or the last replica of a rolling update. On 1.37, what is lost here is lost in the objects with their next write.
#[tokio::test]
async fn an_older_release_takes_nothing_from_a_newer_definition() {
    let (client, _server) = in_process();
    let schema = |properties: serde_json::Value| json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": { "type": "object", "properties": properties } } } });
    let release = |mut crd: CustomResourceDefinition, properties: serde_json::Value| {
        crd.spec.versions[0].schema = serde_json::from_value(schema(properties)).unwrap();
        crd
    };
    let text = json!({ "type": "string" });
    let mut newer = release(crd("pages", "Page", &["v1", "v2"]), json!({ "title": text, "color": text }));
    newer.metadata.annotations =
        Some([("cert-manager.io/inject-ca-from".to_owned(), "a/b".to_owned())].into());
    newer.spec.names.short_names = Some(vec!["pg".to_owned()]);
    newer.spec.conversion = serde_json::from_value(json!({
        "strategy": "Webhook",
        "webhook": { "clientConfig": { "url": "https://127.0.0.1:1/convert", "caBundle": null }, "conversionReviewVersions": ["v1"] },
    }))
    .unwrap();
    let before = install(&client, "pages", [newer]).await.unwrap().remove(0).crd;
    let older = release(crd("pages", "Page", &["v1"]), json!({ "title": text }));
    for manager in ["pages", "another"] {
        let after = install(&client, manager, [older.clone()]).await.unwrap().remove(0);
        assert_eq!(after.kept_versions, ["v2"]);
        assert_eq!(
            (&after.crd.spec, after.crd.annotations()),
            (&before.spec, before.annotations()),
            "{manager}"
        );
    }
    // What only the older one has is added.
    let renamed = release(crd("pages", "Page", &["v1beta1", "v1"]), json!({ "name": text }));
    let after = install(&client, "pages", [renamed]).await.unwrap().remove(0).crd;
    assert_eq!(versions(&after), [("v1", true, false), ("v2", true, true), ("v1beta1", true, false)]);
}

/// With the storage version, and with a field alone: by the stored definition, nothing else tells that the release is older.
#[tokio::test]
async fn a_release_that_knows_all_versions_moves_no_storage_version_back_and_removes_no_field() {
    let (client, _server) = in_process();
    let release = |storage: &str, fields: &[&str]| {
        let mut crd = crd("pages", "Page", &["v1", "v2"]);
        let properties: serde_json::Map<_, _> =
            fields.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": properties } });
        for version in &mut crd.spec.versions {
            version.storage = version.name == storage;
            version.schema = serde_json::from_value(schema.clone()).unwrap();
        }
        crd
    };
    let before = install(&client, "pages", [release("v2", &["a", "b"])]).await.unwrap().remove(0);
    assert!(!before.only_added_to && before.kept_fields.is_empty());
    let after = install(&client, "pages", [release("v1", &["a"])]).await.unwrap().remove(0);
    assert_eq!((&after.crd.spec, after.only_added_to), (&before.crd.spec, true));
    let after = install(&client, "pages", [release("v2", &["a"])]).await.unwrap().remove(0);
    assert_eq!((&after.crd.spec, after.only_added_to), (&before.crd.spec, false));
    assert_eq!(after.kept_fields, ["v1 b", "v2 b"]);
}

/// Both programs read that there is none, as when two replicas start on an empty cluster.
#[tokio::test(start_paused = true)]
async fn a_definition_that_another_program_has_created_meanwhile_is_not_overwritten() {
    let (client, server) = in_process();
    install(&client, "pages", [crd("pages", "Page", &["v1", "v2"])]).await.unwrap();
    let missing = FaultResponse::status(404, "NotFound").body(r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
        "reason": "NotFound", "message": "customresourcedefinitions.apiextensions.k8s.io \"pages.example.com\" not found"}"#);
    server.fault(Match::get::<CustomResourceDefinition>().times(1), missing);
    let after = install(&client, "pages", [crd("pages", "Page", &["v1"])]).await.unwrap().remove(0);
    assert_eq!(versions(&after.crd), [("v1", true, false), ("v2", true, true)]);
    assert!(after.only_added_to);
}

/// What a create has written is owned as if it were applied, so a later release may remove it.
#[tokio::test]
async fn what_is_created_is_owned_by_the_apply() {
    let (client, _server) = in_process();
    let mut labelled = crd("pages", "Page", &["v1"]);
    labelled.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    install(&client, "pages", [labelled]).await.unwrap();
    let after = install(&client, "pages", [crd("pages", "Page", &["v1"])]).await.unwrap().remove(0).crd;
    assert!(after.labels().is_empty(), "{:?}", after.metadata.managed_fields);
}

#[tokio::test]
async fn what_others_have_set_stays() {
    let (client, _server) = in_process();
    install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap();
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { "example.com/by": "another" } } }));
    Crds::all(client.clone()).patch("pages.example.com", &PatchParams::default(), &patch).await.unwrap();
    let installed = install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap().remove(0);
    assert_eq!(installed.crd.annotations()["example.com/by"], "another");
}

#[tokio::test(start_paused = true)]
async fn a_definition_changed_by_others_in_between_is_read_again() {
    let (client, server) = in_process();
    install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap();
    let old = server.resource_version();
    install(&client, "test", [crd("pages", "Page", &["v1", "v2"])]).await.unwrap();
    // The next read gives the state before v2 was added, as just before another client's change.
    server.fault(Match::get::<CustomResourceDefinition>().times(1), Fault::Stale(old));
    let installed = install(&client, "test", [crd("pages", "Page", &["v1", "v3"])]).await.unwrap().remove(0);
    assert_eq!(installed.kept_versions, ["v2"]);
}

#[tokio::test(start_paused = true)]
async fn names_that_are_taken_are_an_error_and_the_others_are_installed() {
    let (client, _server) = in_process();
    install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap();
    let taken = crd("papers", "Page", &["v1"]);
    let error = install(&client, "test", [taken, crd("shops", "Shop", &["v1"])]).await.unwrap_err();
    assert!(
        matches!(&error.failed[..], [CrdError::NamesTaken { name, message }] if name == "papers.example.com" && message.contains("is already in use")),
        "{error}"
    );
    assert_eq!(error.installed[0].crd.name_any(), "shops.example.com");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_in_time_is_an_error_that_says_what_is_missing() {
    let (client, server) = in_process();
    let discovery = server.fault(discovery(), no_groups());
    let error = install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap_err();
    let expected = "the CustomResourceDefinition pages.example.com was not served within 60 s: discovery does not list it in example.com/v1";
    assert_eq!(error.to_string(), expected);
    assert!((10..100).contains(&discovery.hits()), "{} requests", discovery.hits());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_an_error() {
    let (client, server) = in_process();
    server.fault(Match::get::<CustomResourceDefinition>(), Fault::Stall);
    let error = install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap_err();
    assert!(error.to_string().ends_with("60 s: the server does not respond"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn outages_are_awaited_and_refusals_are_errors() {
    let (client, server) = in_process();
    let outage = server.fault(discovery().times(4), FaultResponse::status(503, "ServiceUnavailable"));
    install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap();
    assert_eq!(outage.hits(), 4);
    server.fault(Match::patch::<CustomResourceDefinition>(), FaultResponse::status(403, "Forbidden"));
    let error = install(&client, "test", [crd("shops", "Shop", &["v1"])]).await.unwrap_err();
    assert!(matches!(&error.failed[..], [CrdError::Request { error, .. }] if error.is_forbidden()));
    assert!(kube_client::error::status_of(&error).is_some_and(|status| status.code == 403));
}

#[tokio::test]
async fn a_refused_discovery_is_an_error_at_once() {
    let (client, server) = in_process();
    server.fault(discovery(), FaultResponse::status(403, "Forbidden"));
    let error = install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap_err();
    assert!(matches!(&error.failed[..], [CrdError::Discovery { .. }]), "{error}");
    assert!(kube_client::error::status_of(&error.failed[0]).is_some_and(|status| status.code == 403));
}

#[tokio::test(start_paused = true)]
async fn a_discovery_that_is_refused_later_is_an_outage() {
    let (client, server) = in_process();
    server.fault(discovery().times(2), no_groups());
    // The first rule takes the requests that it matches.
    let refused = server.fault(discovery().times(3), FaultResponse::status(403, "Forbidden"));
    install(&client, "test", [crd("pages", "Page", &["v1"])]).await.unwrap();
    assert!(refused.hits() > 0);
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_watched_until_it_is_served_or_deleted() {
    let (client, server) = in_process();
    server.fault(discovery(), no_groups());
    let lists = server.fault(Match::list::<CustomResourceDefinition>(), Fault::Delay(Duration::ZERO));
    let delete = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        Crds::all(client.clone()).delete("pages.example.com", &Default::default()).await.unwrap();
    };
    let started = tokio::time::Instant::now();
    let (installed, ()) = futures::join!(install(&client, "test", [crd("pages", "Page", &["v1"])]), delete);
    let error = installed.unwrap_err();
    assert!(
        matches!(&error.failed[..], [CrdError::Deleted { name }] if name == "pages.example.com"),
        "{error}"
    );
    assert_eq!((started.elapsed().as_secs(), lists.hits()), (20, 1));
}

#[tokio::test]
async fn a_definition_without_a_name_of_its_own_is_an_error() {
    let (client, _server) = in_process();
    let mut unnamed = crd("pages", "Page", &["v1"]);
    unnamed.metadata.name = None;
    let twice = [unnamed, crd("pages", "Page", &["v1"]), crd("pages", "Page", &["v2"])];
    let error = install(&client, "test", twice).await.unwrap_err();
    assert!(matches!(&error.failed[..], [CrdError::NoName, CrdError::GivenTwice { .. }]), "{error}");
    assert_eq!(error.installed.len(), 1);
}

/// The definition of objects with a finalizer stays until they are gone.
#[tokio::test(start_paused = true)]
async fn a_definition_that_is_being_deleted_is_created_anew() {
    let (client, _server) = in_process();
    let crds: Crds = Api::all(client.clone());
    let mut held = crd("pages", "Page", &["v1"]);
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    let old = install(&client, "test", [held]).await.unwrap().remove(0);
    crds.delete("pages.example.com", &Default::default()).await.unwrap();
    let release = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let none = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        crds.patch("pages.example.com", &PatchParams::default(), &none).await.unwrap();
    };
    let install = install(&client, "test", [crd("pages", "Page", &["v1"])]);
    let (installed, ()) = futures::join!(install, release);
    assert_ne!(installed.unwrap()[0].crd.uid(), old.crd.uid());
}
