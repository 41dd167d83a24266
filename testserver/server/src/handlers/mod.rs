//! One handler per verb and subresource: functions from [`ClusterState`] and a [`Call`] to an [`ApiResponse`], without I/O and with the
//! cluster's clock.
//!
//! [`perform`] chooses one. In the order in which data passes:
//!
//! - `read`: one object, or a list.
//! - `create`, `update`, `patch`, `apply`: the object that a client means, which [`write`](crate::write) takes on from there.
//! - `delete`: one object, or a collection.
//! - `scale`, `binding`, `eviction`, `token`: subresources with requests of their own.
//! - `reviews`: kinds that are answered and not stored.

mod apply;
mod binding;
mod create;
mod delete;
mod eviction;
mod patch;
mod read;
mod reviews;
mod scale;
mod token;
mod update;

use crate::{
    call::{ApiResponse, Call},
    cluster::ClusterState,
    status_error::StatusError,
    webhook::Interruption,
};

/// Runs the handler of a call.
pub(crate) fn perform(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, Interruption> {
    let endpoint = &call.endpoint;
    let verb = call.verb();
    // Custom resources have their own handler on genuine servers, which reports a missing name.
    if endpoint.resource.custom && call.name.is_none() && matches!(call.method.as_str(), "PUT" | "PATCH") {
        return Err(StatusError::bad_request("name must be provided").into());
    }
    if let Some(name) = call.subresource.as_deref() {
        let sub = endpoint.subresource(name).ok_or_else(StatusError::no_such_path)?;
        if !sub.verbs.iter().any(|v| v == verb) {
            return Err(StatusError::method_not_allowed().into());
        }
    } else if !endpoint.allows(verb) {
        return Err(StatusError::method_not_allowed().into());
    }
    let part = call.subresource.as_deref();
    let as_object =
        matches!(part, None | Some("status" | "finalize" | "approval" | "ephemeralcontainers" | "resize"));
    match (verb, part) {
        ("get" | "update" | "patch", Some("scale")) => scale::perform(cluster, call),
        ("get", _) if as_object => Ok(read::get(cluster, call)?),
        ("list", None) => read::list(cluster, call),
        ("create", None) if endpoint.is_core("bindings") => binding::bind_named(cluster, call),
        ("create", None) if reviews::is_review(endpoint) => Ok(reviews::create(cluster, call)?),
        ("create", None) => create::create(cluster, call),
        ("create", Some("binding")) if endpoint.is_core("pods") => binding::bind(cluster, call),
        ("create", Some("eviction")) if endpoint.is_core("pods") => eviction::evict(cluster, call),
        ("create", Some("token")) if endpoint.is_core("serviceaccounts") => token::request(cluster, call),
        ("update", _) if as_object => update::replace(cluster, call),
        ("patch", _) if as_object => patch::patch(cluster, call),
        ("delete", None) => delete::delete(cluster, call),
        ("deletecollection", None) => delete::delete_all(cluster, call),
        _ => Err(StatusError::method_not_allowed().into()),
    }
}
