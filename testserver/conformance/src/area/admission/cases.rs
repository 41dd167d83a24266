//! The cases of webhooks: one row each.

use serde_json::{Value, json};

use super::{
    configurations::{configuration, defaults, gone, unique},
    matching::{
        equivalent, equivalent_converts, exact, match_conditions, namespace_selector,
        not_called_for_configurations, object_selector, object_selector_old, other_operation, other_resource,
        scale_review, subresource_apart,
    },
    mutation::{
        custom_resource, in_order, mutated_invalid, mutates, mutates_first, mutates_update, not_reinvoked,
        reinvoked,
    },
    refusals::{Refusal, delete_denied, denies_although_ignored, ignored, refusal, warnings},
    requests::{
        apply_review, collection_review, create_review, delete_review, dry_review, generated,
        impersonated_review, patch_review, update_review, user_review,
    },
    webhooks::Says,
};
use crate::case::{Case, core, since};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let refusals = refusals().into_iter().flat_map(|(id, rule, hook, answer, want)| {
        core(&format!("admission/{id}"), rule, move |cx| refusal(cx, hook.clone(), answer.clone(), want))
    });
    let configurations = configurations().into_iter().flat_map(|(id, rule, change, field, message)| {
        core(&format!("admission/refuses-{id}-422"), rule, move |cx| configuration(cx, change.clone(), field, message))
    });
    let others = [
        core("admission/create-review", "the review of a create", create_review),
        core("admission/user-review", "a review names the user: the administrator is in system:masters and system:authenticated", user_review),
        core("admission/impersonated-review", "a review names the impersonated user", impersonated_review),
        core("admission/update-review", "the review of an update: object and oldObject", update_review),
        core("admission/patch-is-update", "a patch is an UPDATE with the patched object", patch_review),
        core("admission/apply-is-create-or-update", "an apply is a CREATE, or an UPDATE", apply_review),
        core("admission/delete-review", "a DELETE has an oldObject only", delete_review),
        core("admission/deletecollection-review", "the webhook is called for each object of a collection", collection_review),
        core("admission/dry-run-review", "the webhook is called for a dry run, with dryRun set", dry_review),
        core("admission/generated-name", "mutating webhooks receive no generated name, validating webhooks do", generated),
        core("admission/delete-denied-400", "a denied deletion leaves the object", delete_denied),
        core("admission/other-operation-not-asked", "an operation without a matching rule: the webhook is not called", other_operation),
        core("admission/other-resource-not-asked", "a resource without a matching rule: the webhook is not called", other_resource),
        core("admission/namespace-selector", "a namespace that the selector excludes: the webhook is not called", namespace_selector),
        core("admission/object-selector", "an object that the selector excludes: the webhook is not called", object_selector),
        core("admission/object-selector-old", "an update whose old object is selected: the webhook is called", object_selector_old),
        core("admission/subresource-apart", "a rule for a resource does not match its subresources", subresource_apart),
        core("admission/scale-review", "webhooks receive the Scale of a scale request", scale_review),
        core("admission/configurations-not-asked", "webhook configurations: no webhook is called", not_called_for_configurations),
        since(28, core("admission/match-conditions", "a match condition that is false: the webhook is not called (since 1.28)", match_conditions)),
        core("admission/equivalent-versions-convert", "an object is converted to the version of the rule by the conversion webhook, and a patch of it back", equivalent_converts),
        core("admission/equivalent-versions", "a rule for one version matches requests in other versions, converted to that version", equivalent),
        core("admission/exact-version", "with matchPolicy Exact a rule matches its own version only", exact),
        core("admission/warnings", "warnings of a webhook reach the client, allowed or not", warnings),
        core("admission/mutates", "a JSON patch changes what is written", mutates),
        core("admission/mutates-update", "a JSON patch changes an update", mutates_update),
        core("admission/mutates-before-validating", "validating webhooks receive the mutated object", mutates_first),
        core("admission/mutated-is-validated-422", "the mutated object is validated", mutated_invalid),
        core("admission/mutates-in-order", "mutating webhooks are called one after the other", in_order),
        core("admission/reinvocation", "reinvocationPolicy IfNeeded: called again if a later webhook changed the object", reinvoked),
        core("admission/no-reinvocation", "without reinvocationPolicy: called once", not_reinvoked),
        core("admission/mutates-custom", "custom resources are mutated and then validated by their schema", custom_resource),
        core("admission/ignored-when-failing", "failurePolicy Ignore: a failing webhook is ignored", ignored),
        core("admission/denies-although-ignored-400", "failurePolicy Ignore: a denial is still a denial", denies_although_ignored),
        core("admission/defaults", "a webhook's defaults", defaults),
        core("admission/names-unique-422", "two webhooks of one name in a configuration: 422", unique),
        core("admission/gone-with-configuration", "a webhook is not called after its configuration is deleted", gone),
    ];
    refusals.chain(configurations).chain(others.into_iter().flatten()).collect()
}

// One row per line.
#[rustfmt::skip]
fn refusals() -> Vec<(&'static str, &'static str, Value, Says, Refusal)> {
    let none = || json!({});
    let failing = "failed calling webhook \"v.conformance.example\"";
    vec![
        ("denied-400", "a denial without more: 400", none(), Says::Response(json!({"allowed": false})), (400, "", "admission webhook \"v.conformance.example\" denied the request without explanation")),
        ("denied-with-message-400", "a denial's message", none(), Says::Response(json!({"allowed": false, "status": {"message": "no way"}})), (400, "", "admission webhook \"v.conformance.example\" denied the request: no way")),
        ("denied-with-status", "a denial's code and reason", none(), Says::Response(json!({"allowed": false, "status": {"message": "no way", "code": 418, "reason": "Teapot"}})), (418, "Teapot", "denied the request: no way")),
        ("denied-with-success-400", "a denial with the code of a success: 400", none(), Says::Response(json!({"allowed": false, "status": {"code": 200, "message": "m"}})), (400, "", "denied the request: m")),
        ("fails-on-500", "a webhook that responds with 500: 500 InternalError", none(), Says::Raw(500, "oops"), (500, "InternalError", failing)),
        ("fails-on-404", "a webhook that responds with 404: 500 InternalError", none(), Says::Raw(404, "nothing"), (500, "InternalError", "the server could not find the requested resource")),
        ("fails-on-other-uid", "a response with another uid: 500 InternalError", none(), Says::Response(json!({"uid": "zz", "allowed": true})), (500, "InternalError", "expected response.uid=")),
        ("fails-without-response", "a review without response: 500 InternalError", none(), Says::Raw(200, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}"), (500, "InternalError", "webhook response was absent")),
        ("fails-on-text", "a response that is no JSON: 500 InternalError", none(), Says::Raw(200, "hello"), (500, "InternalError", "json parse error")),
        ("fails-late", "a response after timeoutSeconds: 500 InternalError", json!({"timeoutSeconds": 1}), Says::Late(4), (500, "InternalError", "context deadline exceeded")),
        ("fails-on-validating-patch", "a validating webhook that patches: 500 InternalError", none(), Says::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": "W10="})), (500, "InternalError", "validating webhook may not return response.patch")),
        ("fails-on-missing-service", "a service that does not exist: 500 InternalError", json!({"clientConfig": {"service": {"namespace": "default", "name": "conformance-nobody", "path": "/x"}}}), Says::Response(json!({"allowed": true})), (500, "InternalError", "service \"conformance-nobody\" not found")),
        ("fails-on-closed-port", "a port without a listener: 500 InternalError", json!({"clientConfig": {"url": "https://127.0.0.1:1/x"}}), Says::Response(json!({"allowed": true})), (500, "InternalError", failing)),
    ]
}

// One row per line.
#[rustfmt::skip]
fn configurations() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("side-effects-missing", "sideEffects is required", json!({"sideEffects": null}), "sideEffects", "must specify one of None, NoneOnDryRun"),
        ("side-effects-some", "sideEffects other than None and NoneOnDryRun", json!({"sideEffects": "Some"}), "sideEffects", "Unsupported value: \"Some\""),
        ("review-versions", "no version of reviews", json!({"admissionReviewVersions": []}), "admissionReviewVersions", "must specify one of v1, v1beta1"),
        ("plain-http", "a URL without TLS", json!({"clientConfig": {"url": "http://x/y"}}), "clientConfig.url", "'https' is the only allowed URL scheme"),
        ("no-client", "neither URL nor service", json!({"clientConfig": {}}), "clientConfig", "exactly one of url or service is required"),
        ("short-name", "a name of less than three parts", json!({"name": "x"}), "name", "should be a domain with at least three segments separated by dots"),
        ("long-timeout", "a timeout above 30 s", json!({"timeoutSeconds": 40}), "timeoutSeconds", "the timeout value must be between 1 and 30 seconds"),
        ("failure-policy", "a failurePolicy that is none", json!({"failurePolicy": "Nope"}), "failurePolicy", "supported values: \"Fail\", \"Ignore\""),
        ("operation", "an operation that is none", json!({"rules": [{"operations": ["X"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}]}), "rules[0].operations[0]", "\"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""),
        ("empty-rule", "a rule without resources", json!({"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": []}]}), "rules[0].resources", "Required value"),
    ]
}
