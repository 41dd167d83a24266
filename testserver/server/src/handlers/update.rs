//! PUT: replaces an object, or the part that a subresource writes.

use serde_json::Value;

use super::create;
use crate::{
    apply::Ownership,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::meta,
    route::WriteOptions,
    strategy,
    webhook::Interruption,
    write::{ObjectWrite, Replaced, check_versioned, decode, strict, wrong_uid},
};

/// PUT: replaces an object, or the part that a subresource writes.
pub(super) fn replace(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let mut options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let mut object = decode::object(call)?;
    strict::read_body(call, &mut options);
    decode::set_identity(call, &mut object)?;
    let exists = cluster.store().get(call.endpoint.resource.table, &call.key()).is_some();
    if !exists && call.subresource.is_none() && strategy::created_by_put(&call.endpoint) {
        return put_new(cluster, call, &options, object);
    }
    if exists && let Err(refusal) = check_versioned(call, &object) {
        // The object is decoded first.
        let mut write = ObjectWrite::by_client(call, &options, Ownership::FromDiff, None, object);
        write.decode()?;
        return Err(refusal.warning(&write.warnings).into());
    }
    change(cluster, call, &options, object, Ownership::FromDiff)
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
    let stored = cluster.store().get(call.endpoint.resource.table, &call.key());
    let stored = stored.ok_or_else(|| call.not_found())?.clone();
    let old = call.read(cluster.storage(), &stored)?;
    let replaced = Some(Replaced { stored: &stored, object: &old });
    let (stored, warnings) =
        cluster.write(ObjectWrite::by_client(call, options, ownership, replaced, new))?;
    Ok(ApiResponse { warnings, ..ApiResponse::ok(Content::Object(stored)) })
}
