//! PUT: replaces an object, or the part that a subresource writes.

use http::Method;
use serde_json::Value;

use super::{body, create, write};
use crate::{
    admission::{self, Attributes, Operation},
    apply::Ownership,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::meta,
    route::WriteOptions,
    schema::FieldError,
    status_error::StatusError,
    storage::Stored,
    strategy,
    webhook::Interruption,
};

/// PUT: replaces an object, or the part that a subresource writes.
pub(super) fn replace(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let mut options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let mut object = body::object(call)?;
    body::strictness(call, &mut options);
    write::set_identity(call, &mut object)?;
    let exists = cluster.store().get(call.endpoint.resource.table, &call.key()).is_some();
    if !exists && call.subresource.is_none() && strategy::created_by_put(&call.endpoint) {
        return put_new(cluster, call, &options, object);
    }
    if exists && let Err(refusal) = check_versioned(call, &object) {
        // The object is decoded first.
        let ownership = Ownership::FromDiff;
        let warnings = write::normalize(&call.endpoint, &options, &ownership, &mut object)?;
        return write::with_warnings(Err(refusal.into()), warnings);
    }
    change(cluster, call, &options, object, Ownership::FromDiff)
}

/// Refuses a write without a resourceVersion, if the kind needs one. `0` is none.
pub(super) fn check_versioned(call: &Call, object: &Value) -> Result<(), StatusError> {
    let given = meta::text(object, "resourceVersion").is_some_and(|version| version != "0");
    if given || !strategy::needs_version(&call.endpoint) {
        return Ok(());
    }
    let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
    let (group, plural) = (call.endpoint.group(), call.endpoint.plural());
    Err(StatusError::invalid(group, plural, call.object_name(), &[error]))
}

/// A PUT that creates. A uid is a failed precondition; a resourceVersion is ignored.
fn put_new(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    mut object: Value,
) -> Result<ApiResponse, Interruption> {
    if let Some(uid) = meta::text(&object, "uid") {
        return Err(wrong_uid(call, uid, "").into());
    }
    meta::set(&mut object, "resourceVersion", Value::Null);
    create::insert_by_name(cluster, call, options, object, Ownership::FromDiff)
}

/// Stores `new` as the next version of an existing object.
pub(super) fn change(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    new: Value,
    ownership: Ownership,
) -> Result<ApiResponse, Interruption> {
    let mut warnings = Vec::new();
    let changed = change_warning(cluster, call, options, new, ownership, &mut warnings);
    write::with_warnings(changed, warnings)
}

fn change_warning(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    mut new: Value,
    ownership: Ownership,
    warnings: &mut Vec<String>,
) -> Result<ApiResponse, Interruption> {
    let endpoint = &call.endpoint;
    let key = call.key();
    let stored = cluster.store().get(endpoint.resource.table, &key).ok_or_else(|| call.not_found())?.clone();
    let old = call.read(cluster.storage(), &stored)?;
    let sent = (check_preconditions(call, &stored, &new), check_immutable(call, &old, &new));
    // The object is decoded before it is compared with the stored one.
    warnings.extend(write::normalize(endpoint, options, &ownership, &mut new)?);
    sent.0.and(sent.1)?;
    let update = Attributes {
        operation: Operation::Update,
        call,
        object: None,
        old: Some(&old),
        dry_run: options.dry_run,
    };
    // For `scale`, webhooks review the Scale instead.
    let reviewed = call.subresource.as_deref() != Some("scale");
    if reviewed {
        write::mutate(cluster, update, &ownership, &mut new, warnings)?;
    }
    let requested = write::requested_service_spec(endpoint, &new);
    strategy::prepare_update(endpoint, call.part(), &old, &mut new);
    let errors = strategy::validate_part(call.part(), &old, &new);
    if !errors.is_empty() {
        return Err(
            StatusError::invalid(endpoint.group(), endpoint.kind(), call.object_name(), &errors).into()
        );
    }
    write::allocate_addresses(cluster, call, requested.as_ref(), &mut new)?;
    endpoint.encode(&mut new);
    warnings.extend(write::finish(cluster, call, Some(&old), &mut new, ownership)?);
    if reviewed {
        admission::validate(
            cluster.admission_context(),
            &Attributes { object: Some(&new), ..update },
            warnings,
        )?;
    }
    if unchanged(&old, &new) && is_stored_as_read(call, &stored) {
        return Ok(ApiResponse::ok(Content::Object(stored)));
    }
    let new = call.to_storage(cluster.storage(), new)?;
    let written = write::commit(cluster, endpoint, key, new, options.dry_run)?;
    Ok(ApiResponse::ok(Content::Object(written)))
}

/// Checks the preconditions in the object: resourceVersion and uid.
fn check_preconditions(call: &Call, stored: &Stored, new: &Value) -> Result<(), StatusError> {
    let uid = meta::text(new, "uid").filter(|uid| *uid != &*stored.uid);
    if let Some(uid) = uid.filter(|_| call.method == Method::PUT) {
        return Err(wrong_uid(call, uid, &stored.uid));
    }
    match meta::text(new, "resourceVersion") {
        None | Some("0") => Ok(()),
        Some(version) if version.parse::<u64>().is_err() => {
            let why = format!(
                "invalid resource version {version:?}: strconv.ParseUint: parsing {version:?}: invalid syntax"
            );
            let error = FieldError::invalid("metadata.resourceVersion", format!("{version:?}"), &why);
            Err(StatusError::invalid(
                call.endpoint.group(),
                call.endpoint.kind(),
                call.object_name(),
                &[error],
            ))
        }
        Some(version) if version == stored.revision.to_string() => Ok(()),
        Some(_) => Err(call.stale()),
    }
}

fn wrong_uid(call: &Call, requested: &str, found: &str) -> StatusError {
    let why = format!("Precondition failed: UID in precondition: {requested}, UID in object meta: {found}");
    StatusError::conflict(call.endpoint.group(), call.endpoint.plural(), call.object_name(), &why)
}

/// Refuses changes of immutable metadata. Subresource writes ignore them, and every write ignores the time of a deletion in progress.
fn check_immutable(call: &Call, old: &Value, new: &Value) -> Result<(), StatusError> {
    if call.subresource.is_some() {
        return Ok(());
    }
    let mut errors = Vec::new();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (provided, current) = (&new["metadata"][field], &old["metadata"][field]);
        let restored = field == "deletionTimestamp" && meta::is_deleting(old);
        if !provided.is_null() && *provided != "" && provided != current && !restored {
            let field = format!("metadata.{field}");
            errors.push(FieldError::invalid(field, provided, "field is immutable"));
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(StatusError::invalid(call.endpoint.group(), call.endpoint.kind(), call.object_name(), &errors))
}

/// Whether a write without changes would store what is stored already. Otherwise it is a write, as on genuine servers, which compare the bytes in etcd: of an
/// object in a version that is no longer the storage version, or whose schema has dropped fields or added defaults since.
fn is_stored_as_read(call: &Call, stored: &Stored) -> bool {
    let resource = &call.endpoint.resource;
    !resource.custom || (stored.is_version(&resource.storage().api_version()) && !stored.has_view())
}

/// A write that only changes times in managed fields changes nothing.
fn unchanged(old: &Value, new: &Value) -> bool {
    fn without_times(object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(entries) = object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.remove("time");
            }
        }
        object
    }
    old == new || without_times(old) == without_times(new)
}
