//! Converts objects between versions, with the response of a conversion webhook.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    ids,
    object::meta,
    scheme::{Endpoint, Resource},
    status_error::StatusError,
    storage::{Storage, Stored},
    webhook::{self, Interruption, WebhookCall, WebhookResponses},
};

/// The timeout of a conversion webhook.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Converts a stored object to the requested version.
pub(crate) fn from_storage(
    storage: &Storage,
    endpoint: &Endpoint,
    responses: &WebhookResponses,
    stored: &Stored,
) -> Result<Value, Interruption> {
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
) -> Result<Value, Interruption> {
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
) -> Result<Value, Interruption> {
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
) -> Result<Value, Interruption> {
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
) -> Result<Vec<Value>, Interruption> {
    let others: Vec<usize> = (0..objects.len()).filter(|at| objects[*at]["apiVersion"] != to).collect();
    let sent = others.iter().map(|at| objects[*at].take()).collect();
    for (at, mut object) in others.into_iter().zip(convert_others(storage, resource, responses, sent, to)?) {
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
) -> Result<Vec<Value>, Interruption> {
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
    let failed = |why: &str| {
        let message = format!("conversion webhook for {from}, Kind={} {why}", resource.kind);
        Interruption::from(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "", message))
    };
    match responses.find(&key) {
        None => Err(Interruption::from(WebhookCall {
            target: webhook::resolve(storage, client).map(|target| target.within(TIMEOUT.as_secs())),
            timeout: TIMEOUT,
            key,
            body: json!({
                "kind": "ConversionReview",
                "apiVersion": "apiextensions.k8s.io/v1",
                "request": {"uid": ids::uid(), "desiredAPIVersion": to, "objects": sent},
            }),
        })),
        Some(Err(why)) => Err(failed(&format!("failed: {why}"))),
        Some(Ok(exchange)) => {
            let converted = response(&exchange["response"], &exchange["uid"], objects.len())
                .map_err(|why| failed(&why))?;
            let both = objects.iter().zip(converted).enumerate();
            both.map(|(i, (object, converted))| accept(object, converted, to, i).map_err(|why| failed(&why)))
                .collect()
        }
    }
}

/// The objects in the response of a webhook.
fn response<'r>(review: &'r Value, uid: &Value, expected: usize) -> Result<&'r [Value], String> {
    let response = &review["response"];
    if !response.is_object() {
        return Err("failed: webhook response was absent".into());
    }
    if response["uid"] != *uid {
        return Err(format!("failed: expected response.uid={uid}, got {}", response["uid"]));
    }
    let result = &response["result"];
    if result["status"] != "Success" {
        let message = result["message"].as_str().filter(|message| !message.is_empty());
        return Err(format!("failed: {}", message.unwrap_or("no message was given")));
    }
    let objects = response["convertedObjects"].as_array().map_or(&[][..], Vec::as_slice);
    if objects.len() != expected {
        return Err(format!("returned {} objects, expected {expected}", objects.len()));
    }
    Ok(objects)
}

/// A conversion may change labels and annotations; other changes of metadata are ignored, unless they change the object's identity.
fn accept(object: &Value, converted: &Value, to: &str, at: usize) -> Result<Value, String> {
    let version = converted["apiVersion"].as_str().unwrap_or_default();
    if version != to {
        return Err(format!(
            "returned invalid object at index {at}: invalid groupVersion (expected {to}, received {version})"
        ));
    }
    if converted["kind"] != object["kind"] {
        let (want, got) = (&object["kind"], &converted["kind"]);
        return Err(format!(
            "returned invalid object at index {at}: invalid kind (expected {want}, received {got})"
        ));
    }
    for (field, word) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let text = |object: &Value| meta::text(object, field).unwrap_or_default().to_owned();
        let (before, after) = (text(object), text(converted));
        if before != after {
            return Err(format!("returned invalid object: must have the same {word}: {before} != {after}"));
        }
    }
    let mut out = converted.clone();
    out["metadata"] = object["metadata"].clone();
    for field in ["labels", "annotations"] {
        meta::copy(&mut out, converted, field);
    }
    Ok(out)
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
