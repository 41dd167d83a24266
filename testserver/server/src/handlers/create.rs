//! POST: creates an object; updates and apply patches that create use it too.

use http::StatusCode;
use serde_json::Value;

use crate::{
    apply::Ownership,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    rbac::AuthorizationAttributes,
    route::WriteOptions,
    status_error::StatusError,
    webhook::Interruption,
    write::{ObjectWrite, decode, strict},
};

pub(super) fn create(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let endpoint = &call.endpoint;
    if call.name.is_some() && !endpoint.resource.custom
        || endpoint.resource.namespaced && call.namespace.is_none()
    {
        return Err(StatusError::method_not_allowed().into());
    }
    let mut options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut object = decode::object(call)?;
    strict::read_body(call, &mut options);
    decode::set_namespace(call, &mut object)?;
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
fn insert(
    cluster: &mut ClusterState,
    call: &Call,
    options: &WriteOptions,
    object: Value,
    ownership: Ownership,
) -> Result<ApiResponse, Interruption> {
    let (stored, warnings) = cluster.write(ObjectWrite::by_client(call, options, ownership, None, object))?;
    Ok(ApiResponse { code: StatusCode::CREATED, content: Content::Object(stored), warnings })
}
