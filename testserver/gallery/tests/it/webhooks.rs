//! Operators whose objects pass a webhook of their own.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use kube::{
    Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::controller::Action,
};
use kube_verify::{Family, Verify};
use serde_json::{Value, json};

use super::operators::{self, Page, Result, absent, child, control, is_deleted, maps, pages};

/// What a page is for; the webhook gives a default.
const TOPIC: &str = "example.com/topic";

/// What a webhook changes in the object of a request, as a JSON patch.
type Change = fn(&Value) -> Value;

fn topic(page: &Value) -> Option<&str> {
    page["metadata"]["annotations"][TOPIC].as_str()
}

fn set(topic: &str) -> Value {
    json!([{"op": "add", "path": "/metadata/annotations", "value": {TOPIC: topic}}])
}

/// A default, where there is none.
pub(crate) fn defaults(page: &Value) -> Value {
    if topic(page).is_some() { json!([]) } else { set("news") }
}

/// BUG: it appends, also to what it has appended itself.
pub(crate) fn appends(page: &Value) -> Value {
    set(&format!("{} news", topic(page).unwrap_or_default()))
}

/// BUG: each text has a first letter; without one the webhook fails.
fn needs_a_letter(page: &Value) -> Value {
    let is_empty = page["spec"]["text"].as_str().is_none_or(str::is_empty);
    if is_empty { Value::Null } else { json!([]) }
}

/// The HTTP service of the webhook, which fails where nothing can be said about a change.
async fn admit(change: Change, request: Request<Full<Bytes>>) -> operators::Result<Response<Full<Bytes>>> {
    let review: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
    let change = change(&review["request"]["object"]);
    if change.is_null() {
        return Ok(Response::builder().status(500).body(Full::default())?);
    }
    let patch = BASE64_STANDARD.encode(change.to_string());
    let response =
        json!({"uid": review["request"]["uid"], "allowed": true, "patchType": "JSONPatch", "patch": patch});
    let review = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    Ok(Response::new(Full::new(Bytes::from(review.to_string()))))
}

/// A page is marked, which passes the webhook again, and its child has its topic.
async fn reconcile(page: Arc<Page>, client: Client) -> Result {
    if is_deleted(&page) {
        return Ok(Action::await_change());
    }
    let mark = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    pages(&client).patch(&page.name_any(), &PatchParams::default(), &mark).await.map(drop).or_else(absent)?;
    let name = format!("{}-page", page.name_any());
    let mut map = child(&page, &name);
    let topic = page.annotations().get(TOPIC).cloned().unwrap_or_else(|| "none".to_owned());
    map.data.get_or_insert_default().insert("topic".to_owned(), topic);
    maps(&client, &page).patch(&name, &PatchParams::apply("pages").force(), &Patch::Apply(map)).await?;
    Ok(Action::await_change())
}

/// An operator with this webhook for pages, called with this `failurePolicy`.
pub(crate) fn verify(change: Change, failure_policy: &str) -> Verify {
    with_webhook(("example.com", "pages"), change, failure_policy, reconcile)
}

/// An operator whose children have to pass a webhook of its own, and its pages not.
pub(crate) fn of_children<F, Fut>(reconcile: F) -> Verify
where
    F: Fn(Arc<Page>, Client) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    with_webhook(("", "configmaps"), |_| json!([]), "Fail", reconcile)
}

fn with_webhook<F, Fut>(
    (group, resource): (&str, &str),
    change: Change,
    failure_policy: &str,
    reconcile: F,
) -> Verify
where
    F: Fn(Arc<Page>, Client) -> Fut + Copy + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'static,
{
    let rule = json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": [resource]});
    let hook = json!({"name": "pages.example.com", "clientConfig": {"service": {"namespace": "default", "name": "pages"}},
        "failurePolicy": failure_policy, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule]});
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "pages"}, "webhooks": [hook]});
    operators::verify(move |world| {
        let webhooks = world.webhooks();
        move |client: Client| {
            webhooks.serve("default", "pages", 443, tower::service_fn(move |request| admit(change, request)));
            control(client, reconcile)
        }
    })
    .fixtures(configuration)
}

#[test]
fn a_webhook_that_fails_at_an_extreme_value_is_found() {
    let report = verify(needs_a_letter, "Fail").families([Family::Extreme]).report();
    let (plan, finding) = report.findings().next().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(plan, "empty spec.text of pages.example.com a after step 1");
    let what = "[workload] after step 1, the edit fails: 500 Internal error occurred: failed calling webhook";
    assert!(finding.to_string().starts_with(what), "{finding}");
}
