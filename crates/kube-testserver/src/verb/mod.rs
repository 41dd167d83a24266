//! What a request does to the world. Every verb is a function from the world and a [`Call`] to an [`Answer`]:
//! no I/O, no time but the world's.

mod admission;
mod apply;
mod binding;
mod body;
mod call;
mod collection;
mod create;
mod definition;
mod delete;
mod eviction;
mod list;
mod log;
mod managed;
mod patch;
mod protobuf;
mod read;
mod review;
mod rights;
mod scale;
mod token;
mod update;
mod write;

pub(crate) use call::{Answer, Call, Content};
pub(crate) use list::{filter, watch_start};
pub(crate) use log::{connect, log};

use crate::{failure::Failure, world::World};

/// Does what a call asks for. `subresource` names the path below the object, if any.
pub(crate) fn perform(world: &mut World, call: &Call) -> Result<Answer, Failure> {
    let endpoint = &call.endpoint;
    let verb = call.verb();
    // Custom resources are routed by a handler of their own, which notices late that there is no name.
    if endpoint.resource.custom && call.name.is_none() && matches!(call.method.as_str(), "PUT" | "PATCH") {
        return Err(Failure::bad_request("name must be provided"));
    }
    if let Some(name) = call.subresource.as_deref() {
        let sub = endpoint.subresource(name).ok_or_else(Failure::no_such_path)?;
        if !sub.verbs.iter().any(|v| v == verb) {
            return Err(Failure::method_not_allowed());
        }
    } else if !endpoint.allows(verb) {
        return Err(Failure::method_not_allowed());
    }
    let part = call.subresource.as_deref();
    let as_object =
        matches!(part, None | Some("status" | "finalize" | "approval" | "ephemeralcontainers" | "resize"));
    match (verb, part) {
        ("get" | "update" | "patch", Some("scale")) => scale::perform(world, call),
        ("get", _) if as_object => read::get(world, call),
        ("list", None) => list::list(world, call),
        ("create", None) if endpoint.is_core("bindings") => binding::bind_named(world, call),
        ("create", None) if review::is_one(endpoint) => review::answer(world, call),
        ("create", None) => create::create(world, call),
        ("create", Some("binding")) if endpoint.is_core("pods") => binding::bind(world, call),
        ("create", Some("eviction")) if endpoint.is_core("pods") => eviction::evict(world, call),
        ("create", Some("token")) if endpoint.is_core("serviceaccounts") => token::request(world, call),
        ("update", _) if as_object => update::replace(world, call),
        ("patch", _) if as_object => patch::patch(world, call),
        ("delete", None) => delete::delete(world, call),
        ("deletecollection", None) => collection::delete_all(world, call),
        _ => Err(Failure::method_not_allowed()),
    }
}
