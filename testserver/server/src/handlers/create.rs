//! POST: creates an object; updates and apply patches that create use it too.

use http::StatusCode;
use serde_json::Value;

use super::{body, write};
use crate::{
    admission::{self, Attributes, Operation},
    apply::Ownership,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::meta,
    rbac::AuthorizationAttributes,
    route::WriteOptions,
    status_error::StatusError,
    storage::Key,
    strategy,
    webhook::Interruption,
};

pub(super) fn create(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let endpoint = &call.endpoint;
    if call.name.is_some() && !endpoint.resource.custom
        || endpoint.resource.namespaced && call.namespace.is_none()
    {
        return Err(StatusError::method_not_allowed().into());
    }
    let mut options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut object = body::object(call)?;
    body::strictness(call, &mut options);
    write::set_namespace(call, &mut object)?;
    insert(cluster, call, &options, object, Ownership::FromDiff)
}

/// Creates an object by an update or an apply patch, which needs the verb `create` too.
pub(super) fn insert_by_name(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    object: Value,
    ownership: Ownership,
) -> Result<ApiResponse, Interruption> {
    if cluster.enforces_rbac() {
        let attributes = AuthorizationAttributes::Resource {
            verb: "create".to_owned(),
            group: call.endpoint.group().to_owned(),
            resource: call.endpoint.plural().to_owned(),
            namespace: call.namespace.clone().unwrap_or_default(),
            name: call.object_name().to_owned(),
        };
        if cluster.rbac_authorizer().allows(&call.user, &attributes).is_none() {
            let (group, plural) = (call.endpoint.group(), call.endpoint.plural());
            // Genuine servers give no reason either.
            return Err(StatusError::forbidden(group, plural, call.object_name(), "").into());
        }
    }
    insert(cluster, call, options, object, ownership)
}

/// Creates `object`, whose type has been checked.
pub(super) fn insert(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    object: Value,
    ownership: Ownership,
) -> Result<ApiResponse, Interruption> {
    let mut warnings = Vec::new();
    let inserted = insert_warning(cluster, call, options, object, ownership, &mut warnings);
    write::with_warnings(inserted, warnings)
}

fn insert_warning(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    mut object: Value,
    ownership: Ownership,
    warnings: &mut Vec<String>,
) -> Result<ApiResponse, Interruption> {
    let endpoint = &call.endpoint;
    if endpoint.resource.terminating {
        let why = "create not allowed while custom resource definition is terminating";
        let name = meta::name(&object);
        return Err(StatusError::forbidden(endpoint.group(), endpoint.plural(), name, why).into());
    }
    check_namespace(cluster, call, &object)?;
    // As on genuine servers, the storage refuses it: after validation, and not for a dry run.
    let versioned = !options.dry_run && has_version(&object);
    warnings.extend(write::normalize(endpoint, options, &ownership, &mut object)?);
    let creation =
        Attributes { operation: Operation::Create, call, object: None, old: None, dry_run: options.dry_run };
    write::mutate(cluster, creation, &ownership, &mut object, warnings)?;
    call.name_new(&cluster.ids, &mut object);
    let requested = write::requested_service_spec(endpoint, &object);
    strategy::prepare_create(endpoint, &mut object, call.new_uid(&cluster.ids), &cluster.now());
    write::allocate_addresses(cluster, call, requested.as_ref(), &mut object)?;
    endpoint.encode(&mut object);
    warnings.extend(write::finish(cluster, call, None, &mut object, ownership)?);
    admission::validate(
        cluster.admission_context(),
        &Attributes { object: Some(&object), ..creation },
        warnings,
    )?;
    if versioned {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message).into());
    }
    let key = Key::new(call.namespace.as_deref(), meta::name(&object));
    if let Some(taken) = cluster.store().get(endpoint.resource.table, &key) {
        let failure = StatusError::already_exists(endpoint.group(), endpoint.plural(), meta::name(&object));
        return Err(if taken.deleting { failure.while_deleting().into() } else { failure.into() });
    }
    let object = call.to_storage(cluster.storage(), object)?;
    let stored = write::commit(cluster, endpoint, key, object, options.dry_run)?;
    Ok(ApiResponse { code: StatusCode::CREATED, content: Content::Object(stored), warnings: Vec::new() })
}

/// Whether a new object has the version of a stored one. What is not a number is no version.
fn has_version(object: &Value) -> bool {
    let version = meta::text(object, "resourceVersion");
    version.is_some_and(|version| version.parse::<u64>().is_ok_and(|version| version > 0))
}

/// Refuses to create objects in a missing or terminating namespace.
fn check_namespace(cluster: &ClusterState, call: &Call, object: &Value) -> Result<(), StatusError> {
    let Some(namespace) = call.namespace.as_deref() else { return Ok(()) };
    let found = cluster.storage().object("", "namespaces", &Key::new(None, namespace));
    let Some(found) = found else { return Err(StatusError::not_found("", "namespaces", namespace)) };
    if !found.deleting {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let names = [Some(meta::name(object)), meta::text(object, "generateName")];
    let name = names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or("Unknown");
    let mut failure = StatusError::forbidden(call.endpoint.group(), call.endpoint.plural(), name, &why);
    if let Some(details) = &mut failure.details {
        details.causes.push(crate::status_error::Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        });
    }
    Err(failure)
}
