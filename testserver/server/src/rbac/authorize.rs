//! Authenticates and authorizes a request.

use std::sync::Arc;

use http::request::Parts;
use jiff::Timestamp;
use kube_serve::listener::PeerCertificates;

use super::{
    Access, AuthorizationAttributes, User, credentials::bearer_token, impersonation::ImpersonationRequest,
};
use crate::{
    route::{Query, RequestInfo},
    status_error::StatusError,
    storage::Storage,
};

/// The user of a request that is permitted. `identity` is the user of requests without credentials.
pub(crate) fn authorize(
    access: &Access,
    storage: &Storage,
    now: Timestamp,
    identity: &Arc<User>,
    parts: &Parts,
) -> Result<Arc<User>, StatusError> {
    let authenticated = authenticate(access, storage, now, identity, parts);
    if !access.enforces_rbac() {
        // Everybody is permitted everything, but webhooks and reviews see who it is.
        let impersonation = ImpersonationRequest::read(&parts.headers).map_err(StatusError::bad_request)?;
        let caller = || authenticated.unwrap_or_else(|| identity.clone());
        return Ok(impersonation.map_or_else(caller, |impersonation| Arc::new(impersonation.user)));
    }
    let user = authenticated.ok_or_else(StatusError::unauthorized)?;
    let user = impersonate(access, storage, user, parts)?;
    let attributes = attributes(parts);
    match access.authorizer(storage).allows(&user, &attributes) {
        Some(_) => Ok(user),
        None => Err(denied(&user, &attributes)),
    }
}

/// An unknown token is refused, and so is a certificate that names nobody; a request without credentials has the identity of the handle.
fn authenticate(
    access: &Access,
    storage: &Storage,
    now: Timestamp,
    identity: &Arc<User>,
    parts: &Parts,
) -> Option<Arc<User>> {
    let certificates = parts.extensions.get::<PeerCertificates>();
    let certificate = certificates.and_then(|chain| chain.leaf());
    if let Some(user) = certificate.and_then(|leaf| access.credentials.by_certificate(leaf)) {
        return Some(user);
    }
    match bearer_token(&parts.headers) {
        Some(token) => access.authenticate_token(storage, now, token, &[]).ok().map(|(user, _)| user),
        None => certificate.is_none().then(|| identity.clone()),
    }
}

fn impersonate(
    access: &Access,
    storage: &Storage,
    user: Arc<User>,
    parts: &Parts,
) -> Result<Arc<User>, StatusError> {
    let requested = ImpersonationRequest::read(&parts.headers).map_err(StatusError::bad_request)?;
    let Some(impersonation) = requested else { return Ok(user) };
    let authorizer = access.authorizer(storage);
    let lacking =
        impersonation.required.iter().find(|attributes| authorizer.allows(&user, attributes).is_none());
    match lacking {
        Some(attributes) => Err(denied(&user, attributes)),
        None => Ok(Arc::new(impersonation.user)),
    }
}

fn attributes(parts: &Parts) -> AuthorizationAttributes {
    let request = RequestInfo::of(parts);
    let Some(place) = request.resource else {
        return AuthorizationAttributes::NonResource { verb: request.verb, path: request.path };
    };
    let mut name = place.name.unwrap_or_default();
    if name.is_empty() {
        name = selected_name(parts).unwrap_or_default();
    }
    // Requests for a namespace are authorized in that namespace.
    let inside =
        if place.plural == "namespaces" && place.group.is_empty() { Some(name.clone()) } else { None };
    let resource = match place.subresource {
        Some(sub) => format!("{}/{sub}", place.plural),
        None => place.plural,
    };
    let namespace = place.namespace.or(inside).unwrap_or_default();
    AuthorizationAttributes::Resource { verb: request.verb, group: place.group, resource, namespace, name }
}

/// A field selector by name names the object, so that `resourceNames` of rules apply.
fn selected_name(parts: &Parts) -> Option<String> {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let name = query.get("fieldSelector")?.split(',').find_map(|part| part.strip_prefix("metadata.name="))?;
    Some(name.trim_start_matches('=').to_string())
}

/// A 403 with the message of the genuine server.
fn denied(user: &User, attributes: &AuthorizationAttributes) -> StatusError {
    match attributes {
        AuthorizationAttributes::NonResource { verb, path } => {
            StatusError::denied_path(&format!("User {:?} cannot {verb} path {path:?}", user.name))
        }
        AuthorizationAttributes::Resource { verb, group, resource, namespace, name } => {
            let place = match namespace.as_str() {
                "" => "at the cluster scope".to_string(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            let user_name = &user.name;
            let why = format!(
                "User {user_name:?} cannot {verb} resource {resource:?} in API group {group:?} {place}"
            );
            StatusError::denied(group, resource.split('/').next().unwrap_or_default(), name, &why)
        }
    }
}
