//! What a conversion webhook may respond, and which changes of it count.

use serde_json::Value;

use crate::{
    object::{meta, names},
    schema::golang,
};

const REVIEW: &str = "ConversionReview";

/// The objects in the response of a webhook.
pub(super) fn objects<'r>(review: &'r Value, uid: &Value, expected: usize) -> Result<&'r [Value], String> {
    check_type(review).map_err(|why| format!("failed: {why}"))?;
    let response = &review["response"];
    if !response.is_object() {
        return Err("failed: no response provided".into());
    }
    let given = response["uid"].as_str().unwrap_or_default();
    if *uid != given {
        return Err(format!("failed: expected response.uid={uid}, got {given:?}"));
    }
    let result = &response["result"];
    let status = result["status"].as_str().unwrap_or_default();
    if status != "Success" {
        let message = result["message"].as_str().filter(|message| !message.is_empty());
        let untold = || format!("response.result.status was '{status}', not 'Success'");
        return Err(format!("failed: {}", message.map_or_else(untold, str::to_owned)));
    }
    let objects = response["convertedObjects"].as_array().map_or(&[][..], Vec::as_slice);
    if objects.len() != expected {
        return Err(format!("returned {} objects, expected {expected}", objects.len()));
    }
    Ok(objects)
}

fn check_type(review: &Value) -> Result<(), String> {
    let text = |field: &str| review[field].as_str().unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("apiextensions.k8s.io/v1", REVIEW) => Ok(()),
        ("apiextensions.k8s.io/v1beta1", REVIEW) => {
            Err(format!("converting (v1beta1.{REVIEW}) to (v1.{REVIEW}): unknown conversion"))
        }
        ("", "") => {
            Err(format!("expected webhook response of apiextensions.k8s.io/v1, Kind={REVIEW}, got /, Kind="))
        }
        // The place is that of 1.37.
        (version, kind) => Err(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )),
    }
}

/// Why an object of a response is none; Go reads it before it knows from where it is.
pub(super) fn unreadable(converted: &Value) -> Option<String> {
    match converted {
        Value::Object(_) => None,
        Value::Null => Some("unexpected end of JSON input".to_owned()),
        other => {
            let json = golang::json_type(other);
            Some(format!("json: cannot unmarshal {json} into Go value of type map[string]interface {{}}"))
        }
    }
}

/// A conversion may change labels and annotations; other changes of metadata are ignored, unless they change the object's identity.
pub(super) fn accept(object: &Value, converted: &Value, to: &str, at: usize) -> Result<Value, String> {
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let version = text(converted, "apiVersion");
    if version != to {
        return Err(format!(
            "returned invalid object at index {at}: invalid groupVersion (expected {to}, received {version})"
        ));
    }
    let (want, got) = (text(object, "kind"), text(converted, "kind"));
    if want != got {
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
    if let Some(why) = invalid_metadata(&converted["metadata"]) {
        return Err(format!("returned invalid metadata: {why}"));
    }
    let mut out = converted.clone();
    out["metadata"] = object["metadata"].clone();
    for field in ["labels", "annotations"] {
        meta::copy(&mut out, converted, field);
    }
    Ok(out)
}

/// What is wrong with the labels and annotations of a converted object.
fn invalid_metadata(metadata: &Value) -> Option<String> {
    for field in ["labels", "annotations"] {
        for (key, value) in metadata[field].as_object().into_iter().flatten() {
            if !value.is_string() {
                let given = golang::type_name(value);
                return Some(format!(
                    "metadata.{field}[{key}] must be a string, but is {given} in converted object"
                ));
            }
        }
    }
    let members = |field: &str| metadata[field].as_object().into_iter().flatten();
    let wrong_labels = members("labels").flat_map(|(key, value)| {
        let value = value.as_str().unwrap_or_default();
        let texts = [(key.as_str(), names::qualified_name(key)), (value, names::label_value(value))];
        texts.into_iter().filter_map(|(text, why)| Some(("labels", text, why?)))
    });
    let wrong_annotations = members("annotations").filter_map(|(key, _)| {
        Some(("annotation", key.as_str(), names::qualified_name(&key.to_lowercase())?))
    });
    let problems: Vec<String> = wrong_labels
        .chain(wrong_annotations)
        .map(|(field, text, why)| format!("metadata.{field}: Invalid value: {text:?}: {why}"))
        .collect();
    match problems.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}
