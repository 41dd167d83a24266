use std::sync::Arc;

use http::{Response, StatusCode, request::Parts};
use kube_serve::listener::PeerCertificates;

use super::{ApiServer, impersonation::Wish, respond};
use crate::{
    auth::{Question, User, bearer},
    body::Body,
    failure::Failure,
    route::{Asked, Query},
    world::World,
};

/// Who is asking, once it is known that they may. The error is the answer to those who may not.
pub(super) fn admit(server: &ApiServer, parts: &Parts) -> Result<Arc<User>, Box<Response<Body>>> {
    let world = server.world().lock();
    if !world.enforces_access() {
        return Ok(Arc::new(User::anonymous()));
    }
    let refuse = |failure: &Failure| Box::new(respond::failure(failure));
    let user = authenticate(server, &world, parts).ok_or_else(|| refuse(&Failure::unauthorized()))?;
    let user = impersonate(&world, user, parts)?;
    let question = question(parts);
    match world.bindings().allows(&user, &question) {
        Some(_) => Ok(user),
        None => Err(refuse(&denied(&user, &question))),
    }
}

/// A token that nobody has is refused; no credentials at all make one what the handle is.
fn authenticate(server: &ApiServer, world: &World, parts: &Parts) -> Option<Arc<User>> {
    let certificates = parts.extensions.get::<PeerCertificates>();
    let certificate = certificates.and_then(|chain| chain.leaf());
    if let Some(user) = certificate.and_then(|leaf| world.login.by_certificate(leaf)) {
        return Some(user);
    }
    match bearer(&parts.headers) {
        Some(token) => world.whose_token(token, &[]).ok().map(|(user, _)| user),
        None => Some(server.identity()),
    }
}

fn impersonate(world: &World, user: Arc<User>, parts: &Parts) -> Result<Arc<User>, Box<Response<Body>>> {
    let unreadable = |why: String| {
        let text = format!("Internal Server Error: {:?}: {why}\n", parts.uri.path());
        Box::new(respond::text(StatusCode::INTERNAL_SERVER_ERROR, text))
    };
    let Some(wish) = Wish::read(&parts.headers).map_err(unreadable)? else { return Ok(user) };
    let bindings = world.bindings();
    let lacking = wish.questions.iter().find(|question| bindings.allows(&user, question).is_none());
    match lacking {
        Some(question) => Err(Box::new(respond::failure(&denied(&user, question)))),
        None => Ok(Arc::new(wish.user)),
    }
}

fn question(parts: &Parts) -> Question {
    let asked = Asked::of(parts);
    let Some(place) = asked.place else { return Question::Path { verb: asked.verb, path: asked.path } };
    let mut name = place.name.unwrap_or_default();
    if name.is_empty() {
        name = selected_name(parts).unwrap_or_default();
    }
    // A namespace is in itself.
    let inside =
        if place.plural == "namespaces" && place.group.is_empty() { Some(name.clone()) } else { None };
    let resource = match place.subresource {
        Some(sub) => format!("{}/{sub}", place.plural),
        None => place.plural,
    };
    let namespace = place.namespace.or(inside).unwrap_or_default();
    Question::Resource { verb: asked.verb, group: place.group, resource, namespace, name }
}

/// Who selects one object by its name asks for that one, and rules may name it.
fn selected_name(parts: &Parts) -> Option<String> {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let name = query.get("fieldSelector")?.split(',').find_map(|part| part.strip_prefix("metadata.name="))?;
    Some(name.trim_start_matches('=').to_string())
}

/// A 403 in the words of the genuine server.
fn denied(user: &User, question: &Question) -> Failure {
    match question {
        Question::Path { verb, path } => {
            Failure::denied_path(&format!("User {:?} cannot {verb} path {path:?}", user.name))
        }
        Question::Resource { verb, group, resource, namespace, name } => {
            let place = match namespace.as_str() {
                "" => "at the cluster scope".to_string(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            let who = &user.name;
            let why =
                format!("User {who:?} cannot {verb} resource {resource:?} in API group {group:?} {place}");
            Failure::denied(group, resource.split('/').next().unwrap_or_default(), name, &why)
        }
    }
}
