//! The breakages, and the areas that must find them.

use http::{Method, header};
use serde_json::{Value, json};

use crate::message::{Answer, Asked, remove, remove_everywhere};

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
    Request(fn(&mut Asked)),
    /// Changes a response that is not a stream.
    Response(fn(&Asked, &mut Answer)),
    /// Changes an event of a watch; `false` removes it.
    Event(fn(&mut Value) -> bool),
}

const fn asks(
    name: &'static str,
    what: &'static str,
    areas: &'static [&'static str],
    change: fn(&mut Asked),
) -> Breakage {
    Breakage { name, what, areas, how: How::Request(change) }
}

const fn answers(
    name: &'static str,
    what: &'static str,
    areas: &'static [&'static str],
    change: fn(&Asked, &mut Answer),
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
    asks("dry-run", "dryRun is ignored: the write is stored", &["dryrun", "delete"], |asked| {
        asked.drop_parameters(&["dryRun"]);
        asked.drop_fields(&["/dryRun"]);
    }),
    asks("field-validation", "fieldValidation is ignored", &["dryrun"], |asked| asked.drop_parameters(&["fieldValidation"])),
    asks("never-force", "force is ignored: a forced apply conflicts", &["apply"], |asked| asked.drop_parameters(&["force"])),
    asks("always-force", "every apply is forced: no apply conflicts", &["apply", "scale"], |asked| if asked.patches("application/apply-patch") {
        asked.add_parameter("force=true");
    }),
    asks("field-manager", "fieldManager is ignored", &["apply", "update"], |asked| asked.drop_parameters(&["fieldManager"])),
    asks("pages", "limit and continue are ignored: every list is whole", &["read"], |asked| asked.drop_parameters(&["limit", "continue"])),
    asks("label-selector", "labelSelector is ignored", &["selectors", "watch"], |asked| asked.drop_parameters(&["labelSelector"])),
    asks("field-selector", "fieldSelector is ignored", &["selectors", "fields"], |asked| asked.drop_parameters(&["fieldSelector"])),
    asks("requested-version", "resourceVersion of a list or watch is ignored", &["read", "watch"], |asked| asked.drop_parameters(&["resourceVersion", "resourceVersionMatch"])),
    asks("initial-events", "sendInitialEvents is ignored: an ordinary watch", &["watchlist"], |asked| asked.drop_parameters(&["sendInitialEvents", "resourceVersionMatch"])),
    asks("accept", "Accept is ignored: always the object as JSON", &["representation"], |asked| drop(asked.parts.headers.remove(header::ACCEPT))),
    asks("compression", "Accept-Encoding is ignored: no response is compressed", &["encoding"], |asked| drop(asked.parts.headers.remove(header::ACCEPT_ENCODING))),
    asks("impersonation", "an impersonated user keeps the rights of the administrator", &["rbac"], |asked| if asked.header("impersonate-user") != "conformance-nobody" {
        ["impersonate-user", "impersonate-group"].iter().for_each(|name| drop(asked.parts.headers.remove(*name)));
    }),
    asks("any-token", "unknown and unprivileged tokens have the rights of the administrator", &["auth"], |asked| drop(asked.parts.headers.remove(header::AUTHORIZATION))),
    asks("subresources", "status is the main resource", &["subresource", "scale"], |asked| asked.drop_suffix("/status")),
    asks("strategic-as-merge", "a strategic merge patch is applied as a merge patch", &["strategic"], |asked| if asked.patches("application/strategic-merge-patch") {
        asked.set_content_type("application/merge-patch+json");
    }),

    // ---- fields of requests that are ignored
    asks("optimistic-locking", "resourceVersion of a replaced object is ignored", &["update", "subresource"], |asked| if asked.is(Method::PUT) {
        asked.drop_fields(&["/metadata/resourceVersion"]);
    }),
    asks("body-identity", "the name and namespace in a body are not compared with the path", &["identity"], |asked| if asked.is(Method::PUT) || asked.is(Method::PATCH) {
        asked.drop_fields(&["/metadata/name", "/metadata/namespace"]);
    }),
    asks("preconditions", "preconditions of a DELETE are ignored", &["delete"], |asked| if asked.is(Method::DELETE) {
        asked.drop_fields(&["/preconditions"]);
    }),
    asks("grace", "the grace period of a DELETE is ignored", &["delete"], |asked| if asked.is(Method::DELETE) {
        asked.drop_parameters(&["gracePeriodSeconds"]);
        asked.drop_fields(&["/gracePeriodSeconds"]);
    }),
    asks("propagation", "propagationPolicy is ignored: dependents are deleted", &["gc"], |asked| if asked.is(Method::DELETE) {
        asked.drop_parameters(&["propagationPolicy", "orphanDependents"]);
        asked.drop_fields(&["/propagationPolicy", "/orphanDependents"]);
    }),
    asks("owners", "ownerReferences are not stored: nothing is collected", &["gc"], |asked| asked.drop_fields(&["/metadata/ownerReferences"])),
    asks("finalizers", "finalizers of a new object are not stored", &["delete", "finalizers"], |asked| if asked.is(Method::POST) {
        asked.drop_fields(&["/metadata/finalizers"]);
    }),
    asks("cel-rules", "CEL rules of CRDs are not evaluated", &["cel", "cost", "rules"], |asked| if asked.path().contains(CRDS) {
        asked.edit(|crd| remove_everywhere(crd, "x-kubernetes-validations"));
    }),
    asks("schema-defaults", "defaults of CRDs are not applied", &["schema"], |asked| if asked.path().contains(CRDS) {
        asked.edit(|crd| remove_everywhere(crd, "default"));
    }),
    asks("list-types", "list types of CRDs are ignored by apply: lists are atomic", &["applylists"], |asked| if asked.path().contains(CRDS) {
        // Rules with oldSelf are refused in lists without keys.
        asked.edit(|crd| if !crd.to_string().contains("oldSelf") {
            ["x-kubernetes-list-type", "x-kubernetes-list-map-keys"].iter().for_each(|key| remove_everywhere(crd, key));
        });
    }),
    asks("conversion", "conversion webhooks are not called", &["conversion"], |asked| if asked.path().contains(CRDS) {
        asked.drop_fields(&["/spec/conversion"]);
    }),
    asks("deprecated-versions", "versions are never deprecated", &["versions"], |asked| if asked.path().contains(CRDS) {
        asked.edit(|crd| remove_everywhere(crd, "deprecated"));
    }),
    asks("webhook-conditions", "matchConditions of admission webhooks are ignored", &["admission"], |asked| if asked.path().contains("/admissionregistration.k8s.io/") {
        asked.edit(|hooks| remove_everywhere(hooks, "matchConditions"));
    }),
    asks("autoscaler-behavior", "annotations of autoscaling/v1 are dropped", &["autoscalers"], |asked| if asked.path().contains("/horizontalpodautoscalers") {
        asked.drop_fields(&["/metadata/annotations"]);
    }),
    asks("column-types", "the types of printer columns are not checked", &["definitions"], |asked| if asked.path().contains(CRDS) {
        asked.edit(|crd| remove_everywhere(crd, "additionalPrinterColumns"));
    }),
    asks("multiples", "multipleOf in schemas is ignored", &["values"], |asked| if asked.path().contains(CRDS) {
        asked.edit(|crd| remove_everywhere(crd, "multipleOf"));
    }),
    asks("pod-priority", "pods have no priority class", &["priority"], |asked| if asked.path().ends_with("/pods") {
        asked.drop_fields(&["/spec/priorityClassName"]);
    }),
    asks("default-class", "no StorageClass is the default", &["storageclass"], |asked| if asked.path().ends_with("/storageclasses") {
        asked.drop_fields(&["/metadata/annotations"]);
    }),
    asks("limits", "LimitRanges limit nothing", &["limitrange"], |asked| if asked.path().contains("/limitranges") {
        asked.edit(|range| range["spec"]["limits"] = json!([]));
    }),
    asks("quotas", "quotas limit nothing", &["quota"], |asked| if asked.path().contains("/resourcequotas") {
        asked.edit(|quota| quota["spec"]["hard"] = json!({}));
    }),
    asks("policy-bindings", "bindings of admission policies bind nothing", &["policies"], |asked| if asked.path().ends_with("policybindings") {
        asked.edit(|binding| binding["spec"]["policyName"] = json!("none"));
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
    answers("short-names", "discovery has no short names", &["discovery"], |asked, answer| if asked.path().starts_with("/api") {
        remove_everywhere(&mut answer.body, "shortNames");
    }),
    answers("two-kinds-of-events", "the groups of Events do not share their objects", &["events"], |asked, answer| if asked.path().contains("/events.k8s.io/") && answer.body["items"].is_array() {
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
