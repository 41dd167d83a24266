use serde_json::json;

use super::{
    Answer, Call, Content,
    admission::{self, Attributes, Operation},
    body,
};
use crate::{
    failure::{Details, Failure},
    registry::Endpoint,
    route::DeleteOptions,
    store::Stored,
    world::{Deletion, World},
};

pub(super) fn delete(world: &mut World, call: &Call) -> Result<Answer, Failure> {
    let options = DeleteOptions::parse(&call.query, &body::options(call)?)?;
    let endpoint = &call.endpoint;
    let stored =
        world.store.get(endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?.clone();
    check_preconditions(call, &options, &stored)?;
    protect(call)?;
    let warnings = review(world, call, &stored, options.dry_run)?;
    let answer = |content| Answer { warnings, ..Answer::ok(content) };
    if options.dry_run {
        return Ok(answer(success(endpoint, &stored)));
    }
    let deletion =
        world.delete_gracefully(&endpoint.resource, &call.key(), options.propagation, options.grace);
    world.settle();
    match deletion.ok_or_else(|| call.not_found())? {
        Deletion::Marked(stored) => Ok(answer(Content::Object(stored))),
        Deletion::Gone(last) if answers_with_object(endpoint) => Ok(answer(Content::Object(last))),
        Deletion::Gone(last) => Ok(answer(success(endpoint, &last))),
    }
}

/// Asks the webhooks, of either sort, whether an object may go. Returns their warnings.
pub(super) fn review(
    world: &World,
    call: &Call,
    stored: &Stored,
    dry_run: bool,
) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    if world.hooks.is_empty() {
        return Ok(warnings);
    }
    let old = call.read(world, stored)?;
    let deletion = Attributes { operation: Operation::Delete, call, object: None, old: Some(&old), dry_run };
    admission::mutate(world, deletion, None, &mut warnings)?;
    admission::validate(world, &deletion, &mut warnings)?;
    Ok(warnings)
}

pub(super) fn check_preconditions(
    call: &Call,
    options: &DeleteOptions,
    stored: &Stored,
) -> Result<(), Failure> {
    let conflict = |what: &str, asked: &str, found: &str| {
        let why = format!(
            "the {what} in the precondition ({asked}) does not match the {what} in record ({found}). \
             The object might have been {}",
            if what == "UID" { "deleted and then recreated" } else { "modified" }
        );
        Failure::conflict(call.endpoint.group(), call.endpoint.kind(), call.object_name(), &why)
    };
    if let Some(uid) = options.uid.as_deref().filter(|uid| **uid != *stored.uid) {
        return Err(conflict("UID", uid, &stored.uid));
    }
    let revision = stored.revision.to_string();
    match options.resource_version.as_deref() {
        Some(version) if version != revision => Err(conflict("ResourceVersion", version, &revision)),
        _ => Ok(()),
    }
}

/// Some namespaces are there for ever.
fn protect(call: &Call) -> Result<(), Failure> {
    if call.endpoint.is_core("namespaces")
        && matches!(call.object_name(), "default" | "kube-system" | "kube-public")
    {
        return Err(Failure::forbidden(
            "",
            "namespaces",
            call.object_name(),
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

/// Kinds whose deletion answers with the object, where others answer with a `Status`.
fn answers_with_object(endpoint: &Endpoint) -> bool {
    let plural = endpoint.plural();
    endpoint.group().is_empty()
        && matches!(
            plural,
            "pods"
                | "podtemplates"
                | "services"
                | "serviceaccounts"
                | "persistentvolumeclaims"
                | "persistentvolumes"
                | "resourcequotas"
        )
}

fn success(endpoint: &Endpoint, stored: &Stored) -> Content {
    let details = Details {
        name: stored.key.name().into(),
        group: endpoint.group().into(),
        kind: endpoint.plural().into(),
        uid: stored.uid.to_string(),
        ..Details::default()
    };
    Content::Document(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details.to_value(),
    }))
}
