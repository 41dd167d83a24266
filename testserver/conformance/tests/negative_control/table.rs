//! The breakages, and the areas that must find them.

use http::{Method, header};
use serde_json::{Value, json};

use crate::message::{Answer, SentRequest, remove, remove_everywhere};

/// A way in which a server may be wrong.
pub(crate) struct Breakage {
    pub(crate) name: &'static str,
    /// What the broken server does.
    pub(crate) what: &'static str,
    /// The areas of the suite in which at least one case must fail.
    pub(crate) areas: &'static [&'static str],
    pub(crate) how: How,
}

/// How the server is broken.
pub(crate) enum How {
    /// Changes a request before the server sees it.
    Request(fn(&mut SentRequest)),
    /// Changes a response that is not a stream.
    Response(fn(&SentRequest, &mut Answer)),
    /// Changes an event of a watch; `false` removes it.
    Event(fn(&mut Value) -> bool),
}

const fn breaks_request(
    name: &'static str,
    what: &'static str,
    areas: &'static [&'static str],
    change: fn(&mut SentRequest),
) -> Breakage {
    Breakage { name, what, areas, how: How::Request(change) }
}

const fn answers(
    name: &'static str,
    what: &'static str,
    areas: &'static [&'static str],
    change: fn(&SentRequest, &mut Answer),
) -> Breakage {
    Breakage { name, what, areas, how: How::Response(change) }
}

const fn sends(
    name: &'static str,
    what: &'static str,
    areas: &'static [&'static str],
    change: fn(&mut Value) -> bool,
) -> Breakage {
    Breakage { name, what, areas, how: How::Event(change) }
}

const CRDS: &str = "/customresourcedefinitions";

// One row per breakage.
#[rustfmt::skip]
pub(crate) const BREAKAGES: &[Breakage] = &[
    // ---- parameters and headers of requests that are ignored
    breaks_request("dry-run", "dryRun is ignored: the write is stored", &["dryrun", "delete"], |sent| {
        sent.drop_parameters(&["dryRun"]);
        sent.drop_fields(&["/dryRun"]);
    }),
    breaks_request("field-validation", "fieldValidation is ignored", &["dryrun"], |sent| sent.drop_parameters(&["fieldValidation"])),
    breaks_request("never-force", "force is ignored: a forced apply conflicts", &["apply"], |sent| sent.drop_parameters(&["force"])),
    breaks_request("always-force", "every apply is forced: no apply conflicts", &["apply", "scale"], |sent| if sent.patches("application/apply-patch") {
        sent.add_parameter("force=true");
    }),
    breaks_request("field-manager", "fieldManager is ignored", &["apply", "update"], |sent| sent.drop_parameters(&["fieldManager"])),
    breaks_request("pages", "limit and continue are ignored: every list is whole", &["read"], |sent| sent.drop_parameters(&["limit", "continue"])),
    breaks_request("label-selector", "labelSelector is ignored", &["selectors", "watch"], |sent| sent.drop_parameters(&["labelSelector"])),
    breaks_request("field-selector", "fieldSelector is ignored", &["selectors", "fields"], |sent| sent.drop_parameters(&["fieldSelector"])),
    breaks_request("requested-version", "resourceVersion of a list or watch is ignored", &["read", "watch"], |sent| sent.drop_parameters(&["resourceVersion", "resourceVersionMatch"])),
    breaks_request("initial-events", "sendInitialEvents is ignored: an ordinary watch", &["watchlist"], |sent| sent.drop_parameters(&["sendInitialEvents", "resourceVersionMatch"])),
    breaks_request("accept", "Accept is ignored: always the object as JSON", &["representation"], |sent| drop(sent.parts.headers.remove(header::ACCEPT))),
    breaks_request("compression", "Accept-Encoding is ignored: no response is compressed", &["encoding"], |sent| drop(sent.parts.headers.remove(header::ACCEPT_ENCODING))),
    breaks_request("impersonation", "an impersonated user keeps the rights of the administrator", &["rbac"], |sent| if sent.header("impersonate-user") != "conformance-nobody" {
        ["impersonate-user", "impersonate-group"].iter().for_each(|name| drop(sent.parts.headers.remove(*name)));
    }),
    breaks_request("any-token", "unknown and unprivileged tokens have the rights of the administrator", &["auth"], |sent| drop(sent.parts.headers.remove(header::AUTHORIZATION))),
    breaks_request("subresources", "status is the main resource", &["subresource", "scale"], |sent| sent.drop_suffix("/status")),
    breaks_request("strategic-as-merge", "a strategic merge patch is applied as a merge patch", &["strategic"], |sent| if sent.patches("application/strategic-merge-patch") {
        sent.set_content_type("application/merge-patch+json");
    }),

    // ---- fields of requests that are ignored
    breaks_request("optimistic-locking", "resourceVersion of a replaced object is ignored", &["update", "subresource"], |sent| if sent.is(Method::PUT) {
        sent.drop_fields(&["/metadata/resourceVersion"]);
    }),
    breaks_request("body-identity", "the name and namespace in a body are not compared with the path", &["identity"], |sent| if sent.is(Method::PUT) || sent.is(Method::PATCH) {
        sent.drop_fields(&["/metadata/name", "/metadata/namespace"]);
    }),
    breaks_request("preconditions", "preconditions of a DELETE are ignored", &["delete"], |sent| if sent.is(Method::DELETE) {
        sent.drop_fields(&["/preconditions"]);
    }),
    breaks_request("grace", "the grace period of a DELETE is ignored", &["delete"], |sent| if sent.is(Method::DELETE) {
        sent.drop_parameters(&["gracePeriodSeconds"]);
        sent.drop_fields(&["/gracePeriodSeconds"]);
    }),
    breaks_request("propagation", "propagationPolicy is ignored: dependents are deleted", &["gc"], |sent| if sent.is(Method::DELETE) {
        sent.drop_parameters(&["propagationPolicy", "orphanDependents"]);
        sent.drop_fields(&["/propagationPolicy", "/orphanDependents"]);
    }),
    breaks_request("owners", "ownerReferences are not stored: nothing is collected", &["gc"], |sent| sent.drop_fields(&["/metadata/ownerReferences"])),
    breaks_request("finalizers", "finalizers of a new object are not stored", &["delete", "finalizers"], |sent| if sent.is(Method::POST) {
        sent.drop_fields(&["/metadata/finalizers"]);
    }),
    breaks_request("cel-rules", "CEL rules of CRDs are not evaluated", &["cel", "cost", "rules"], |sent| if sent.path().contains(CRDS) {
        sent.edit(|crd| remove_everywhere(crd, "x-kubernetes-validations"));
    }),
    breaks_request("schema-defaults", "defaults of CRDs are not applied", &["schema"], |sent| if sent.path().contains(CRDS) {
        sent.edit(|crd| remove_everywhere(crd, "default"));
    }),
    breaks_request("list-types", "list types of CRDs are ignored by apply: lists are atomic", &["applylists"], |sent| if sent.path().contains(CRDS) {
        // Rules with oldSelf are refused in lists without keys.
        sent.edit(|crd| if !crd.to_string().contains("oldSelf") {
            ["x-kubernetes-list-type", "x-kubernetes-list-map-keys"].iter().for_each(|key| remove_everywhere(crd, key));
        });
    }),
    breaks_request("conversion", "conversion webhooks are not called", &["conversion"], |sent| if sent.path().contains(CRDS) {
        sent.drop_fields(&["/spec/conversion"]);
    }),
    breaks_request("deprecated-versions", "versions are never deprecated", &["versions"], |sent| if sent.path().contains(CRDS) {
        sent.edit(|crd| remove_everywhere(crd, "deprecated"));
    }),
    breaks_request("webhook-conditions", "matchConditions of admission webhooks are ignored", &["admission"], |sent| if sent.path().contains("/admissionregistration.k8s.io/") {
        sent.edit(|hooks| remove_everywhere(hooks, "matchConditions"));
    }),
    breaks_request("autoscaler-behavior", "annotations of autoscaling/v1 are dropped", &["autoscalers"], |sent| if sent.path().contains("/horizontalpodautoscalers") {
        sent.drop_fields(&["/metadata/annotations"]);
    }),
    breaks_request("column-types", "the types of printer columns are not checked", &["definitions"], |sent| if sent.path().contains(CRDS) {
        sent.edit(|crd| remove_everywhere(crd, "additionalPrinterColumns"));
    }),
    breaks_request("multiples", "multipleOf in schemas is ignored", &["values"], |sent| if sent.path().contains(CRDS) {
        sent.edit(|crd| remove_everywhere(crd, "multipleOf"));
    }),
    breaks_request("pod-priority", "pods have no priority class", &["priority"], |sent| if sent.path().ends_with("/pods") {
        sent.drop_fields(&["/spec/priorityClassName"]);
    }),
    breaks_request("default-class", "no StorageClass is the default", &["storageclass"], |sent| if sent.path().ends_with("/storageclasses") {
        sent.drop_fields(&["/metadata/annotations"]);
    }),
    breaks_request("limits", "LimitRanges limit nothing", &["limitrange"], |sent| if sent.path().contains("/limitranges") {
        sent.edit(|range| range["spec"]["limits"] = json!([]));
    }),
    breaks_request("quotas", "quotas limit nothing", &["quota"], |sent| if sent.path().contains("/resourcequotas") {
        sent.edit(|quota| quota["spec"]["hard"] = json!({}));
    }),
    breaks_request("policy-bindings", "bindings of admission policies bind nothing", &["policies"], |sent| if sent.path().ends_with("policybindings") {
        sent.edit(|binding| binding["spec"]["policyName"] = json!("none"));
    }),

    // ---- status codes and errors
    answers("conflict-200", "a conflict is answered with 200", &["create", "update", "verbs"], |_, answer| if answer.code() == 409 {
        answer.set_code(200);
    }),
    answers("invalid-200", "an invalid object is answered as if it were stored", &["immutable", "defaults", "ratchet"], |_, answer| if answer.code() == 422 {
        answer.set_code(200);
    }),
    answers("evictions-always", "an eviction that a budget forbids is answered with 201", &["pods"], |_, answer| if answer.code() == 429 {
        answer.set_code(201);
    }),
    answers("details", "errors have no details", &["verbs", "create"], |_, answer| if answer.is_failure() {
        remove(&mut answer.body, "/details");
    }),
    answers("reason", "every error has the reason InternalError", &["verbs", "patch"], |_, answer| if answer.is_failure() {
        answer.body["reason"] = json!("InternalError");
    }),
    answers("warnings", "no response has warnings", &["dryrun", "finalizers", "versions"], |_, answer| drop(answer.headers.remove(header::WARNING))),

    // ---- fields of responses
    answers("list-version", "every list has the same resourceVersion", &["read", "watch"], |_, answer| if answer.body["items"].is_array() {
        answer.body["metadata"]["resourceVersion"] = json!("1");
    }),
    answers("list-order", "lists are in reverse order", &["read"], |_, answer| if let Some(items) = answer.body["items"].as_array_mut() {
        items.reverse();
    }),
    answers("remaining-items", "pages have no remainingItemCount", &["read"], |_, answer| remove(&mut answer.body, "/metadata/remainingItemCount")),
    answers("deletion-timestamp", "objects have no deletionTimestamp", &["delete"], |_, answer| {
        answer.for_each_object(|object| remove(object, "/metadata/deletionTimestamp"));
    }),
    answers("generation", "generation is not raised", &["update", "apply"], |_, answer| answer.for_each_object(|object| if object["metadata"]["generation"].is_number() {
        object["metadata"]["generation"] = json!(1);
    })),
    answers("managed-fields", "objects have no managedFields", &["apply", "update"], |_, answer| {
        answer.for_each_object(|object| remove(object, "/metadata/managedFields"));
    }),
    answers("uids", "all objects have the same uid", &["delete"], |_, answer| answer.for_each_object(|object| if object["metadata"]["uid"].is_string() {
        object["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    })),
    answers("terminating", "a namespace that is deleted is Active", &["namespaces"], |_, answer| if answer.kind() == "Namespace" {
        answer.body["status"]["phase"] = json!("Active");
    }),
    answers("accepted-names", "the status of a CRD has no accepted names", &["crd"], |_, answer| {
        answer.for_each_object(|object| remove(object, "/status/acceptedNames"));
    }),
    answers("short-names", "discovery has no short names", &["discovery"], |sent, answer| if sent.path().starts_with("/api") {
        remove_everywhere(&mut answer.body, "shortNames");
    }),
    answers("two-kinds-of-events", "the groups of Events do not share their objects", &["events"], |sent, answer| if sent.path().contains("/events.k8s.io/") && answer.body["items"].is_array() {
        answer.body["items"] = json!([]);
    }),
    answers("table-columns", "tables have no columns but the name", &["representation"], |_, answer| if answer.kind() == "Table"
        && let Some(columns) = answer.body["columnDefinitions"].as_array_mut() {
        columns.truncate(1);
    }),

    // ---- watches
    sends("no-bookmarks", "watches send no bookmarks", &["watchlist"], |event| event["type"] != "BOOKMARK"),
    sends("unmarked-bookmark", "the bookmark after the initial events is not marked", &["watchlist"], |event| {
        remove(event, "/object/metadata/annotations");
        true
    }),
    sends("no-deletions", "watches do not send DELETED", &["watch"], |event| event["type"] != "DELETED"),
    sends("all-modified", "watches send MODIFIED instead of ADDED", &["watch", "watchlist"], |event| {
        if event["type"] == "ADDED" {
            event["type"] = json!("MODIFIED");
        }
        true
    }),
    sends("event-version", "objects in events have no resourceVersion", &["watch"], |event| {
        remove(event, "/object/metadata/resourceVersion");
        true
    }),
];
