//! Converts objects between versions, with the response of a conversion webhook.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Unconverted, accept};
use crate::{
    ids,
    object::meta,
    scheme::{Endpoint, Resource},
    storage::{Storage, Stored},
    webhook::{self, Address, WebhookCall, WebhookResponses},
};

/// The timeout of a conversion webhook.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Converts a stored object to the requested version.
pub(crate) fn from_storage(
    storage: &Storage,
    endpoint: &Endpoint,
    responses: &WebhookResponses,
    stored: &Stored,
) -> Result<Value, Unconverted> {
    match endpoint.resource.equivalent {
        Some(equivalent) => Ok(equivalent.convert_from_storage(stored.value(), &endpoint.api_version())),
        None => one(storage, endpoint, responses, stored.value(), &endpoint.api_version()),
    }
}

/// Converts an object to the storage version.
pub(crate) fn to_storage(
    storage: &Storage,
    endpoint: &Endpoint,
    responses: &WebhookResponses,
    object: Value,
) -> Result<Value, Unconverted> {
    match endpoint.resource.equivalent {
        Some(equivalent) => Ok(equivalent.convert_to_storage(object)),
        None => one(storage, endpoint, responses, object, &endpoint.resource.storage().api_version()),
    }
}

/// Converts the object of a write between two versions of its resource, for an admission webhook that matches another version, or a field
/// manager of another version. Unlike at storage, nothing is dropped. Objects of subresources, which have a type of their own, stay as they
/// are.
pub(crate) fn between_versions(
    storage: &Storage,
    responses: &WebhookResponses,
    from: &Endpoint,
    to: &Endpoint,
    object: Value,
) -> Result<Value, Unconverted> {
    let (from_version, to_version) = (from.api_version(), to.api_version());
    if from_version == to_version || object["apiVersion"] != from_version {
        return Ok(object);
    }
    if from.resource.custom {
        let converted = convert_others(storage, &from.resource, responses, vec![object], &to_version)?;
        return Ok(only(converted));
    }
    let stored = match from.resource.equivalent {
        Some(equivalent) => equivalent.convert_to_storage(object),
        None => object,
    };
    Ok(match to.resource.equivalent {
        Some(equivalent) => equivalent.convert_from_storage(stored, &to_version),
        None => stored,
    })
}

fn one(
    storage: &Storage,
    endpoint: &Endpoint,
    responses: &WebhookResponses,
    object: Value,
    to: &str,
) -> Result<Value, Unconverted> {
    if object["apiVersion"] == to {
        return Ok(object);
    }
    Ok(only(convert(storage, &endpoint.resource, responses, vec![object], to)?))
}

fn only(mut converted: Vec<Value>) -> Value {
    converted.pop().expect("invariant: a conversion gives as many objects as it takes")
}

/// Converts objects, keeping number and order. As on genuine servers, fields that the schema of the other version lacks are dropped.
pub(super) fn convert(
    storage: &Storage,
    resource: &Resource,
    responses: &WebhookResponses,
    mut objects: Vec<Value>,
    to: &str,
) -> Result<Vec<Value>, Unconverted> {
    let others: Vec<usize> = (0..objects.len()).filter(|at| objects[*at]["apiVersion"] != to).collect();
    let sent = others.iter().map(|at| objects[*at].take()).collect();
    let converted =
        convert_others(storage, resource, responses, sent, to).map_err(|unconverted| match unconverted {
            Unconverted::Failed { at: Some(at), why } => {
                Unconverted::Failed { at: others.get(at).copied(), why }
            }
            other => other,
        })?;
    for (at, mut object) in others.into_iter().zip(converted) {
        resource.prune_to(to, &mut object);
        objects[at] = object;
    }
    Ok(objects)
}

/// Converts objects that are in other versions.
fn convert_others(
    storage: &Storage,
    resource: &Resource,
    responses: &WebhookResponses,
    mut objects: Vec<Value>,
    to: &str,
) -> Result<Vec<Value>, Unconverted> {
    let from = objects.first().and_then(|object| object["apiVersion"].as_str()).unwrap_or(to).to_owned();
    let Some(client) = resource.conversion.as_ref().filter(|_| from != to && !responses.are_disabled())
    else {
        for object in &mut objects {
            object["apiVersion"] = to.into();
        }
        return Ok(objects);
    };
    let sent: Vec<Value> = objects.iter().map(without_version).collect();
    let without_volatile_fields: Vec<Value> = sent.iter().map(without_volatile_fields).collect();
    let key = json!({"conversion": resource.plural, "group": resource.group, "to": to, "objects": without_volatile_fields});
    let failed = |at, why: &str| Unconverted::Failed {
        at,
        why: format!("conversion webhook for {from}, Kind={} {why}", resource.kind),
    };
    match responses.find(&key) {
        None => Err(Unconverted::from(WebhookCall {
            address: Address::of(storage, client).within(TIMEOUT.as_secs()),
            timeout: TIMEOUT,
            key,
            body: json!({
                "kind": "ConversionReview",
                "apiVersion": "apiextensions.k8s.io/v1",
                "request": {"uid": ids::uid(), "desiredAPIVersion": to, "objects": sent},
            }),
        })),
        Some(Err(why)) => {
            let why = why.strip_prefix(webhook::UNREACHED).unwrap_or(why);
            Err(failed(None, &format!("failed: {why}")))
        }
        Some(Ok(exchange)) => {
            let converted = accept::objects(&exchange["response"], &exchange["uid"], objects.len())
                .map_err(|why| failed(None, &why))?;
            let both = objects.iter().zip(converted).enumerate();
            both.map(|(at, (object, converted))| match accept::unreadable(converted) {
                Some(why) => Err(Unconverted::Failed { at: Some(at), why }),
                None => accept::accept(object, converted, to, at).map_err(|why| failed(Some(at), &why)),
            })
            .collect()
        }
    }
}

/// Objects are sent without a resourceVersion.
fn without_version(object: &Value) -> Value {
    let mut object = object.clone();
    meta::set(&mut object, "resourceVersion", Value::Null);
    object
}

/// The object without fields that differ between runs of the handler.
fn without_volatile_fields(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["managedFields", "creationTimestamp"] {
        meta::set(&mut object, field, Value::Null);
    }
    object
}
