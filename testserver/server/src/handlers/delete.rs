//! DELETE of an object or a collection.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::read;
use crate::{
    admission::{self, Attributes, Operation},
    call::{ApiResponse, Call, Content},
    cluster::{ClusterState, Deletion, has_propagation},
    route::{DeleteOptions, ListOptions, Propagation, Query},
    schema::FieldError,
    scheme::Endpoint,
    status_error::{Details, StatusError},
    storage::Stored,
    strategy::{self, SYSTEM_CLASSES},
    watch,
    webhook::Interruption,
    write::body,
};

/// The options in the body or, without a body, in the query.
fn options(call: &Call) -> Result<DeleteOptions, StatusError> {
    match body::options(call)? {
        Value::Null => DeleteOptions::parse(&call.query, &Value::Null),
        body => DeleteOptions::parse(&Query::default(), &body),
    }
}

pub(super) fn delete(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let options = options(call)?;
    let endpoint = &call.endpoint;
    let stored =
        cluster.store().get(endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?.clone();
    // What cannot be read is not deleted.
    call.read(cluster.storage(), &stored)?;
    check_preconditions(call, &options, &stored)?;
    protect(call)?;
    let warnings = review(cluster, call, &stored, options.dry_run)?;
    let response = |content| ApiResponse { warnings, ..ApiResponse::ok(content) };
    if options.dry_run {
        return Ok(response(success(endpoint, &stored)));
    }
    let policy = propagation(endpoint, &options, &stored);
    let deletion = cluster.delete_gracefully(&endpoint.resource, &call.key(), policy, options.grace)?;
    cluster.run_tasks();
    match deletion.ok_or_else(|| call.not_found())? {
        Deletion::Marked(stored) if options.cascades => {
            Ok(ApiResponse { code: StatusCode::ACCEPTED, ..response(Content::Object(stored)) })
        }
        Deletion::Marked(stored) => Ok(response(Content::Object(stored))),
        Deletion::Removed(last) if answers_with_object(endpoint) => Ok(response(Content::Object(last))),
        Deletion::Removed(last) => Ok(response(success(endpoint, &last))),
    }
}

/// DELETE on a collection: deletes what the selectors match and responds with the deleted objects.
pub(super) fn delete_all(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    if !call.endpoint.resource.custom && call.endpoint.resource.namespaced && call.namespace.is_none() {
        return Err(StatusError::method_not_allowed().into());
    }
    let options = options(call)?;
    if options.ignores_unreadable {
        let field = "ignoreStoreReadErrorWithClusterBreakingPotential";
        let why = "is not allowed with DELETECOLLECTION, try again after removing the option";
        let error = FieldError::invalid(field, true, why);
        return Err(StatusError::invalid_option("DeleteOptions", &[error]).into());
    }
    let filter = watch::filter(&call.endpoint, call.namespace.clone(), &ListOptions::parse(&call.query)?)?;
    let resource = &call.endpoint.resource;
    let selected: Vec<Arc<Stored>> = cluster
        .store()
        .objects(resource.table, call.namespace.as_deref())
        .filter(|stored| filter.matches(stored))
        .cloned()
        .collect();
    let mut warnings = Vec::new();
    let all: Vec<_> = match resource.conversion {
        // Each object is read before it is selected.
        Some(_) => cluster.store().objects(resource.table, call.namespace.as_deref()).cloned().collect(),
        None => Vec::new(),
    };
    call.read_all(cluster.storage(), &all)?;
    for object in &selected {
        warnings.extend(review(cluster, call, object, options.dry_run)?);
    }
    if !options.dry_run {
        for object in &selected {
            // Deleting another object may already have removed this one.
            let policy = propagation(&call.endpoint, &options, object);
            cluster.delete_gracefully(resource, &object.key, policy, options.grace)?;
        }
        cluster.run_tasks();
    }
    let revision = cluster.store().revision();
    let list = Content::List { objects: selected, revision, more: read::no_more(call) };
    Ok(ApiResponse { warnings, ..ApiResponse::ok(list) })
}

/// The propagation policy of a deletion: of the request, else of the finalizers on the object, else of its kind.
fn propagation(endpoint: &Endpoint, options: &DeleteOptions, stored: &Stored) -> Option<Propagation> {
    let of_kind = || {
        let orphans = strategy::orphans_dependents(endpoint) && !has_propagation(&stored.value());
        orphans.then_some(Propagation::Orphan)
    };
    options.propagation.or_else(of_kind)
}

/// Calls mutating and validating webhooks for a deletion. Returns their warnings.
pub(super) fn review(
    cluster: &ClusterState,
    call: &Call,
    stored: &Stored,
    dry_run: bool,
) -> Result<Vec<String>, Interruption> {
    let mut warnings = Vec::new();
    if !cluster.admission.reviews_every_request() {
        return Ok(warnings);
    }
    let old = call.read(cluster.storage(), stored)?;
    let deletion = Attributes { operation: Operation::Delete, call, object: None, old: Some(&old), dry_run };
    admission::mutate(cluster.admission_context(), deletion, None, &mut warnings)?;
    admission::validate(cluster.admission_context(), &deletion, &mut warnings)?;
    Ok(warnings)
}

pub(super) fn check_preconditions(
    call: &Call,
    options: &DeleteOptions,
    stored: &Stored,
) -> Result<(), StatusError> {
    let conflict = |what: &str, requested: &str, stored: &str| {
        let why = format!(
            "the {what} in the precondition ({requested}) does not match the {what} in record ({stored}). \
             The object might have been {}",
            if what == "UID" { "deleted and then recreated" } else { "modified" }
        );
        StatusError::conflict(call.endpoint.group(), call.endpoint.kind(), call.object_name(), &why)
    };
    if let Some(uid) = options.uid.as_deref().filter(|uid| **uid != *stored.uid) {
        return Err(conflict("UID", uid, &stored.uid));
    }
    let revision = stored.revision.to_string();
    match options.resource_version.as_deref() {
        Some(version) if version != revision => Err(conflict("ResourceVersion", version, &revision)),
        _ => Ok(()),
    }
}

/// Refuses to delete the namespaces and priority classes of the system.
fn protect(call: &Call) -> Result<(), StatusError> {
    let (endpoint, name) = (&call.endpoint, call.object_name());
    if endpoint.resource.is("scheduling.k8s.io", "priorityclasses")
        && SYSTEM_CLASSES.iter().any(|(system, ..)| *system == name)
    {
        let why = "this is a system priority class and cannot be deleted";
        return Err(StatusError::forbidden(endpoint.group(), endpoint.plural(), name, why));
    }
    if call.endpoint.is_core("namespaces")
        && matches!(call.object_name(), "default" | "kube-system" | "kube-public")
    {
        return Err(StatusError::forbidden(
            "",
            "namespaces",
            call.object_name(),
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

/// Kinds whose deletion responds with the object instead of a `Status`.
fn answers_with_object(endpoint: &Endpoint) -> bool {
    let plural = endpoint.plural();
    endpoint.group().is_empty()
        && matches!(
            plural,
            "pods"
                | "podtemplates"
                | "services"
                | "serviceaccounts"
                | "persistentvolumeclaims"
                | "persistentvolumes"
                | "resourcequotas"
        )
}

fn success(endpoint: &Endpoint, stored: &Stored) -> Content {
    let details = Details {
        name: stored.key.name().into(),
        group: endpoint.group().into(),
        kind: endpoint.plural().into(),
        uid: stored.uid.to_string(),
        ..Details::default()
    };
    Content::Document(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details.to_value(),
    }))
}
