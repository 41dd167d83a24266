//! The Scale of an object, and its type.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::{
    call::Call,
    gotypes::{self, GoStruct},
    schema::{Schema, nested, types},
    scheme::ScalePaths,
    status_error::StatusError,
};

pub(super) const API_VERSION: &str = "autoscaling/v1";

const IN_TABLE: &str = "invariant: the tables of types have Scale";

pub(super) fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> =
        LazyLock::new(|| types::by_name("io.k8s.api.autoscaling.v1.Scale").expect(IN_TABLE));
    &SCHEMA
}

pub(super) fn go_type() -> &'static GoStruct {
    gotypes::of_kind(API_VERSION, "Scale").expect(IN_TABLE)
}

/// The Scale of an object. That of a custom resource has values that the schema does not check.
pub(super) fn scale_of(call: &Call, object: &Value, paths: &ScalePaths) -> Result<Value, StatusError> {
    let metadata = &object["metadata"];
    let count = |path| nested::integer(object, path).map_err(StatusError::unexplained);
    let (desired, current) = if call.endpoint.resource.custom {
        (count(&paths.spec)?, count(&paths.status)?)
    } else {
        (count(&paths.spec).unwrap_or_default(), count(&paths.status).unwrap_or_default())
    };
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {},
        "status": {"replicas": current.unwrap_or(0)},
    });
    // No replicas are left out.
    if let Some(count) = desired.filter(|count| *count != 0) {
        scale["spec"]["replicas"] = count.into();
    }
    let selector = match &paths.selector {
        Some(path) if call.endpoint.resource.custom => {
            nested::text(object, path).map_err(StatusError::unexplained)?.map(str::to_owned)
        }
        Some(path) => nested::at(object, path).ok().flatten().map(selector_text),
        None => None,
    };
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale["status"]["selector"] = selector.into();
    }
    Ok(scale)
}

/// A label selector as text.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().or(selector.as_object());
    let pairs = labels.into_iter().flatten().filter_map(|(k, v)| Some(format!("{k}={}", v.as_str()?)));
    pairs.collect::<Vec<_>>().join(",")
}
