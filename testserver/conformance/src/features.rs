//! The features that the suite covers, and the cases of each.

use std::fmt::Write;

use crate::section::Section;

const SECTION: Section = Section {
    begin: "<!-- conformance features: written by the suite, see CONTRIBUTING.md -->\n",
    end: "<!-- end of the conformance features -->",
};

/// A feature and the id prefixes of its cases.
type Feature = (&'static str, &'static [&'static str]);

// One row per feature.
#[rustfmt::skip]
const FEATURES: &[Feature] = &[
    ("verbs, status codes, Status bodies", &["verbs/"]),
    ("create with name, generateName", &["create/name-", "create/generate-name", "create/no-name", "create/answers-201", "create/existing-409"]),
    ("create with missing or wrong kind, apiVersion", &["create/kind-", "create/api-version-"]),
    ("create in a namespace that mismatches", &["create/namespace-"]),
    ("strict and warn field validation", &["dryrun/strict-", "dryrun/warn-", "dryrun/ignore-", "dryrun/field-validation-", "create/unknown-field-ignored"]),
    ("get; order of lists", &["read/get-", "read/list-sorted-by-name", "read/list-shape"]),
    ("limit, continue, remainingItemCount", &["read/limit-", "read/pages-", "read/remaining-item-count"]),
    ("expired continue", &["read/continue-"]),
    ("resourceVersion, resourceVersionMatch", &["read/list-exact", "read/exact-", "read/list-not-older-than", "read/list-resource-version-0", "read/list-future-version-504", "read/match-", "read/list-invalid-version-400"]),
    ("update with and without resourceVersion, 409", &["update/stale-409", "update/without-resource-version-422", "update/unconditional-", "update/race-one-wins", "update/resource-version-garbage"]),
    ("an update without change; generation", &["update/no-op-", "update/generation-"]),
    ("JSON patch", &["patch/json-"]),
    ("merge patch", &["patch/merge-"]),
    ("strategic merge patch: merge keys, `$patch`, retain keys", &["strategic/"]),
    ("strategic merge patch of custom resources: 415", &["patch/strategic-refused-415"]),
    ("apply: ownership, conflicts with causes, force", &["apply/conflict-", "apply/force-", "apply/update-does-not-conflict", "apply/unowned-fields-stay"]),
    ("apply: shared ownership, fields given up", &["apply/same-value-is-shared", "apply/given-up-", "apply/label-given-up"]),
    ("apply: lists with defaults, atomic, sets, maps", &["applylists/"]),
    ("apply on status; apply creates", &["subresource/status-apply", "apply/creates"]),
    ("managedFields: times, order, upgrade from updates, reset", &["apply/managed-fields-order", "update/managed-fields-time-moves", "applylists/client-to-server-side", "update/empty-managed-fields-resets"]),
    ("delete: preconditions, propagation, finalizers, collections", &["delete/"]),
    ("delete: grace", &["delete/grace-"]),
    ("watch: from a list, from 0, from too old, timeoutSeconds", &["watch/from-", "watch/too-old-410", "watch/timeout-seconds-ends"]),
    ("bookmarks, sendInitialEvents and what it excludes", &["watchlist/"]),
    ("watch: objects that move in and out of a selector", &["watch/label-"]),
    ("watch of metadata only", &["representation/partial-watch"]),
    ("selectors of labels", &["selectors/label-"]),
    ("selectors of fields, selectableFields included", &["selectors/field-", "fields/"]),
    ("PartialObjectMetadata(List) and Table", &["representation/"]),
    ("qualities in Accept; gzip", &["encoding/"]),
    ("names of finalizers", &["finalizers/"]),
    ("status and scale", &["subresource/", "scale/"]),
    ("eviction", &["pods/eviction"]),
    ("binding", &["pods/binding", "subresource/pod-binding"]),
    ("pods/log", &["pods/log-"]),
    ("exec", &["pods/exec-"]),
    ("attach", &["pods/attach-"]),
    ("portforward", &["pods/portforward-"]),
    ("serviceaccounts/token", &["pods/token"]),
    ("dry run", &["dryrun/"]),
    ("CRDs: names, established, versions, schema changes, deletion", &["crd/"]),
    ("CRDs: validation with error paths, pruning, defaulting, nullable, int-or-string", &["schema/"]),
    ("CRDs: CEL, transition rules, messages, costs", &["cel/", "cost/"]),
    ("CRDs: definitions that are refused, and why", &["definitions/"]),
    ("CRDs: types, constants and costs of rules", &["rules/"]),
    ("CRDs: formats, numbers, embedded objects and other values", &["values/"]),
    ("CRDs: old objects that a later schema would refuse", &["ratchet/"]),
    ("CRDs: conversion by webhook and without", &["conversion/", "crd/two-versions-served", "crd/storage-version-in-apiversion"]),
    ("CRDs: stored versions, deprecated versions", &["versions/"]),
    ("namespaces: missing, terminating, cascading deletion", &["namespaces/"]),
    ("garbage collection", &["gc/"]),
    ("built-in kinds: defaults and rules", &["defaults/"]),
    ("built-in kinds: fields that the embedded server does not check", &["unchecked/"]),
    ("immutable fields", &["immutable/"]),
    ("writes without name, kind or version", &["identity/"]),
    ("Events under both their names", &["events/"]),
    ("autoscalers in both their versions", &["autoscalers/"]),
    ("admission webhooks: patches, reinvocation, policies, timeout, conditions, selectors, dry run, warnings", &["admission/"]),
    ("webhooks called for subresources: CONNECT, eviction, binding, token, scale", &["admission/connect-review", "admission/eviction-review", "admission/binding-review", "admission/token-review", "admission/scale-review"]),
    ("admission plugins: priorities, default storage class", &["priority/", "storageclass/"]),
    ("admission plugins: LimitRanges", &["limitrange/"]),
    ("admission plugins: ResourceQuotas and their status", &["quota/"]),
    ("admission policies, validating and mutating (expectations from the documentation)", &["policies/"]),
    ("discovery, aggregated and legacy", &["discovery/aggregated", "discovery/group", "discovery/resource-", "discovery/core-", "discovery/apps-group", "discovery/api-versions", "discovery/kinds-of-everyday"]),
    ("OpenAPI", &["discovery/openapi-"]),
    ("/version, /healthz, /livez, /readyz", &["discovery/version", "discovery/livez", "discovery/readyz-verbose"]),
    ("authentication: certificate, bearer, 401", &["auth/client-certificate", "auth/token", "auth/bad-token-401", "rbac/token-review", "rbac/service-account"]),
    ("RBAC: allow, deny, aggregated roles, escalation", &["auth/", "rbac/"]),
    ("access reviews", &["auth/self-subject-access-review", "auth/subject-access-review-denied", "rbac/review-", "rbac/local-review", "rbac/rules-review"]),
    ("impersonation", &["auth/impersonate-", "rbac/impersonate-"]),
];

/// `markdown` with the current list of features.
///
/// # Errors
/// When the file has no such list, or a feature has no case.
pub fn with_features(markdown: &str) -> Result<String, String> {
    SECTION.change(markdown, |_| list())
}

/// The features with the number and ids of their cases.
///
/// When a prefix of a feature has no case.
pub fn list() -> Result<String, String> {
    let ids: Vec<String> = crate::area::cases().into_iter().map(|case| case.id).collect();
    let mut out = String::from("| what | cases | by their ids |\n|---|---:|---|\n");
    for (what, prefixes) in FEATURES {
        if let Some(empty) = prefixes.iter().find(|prefix| !ids.iter().any(|id| id.starts_with(**prefix))) {
            return Err(format!("{what}: no case {empty}..."));
        }
        let count = ids.iter().filter(|id| prefixes.iter().any(|prefix| id.starts_with(prefix))).count();
        let patterns: Vec<String> = prefixes.iter().map(|prefix| id_pattern(prefix, &ids)).collect();
        writeln!(out, "| {what} | {count} | {} |", patterns.join(" "))
            .expect("invariant: writing to a string does not fail");
    }
    Ok(out)
}

/// A whole id, or a prefix followed by dots.
fn id_pattern(prefix: &str, ids: &[String]) -> String {
    let whole = ids.iter().any(|id| id.split('@').next() == Some(prefix));
    if whole { format!("`{prefix}`") } else { format!("`{prefix}…`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_is_listed_once() {
        let mut ids: Vec<String> = crate::area::cases().into_iter().map(|case| case.id).collect();
        ids.sort();
        let repeated: Vec<_> =
            ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert!(repeated.is_empty(), "{repeated:?}");
    }

    #[test]
    fn every_feature_has_cases_and_every_case_a_feature() {
        list().expect("every feature has cases");
        let known = |id: &str| {
            FEATURES.iter().any(|(_, prefixes)| prefixes.iter().any(|prefix| id.starts_with(prefix)))
        };
        let unlisted: Vec<String> =
            crate::area::cases().into_iter().map(|case| case.id).filter(|id| !known(id)).collect();
        // Cases without a feature are permitted if their area has one.
        let areas: Vec<&str> =
            FEATURES.iter().flat_map(|(_, prefixes)| *prefixes).filter_map(|p| p.split('/').next()).collect();
        let unknown_areas: Vec<&String> =
            unlisted.iter().filter(|id| !areas.contains(&id.split('/').next().unwrap_or_default())).collect();
        assert!(unknown_areas.is_empty(), "{unknown_areas:?}");
    }
}
