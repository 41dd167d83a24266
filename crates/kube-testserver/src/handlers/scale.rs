use serde_json::{Value, json};

use super::{
    ApiResponse, Call, Content,
    admission::{self, Attributes, Operation},
    body,
    managed_fields::Ownership,
    update,
};
use crate::{
    cluster::ClusterState, patch, route::WriteOptions, schema::FieldError, scheme::ScalePaths,
    status_error::StatusError, store::Stored,
};

/// The `scale` subresource: the replicas of an object as an `autoscaling/v1` Scale.
pub(super) fn perform(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, StatusError> {
    let paths = call.endpoint.version().scale.clone().ok_or_else(StatusError::no_such_path)?;
    let stored =
        cluster.store.get(call.endpoint.resource.table, &call.key()).ok_or_else(|| call.not_found())?.clone();
    let scale = scale_of(&stored, &paths);
    let mut wanted = match call.verb() {
        "update" => {
            let body = match body::media_type(&call.content_type) {
                "application/yaml" => body::yaml(&call.body),
                _ => body::json(&call.body),
            };
            body.map_err(|why| StatusError::bad_request(format!("cannot decode the Scale: {why}")))?
        }
        "patch" => patched(call, &scale)?,
        _ => return Ok(ApiResponse::ok(Content::Document(scale))),
    };
    let options = WriteOptions::parse(&call.query, "UpdateOptions")?;
    let write = Attributes {
        operation: Operation::Update,
        call,
        object: None,
        old: Some(&scale),
        dry_run: options.dry_run,
    };
    let mut warnings = Vec::new();
    admission::mutate(cluster, write, Some(&mut wanted), &mut warnings)?;
    admission::validate(cluster, &Attributes { object: Some(&wanted), ..write }, &mut warnings)?;
    let replicas = match &wanted["spec"]["replicas"] {
        Value::Null => 0,
        value => value.as_i64().filter(|n| (0..=i64::from(i32::MAX)).contains(n)).ok_or_else(|| {
            let error = FieldError::invalid("spec.replicas", value, "must be a number of at least 0");
            StatusError::invalid("autoscaling", "Scale", call.object_name(), &[error])
        })?,
    };
    let mut object = call.read(cluster, &stored)?;
    set_at(&mut object, &paths.spec, replicas.into());
    crate::meta::set(&mut object, "resourceVersion", wanted["metadata"]["resourceVersion"].clone());
    let response = update::change(cluster, call, &options, object, Ownership::FromDiff)?;
    match response.content {
        Content::Object(written) => {
            Ok(ApiResponse { warnings, ..ApiResponse::ok(Content::Document(scale_of(&written, &paths))) })
        }
        content => Ok(ApiResponse { content, ..response }),
    }
}

fn patched(call: &Call, scale: &Value) -> Result<Value, StatusError> {
    let mut scale = scale.clone();
    let changes = body::json(&call.body)
        .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))?;
    let result = match body::media_type(&call.content_type) {
        "application/json-patch+json" => patch::json::apply(&mut scale, &changes),
        // A Scale has no lists, so a strategic merge patch equals a merge patch.
        "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
            patch::merge::apply(&mut scale, &changes)
        }
        _ => {
            let accepted = "application/json-patch+json, application/merge-patch+json";
            return Err(StatusError::unsupported_media_type(accepted));
        }
    };
    result.map_err(|error| StatusError::bad_request(error.to_string()))?;
    Ok(scale)
}

fn scale_of(stored: &Stored, paths: &ScalePaths) -> Value {
    let object = stored.value();
    let metadata = &object["metadata"];
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {"replicas": at(&object, &paths.spec).as_i64().unwrap_or(0)},
        "status": {"replicas": at(&object, &paths.status).as_i64().unwrap_or(0)},
    });
    if let Some(selector) = paths.selector.as_deref().map(|path| selector_text(at(&object, path)))
        && !selector.is_empty()
    {
        scale["status"]["selector"] = selector.into();
    }
    scale
}

/// A selector as text: strings as they are, label selectors formatted.
fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.into();
    }
    let labels = selector["matchLabels"].as_object().or(selector.as_object());
    let pairs = labels.into_iter().flatten().filter_map(|(k, v)| Some(format!("{k}={}", v.as_str()?)));
    pairs.collect::<Vec<_>>().join(",")
}

fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|part| !part.is_empty()).fold(object, |value, part| &value[part])
}

fn set_at(object: &mut Value, path: &str, value: Value) {
    let mut target = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !target.is_object() {
            *target = json!({});
        }
        target = &mut target[part];
    }
    *target = value;
}
