//! Statuses written to a server that tracks field managers.

use crate::{common::server, layers::counted};
use k8s_openapi::{
    api::core::v1::Namespace,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp,
};
use kube_client::{Api, Client};
use kube_core::{
    ApiResource, DynamicObject, GroupVersionKind, ResourceExt,
    params::{Patch, PatchParams, PostParams},
};
use kube_operator::status::{Conditions, StatusError, StatusWrite, Summary, apply_status, apply_status_with};
use serde_json::{Value, json};
use std::sync::Mutex;

fn kind() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Page"))
}

/// Registers the kind `Page`, whose conditions are a list with the key `type`, and creates a page.
async fn page(client: &Client) -> (Api<DynamicObject>, DynamicObject) {
    page_with(client, json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] }))
        .await
}

/// The same with another strategy for the list of conditions.
async fn page_with(client: &Client, strategy: Value) -> (Api<DynamicObject>, DynamicObject) {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut conditions = json!({
        "type": "array",
        "items": { "type": "object", "required": ["type"], "properties": {
            "type": { "type": "string" }, "status": { "type": "string" }, "reason": { "type": "string" },
            "message": { "type": "string" }, "observedGeneration": { "type": "integer" },
            "lastTransitionTime": { "type": "string", "format": "date-time" },
        } },
    });
    conditions.as_object_mut().unwrap().extend(strategy.as_object().unwrap().clone());
    let status = json!({ "type": "object", "properties": { "conditions": conditions, "pages": { "type": "integer" }, "host": { "type": "string" } } });
    let schema = json!({ "type": "object", "properties": { "spec": any, "status": status } });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} },
    });
    let crd: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "pages.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "kind": "Page", "plural": "pages" }, "versions": [version],
        },
    }))
    .unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &crd).await.unwrap();
    let pages: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &kind());
    let page = DynamicObject::new("a", &kind()).data(json!({ "spec": { "title": "A" } }));
    let page = pages.create(&PostParams::default(), &page).await.unwrap();
    (pages, page)
}

/// The number of requests since the last call.
fn sent(requests: &Mutex<Vec<String>>) -> usize {
    requests.lock().unwrap().drain(..).count()
}

async fn write(
    pages: &Api<DynamicObject>,
    manager: &str,
    page: &DynamicObject,
    status: &Value,
) -> Option<DynamicObject> {
    match apply_status_with(pages, manager, page, &kind(), status).await.unwrap() {
        StatusWrite::Unchanged => None,
        StatusWrite::Written(page) => Some(*page),
    }
}

fn conditions_of(page: &DynamicObject) -> Vec<Condition> {
    serde_json::from_value(page.data["status"]["conditions"].clone()).unwrap_or_default()
}

/// The status of `page` with this condition and the summary `Ready`.
fn status_with(page: &DynamicObject, type_: &str, holds: bool) -> Value {
    let mut list = conditions_of(page);
    let mut conditions = Conditions::new(&mut list, page.metadata.generation);
    conditions.set(type_, holds, "Checked", "").unwrap();
    conditions.summarize("Ready", &Summary::default()).unwrap();
    json!({ "conditions": list })
}

#[tokio::test]
async fn a_status_is_written_only_if_it_differs() {
    let (server, client) = server();
    let (_, page) = page(&client).await;
    let (counting, requests) = counted(&server);
    let pages: Api<DynamicObject> = Api::default_namespaced_with(counting, &kind());
    let first = write(&pages, "me", &page, &status_with(&page, "Synced", true)).await.expect("it is new");
    assert_eq!((sent(&requests), conditions_of(&first).len()), (1, 2));
    assert_eq!(first.metadata.generation, page.metadata.generation);

    assert_eq!(write(&pages, "me", &first, &status_with(&first, "Synced", true)).await, None);
    assert_eq!(sent(&requests), 0, "nothing was sent");
    let changed =
        write(&pages, "me", &first, &status_with(&first, "Synced", false)).await.expect("it differs");
    assert_eq!(conditions_of(&changed).iter().map(|it| &*it.status).collect::<Vec<_>>(), ["False", "False"]);

    let shorter =
        write(&pages, "me", &changed, &json!({ "pages": 1 })).await.expect("conditions are to be removed");
    assert_eq!(shorter.data["status"], json!({ "pages": 1 }));
}

#[tokio::test]
async fn a_lagging_cache_does_not_change_the_resource_version() {
    let (_server, client) = server();
    let (pages, page) = page(&client).await;
    let status = status_with(&page, "Synced", true);
    let first = write(&pages, "me", &page, &status).await.expect("it is new");
    let again = write(&pages, "me", &page, &status).await.expect("the cached object does not show it");
    assert_eq!(again.resource_version(), first.resource_version());
}

#[tokio::test]
async fn a_condition_of_another_controller_in_a_list_without_a_key_is_not_lost() {
    let (_server, client) = server();
    let (pages, page) = page_with(&client, json!({})).await;
    let first = write(&pages, "me", &page, &status_with(&page, "Mine", true)).await.unwrap();
    let theirs = write(&pages, "they", &first, &status_with(&first, "Theirs", true)).await.unwrap();
    // The cache lags: it does not show their condition.
    let changed = status_with(&first, "Mine", false);
    let error = apply_status_with(&pages, "me", &first, &kind(), &changed).await.unwrap_err();
    let StatusError::Write { error: kube_client::Error::Api(status), .. } = &error else { panic!("{error}") };
    assert_eq!(status.code, 409, "{error}");
    let types = |page: &DynamicObject| conditions_of(page).into_iter().map(|it| it.type_).collect::<Vec<_>>();
    assert_eq!(types(&pages.get("a").await.unwrap()), ["Mine", "Ready", "Theirs"]);
    let now = write(&pages, "me", &theirs, &status_with(&theirs, "Mine", false)).await.unwrap();
    assert_eq!(types(&now), ["Mine", "Ready", "Theirs"]);

    // Another change of the object is none of the conditions.
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    pages.patch("a", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    assert!(write(&pages, "me", &now, &status_with(&now, "Mine", true)).await.is_some());
}

#[tokio::test]
async fn two_managers_set_their_own_conditions_and_fields() {
    let (_server, client) = server();
    let (pages, page) = page(&client).await;
    let after_me =
        write(&pages, "me", &page, &json!({ "conditions": condition_list(&page, "Mine", true), "pages": 1 }))
            .await
            .unwrap();
    let theirs = json!({ "conditions": condition_list(&after_me, "Theirs", true), "host": "b" });
    let after_them = write(&pages, "they", &after_me, &theirs).await.unwrap();
    assert_eq!(types(&after_them), ["Mine", "Theirs"]);

    // From a copy of the list, in which the condition of the other manager is outdated meanwhile.
    let flipped = json!({ "conditions": condition_list(&after_them, "Theirs", false), "host": "b" });
    write(&pages, "they", &after_them, &flipped).await.unwrap();
    let mine = json!({ "conditions": condition_list(&after_them, "Mine", false), "pages": 1 });
    let last = write(&pages, "me", &after_them, &mine).await.unwrap();
    assert_eq!(
        conditions_of(&last).iter().map(|it| &*it.status).collect::<Vec<_>>(),
        ["False", "False"],
        "theirs was not reset"
    );
    assert_eq!((&last.data["status"]["pages"], &last.data["status"]["host"]), (&json!(1), &json!("b")));
    let again = json!({ "conditions": condition_list(&last, "Mine", false), "pages": 1 });
    assert_eq!(write(&pages, "me", &last, &again).await, None, "foreign fields are not compared");
}

fn condition_list(page: &DynamicObject, type_: &str, holds: bool) -> Vec<Condition> {
    let mut list = conditions_of(page);
    Conditions::at(&mut list, page.metadata.generation, Timestamp::UNIX_EPOCH)
        .set(type_, holds, "Checked", "")
        .unwrap();
    list
}

fn types(page: &DynamicObject) -> Vec<String> {
    conditions_of(page).into_iter().map(|it| it.type_).collect()
}

#[tokio::test]
async fn a_deleted_object_is_an_error_that_names_it() {
    let (_server, client) = server();
    let (pages, page) = page(&client).await;
    pages.delete("a", &Default::default()).await.unwrap();
    let error = apply_status_with(&pages, "me", &page, &kind(), &json!({ "pages": 1 })).await.unwrap_err();
    assert!(
        error.to_string().starts_with("failed to write the status of Page a in namespace default: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_namespace_takes_a_condition_of_another_manager() {
    let (_server, client) = server();
    let namespaces: Api<Namespace> = Api::all(client);
    let cached = namespaces.get("default").await.unwrap();
    let status = json!({ "conditions": [{ "type": "Audited", "status": "True" }] });
    let StatusWrite::Written(written) = apply_status(&namespaces, "auditor", &cached, &status).await.unwrap()
    else {
        panic!("not written")
    };
    assert_eq!(written.status.as_ref().unwrap().phase, cached.status.unwrap().phase);
    assert_eq!(
        apply_status(&namespaces, "auditor", &written, &status).await.unwrap(),
        StatusWrite::Unchanged
    );
    let unnamed = apply_status(&namespaces, "auditor", &Namespace::default(), &status).await.unwrap_err();
    assert_eq!(unnamed.to_string(), "the Namespace whose status is to be written has no metadata.name");
}
