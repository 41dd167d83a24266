//! `LimitRanger`: defaults and limits of resources in a namespace.

mod defaults;
mod limits;

use serde_json::Value;

use crate::{
    admission::{Objects, Operation, Write},
    object::meta,
    status_error::StatusError,
};

/// Sets requests and limits that a new pod leaves out.
pub(super) fn mutate(objects: Objects<'_>, write: &Write<'_>, pod: &mut Value) {
    if !write.writes(&[Operation::Create], "", "pods") || !pod["spec"].is_object() {
        return;
    }
    for range in objects.list("", "limitranges", write.namespace) {
        defaults::complete(&range, pod);
    }
}

/// Refuses pods and claims outside of the limits of their namespace.
pub(super) fn validate(objects: Objects<'_>, write: &Write<'_>, object: &Value) -> Result<(), StatusError> {
    let check: fn(&Value, &Value) -> Vec<String> = match () {
        // The resources of a pod do not change in an update, except by `resize`.
        () if write.writes(&[Operation::Create], "", "pods") || resizes(write) => limits::of_pod,
        () if write.writes(&[Operation::Create, Operation::Update], "", "persistentvolumeclaims") => {
            limits::of_claim
        }
        () => return Ok(()),
    };
    for range in objects.list("", "limitranges", write.namespace) {
        let mut problems = Vec::new();
        for item in range["spec"]["limits"].as_array().into_iter().flatten() {
            for problem in check(item, object) {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        let why = match problems.as_slice() {
            [] => continue,
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        return Err(write.forbidden(meta::name(object), &why));
    }
    Ok(())
}

fn resizes(write: &Write<'_>) -> bool {
    write.endpoint.is_core("pods") && write.subresource == Some("resize")
}
