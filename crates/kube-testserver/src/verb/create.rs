use http::StatusCode;
use serde_json::Value;

use super::{
    Answer, Call,
    admission::{self, Attributes, Operation},
    body,
    managed::Ownership,
    write,
};
use crate::{failure::Failure, meta, route::WriteOptions, store::Key, strategy, world::World};

pub(super) fn create(world: &mut World, call: &Call) -> Result<Answer, Failure> {
    let endpoint = &call.endpoint;
    if call.name.is_some() && !endpoint.resource.custom
        || endpoint.resource.namespaced && call.namespace.is_none()
    {
        return Err(Failure::method_not_allowed());
    }
    let mut options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut object = body::object(call)?;
    options.repeated = body::repeated(call);
    write::place_new(call, &mut object)?;
    insert(world, call, &options, object, Ownership::Compared)
}

/// Creates `object`, which has the endpoint's type.
pub(super) fn insert(
    world: &mut World,
    call: &Call,
    options: &WriteOptions,
    mut object: Value,
    ownership: Ownership,
) -> Result<Answer, Failure> {
    let endpoint = &call.endpoint;
    check_namespace(world, call)?;
    if meta::text(&object, "resourceVersion").is_some() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message));
    }
    let mut warnings = write::conform(endpoint, options, &ownership, &mut object)?;
    let creation =
        Attributes { operation: Operation::Create, call, object: None, old: None, dry_run: options.dry_run };
    write::mutate(world, creation, &ownership, &mut object, &mut warnings)?;
    call.name_new(&mut object);
    let asked = write::asked(endpoint, &object);
    strategy::prepare_create(endpoint, &mut object, call.new_uid(), &world.now());
    write::settle_addresses(world, call, asked.as_ref(), &mut object)?;
    warnings.extend(write::finish(world, call, None, &mut object, ownership)?);
    admission::validate(world, &Attributes { object: Some(&object), ..creation }, &mut warnings)?;
    let key = Key::new(call.namespace.as_deref(), meta::name(&object));
    if let Some(taken) = world.store.get(endpoint.resource.table, &key) {
        let failure = Failure::already_exists(endpoint.group(), endpoint.plural(), meta::name(&object));
        return Err(if meta::is_deleting(&taken.value()) { failure.while_deleting() } else { failure });
    }
    let object = call.to_storage(world, object)?;
    let stored = write::commit(world, endpoint, key, object, options.dry_run);
    warnings.extend(endpoint.version().warning.clone());
    Ok(Answer { code: StatusCode::CREATED, content: super::Content::Object(stored), warnings })
}

/// Nothing is created in a namespace that is missing or on its way out.
fn check_namespace(world: &World, call: &Call) -> Result<(), Failure> {
    let Some(namespace) = call.namespace.as_deref() else { return Ok(()) };
    let namespaces = world.registry.by_plural("", "namespaces");
    let found = namespaces.and_then(|e| world.store.get(e.resource.table, &Key::new(None, namespace)));
    let Some(found) = found else { return Err(Failure::not_found("", "namespaces", namespace)) };
    if !meta::is_deleting(&found.value()) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut failure = Failure::forbidden(call.endpoint.group(), call.endpoint.plural(), "", &why);
    if let Some(details) = &mut failure.details {
        details.causes.push(crate::failure::Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        });
    }
    Err(failure)
}
