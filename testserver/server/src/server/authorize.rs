use std::sync::Arc;

use http::{Response, StatusCode, request::Parts};
use kube_serve::listener::PeerCertificates;

use super::{ApiServer, impersonation::ImpersonationRequest, respond};
use crate::{
    auth::{AuthorizationAttributes, User, bearer_token},
    body::Body,
    cluster::ClusterState,
    route::{Query, RequestInfo},
    status_error::StatusError,
};

/// Authenticates and authorizes a request. The error is the response to a request that is refused.
pub(super) fn authorize(server: &ApiServer, parts: &Parts) -> Result<Arc<User>, Box<Response<Body>>> {
    let cluster = server.cluster().lock();
    if !cluster.enforces_rbac() {
        // Everybody is permitted everything, but webhooks and reviews see who it is.
        let impersonation =
            ImpersonationRequest::read(&parts.headers).map_err(|why| unreadable(parts, &why))?;
        let known = || authenticate(server, &cluster, parts).unwrap_or_else(|| server.identity());
        return Ok(impersonation.map_or_else(known, |impersonation| Arc::new(impersonation.user)));
    }
    let refuse = |failure: &StatusError| Box::new(respond::status_error(failure));
    let user = authenticate(server, &cluster, parts).ok_or_else(|| refuse(&StatusError::unauthorized()))?;
    let user = impersonate(&cluster, user, parts)?;
    let attributes = attributes(parts);
    match cluster.rbac_authorizer().allows(&user, &attributes) {
        Some(_) => Ok(user),
        None => Err(refuse(&denied(&user, &attributes))),
    }
}

/// An unknown token is refused; a request without credentials has the identity of the handle.
fn authenticate(server: &ApiServer, cluster: &ClusterState, parts: &Parts) -> Option<Arc<User>> {
    let certificates = parts.extensions.get::<PeerCertificates>();
    let certificate = certificates.and_then(|chain| chain.leaf());
    if let Some(user) = certificate.and_then(|leaf| cluster.access.credentials.by_certificate(leaf)) {
        return Some(user);
    }
    match bearer_token(&parts.headers) {
        Some(token) => cluster.authenticate_token(token, &[]).ok().map(|(user, _)| user),
        None => Some(server.identity()),
    }
}

fn impersonate(
    cluster: &ClusterState,
    user: Arc<User>,
    parts: &Parts,
) -> Result<Arc<User>, Box<Response<Body>>> {
    let requested = ImpersonationRequest::read(&parts.headers).map_err(|why| unreadable(parts, &why))?;
    let Some(impersonation) = requested else { return Ok(user) };
    let bindings = cluster.rbac_authorizer();
    let lacking =
        impersonation.required.iter().find(|attributes| bindings.allows(&user, attributes).is_none());
    match lacking {
        Some(attributes) => Err(Box::new(respond::status_error(&denied(&user, attributes)))),
        None => Ok(Arc::new(impersonation.user)),
    }
}

/// The response to impersonation headers that cannot be read.
fn unreadable(parts: &Parts, why: &str) -> Box<Response<Body>> {
    let text = format!("Internal Server Error: {:?}: {why}\n", parts.uri.path());
    Box::new(respond::text(StatusCode::INTERNAL_SERVER_ERROR, text))
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
