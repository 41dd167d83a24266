//! `RuntimeClass`: pods get the overhead and the nodes of their runtime class.

use serde_json::{Map, Value};

use super::resources::resource_list;
use crate::{
    admission::{Objects, Operation, Write},
    object::meta,
    status_error::StatusError,
};

/// Sets the overhead, node selector and tolerations of a new pod.
pub(super) fn mutate(objects: Objects<'_>, write: &Write<'_>, pod: &mut Value) -> Result<(), StatusError> {
    if !write.writes(&[Operation::Create], "", "pods") || !pod["spec"].is_object() {
        return Ok(());
    }
    let Some(class) = class_of(objects, write, pod)? else { return Ok(()) };
    let overhead = &class["overhead"]["podFixed"];
    if !is_empty(overhead) {
        let own = &pod["spec"]["overhead"];
        if !is_empty(own) && resource_list(own) != resource_list(overhead) {
            let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(write.forbidden(meta::name_or_base(pod), why));
        }
        pod["spec"]["overhead"] = overhead.clone();
    }
    schedule(&class["scheduling"], pod).map_err(|why| write.forbidden(meta::name_or_base(pod), &why))
}

/// Refuses a new pod with an overhead that no class gave it.
pub(super) fn validate(objects: Objects<'_>, write: &Write<'_>, pod: &Value) -> Result<(), StatusError> {
    if !write.writes(&[Operation::Create], "", "pods") || is_empty(&pod["spec"]["overhead"]) {
        return Ok(());
    }
    let class = class_of(objects, write, pod)?;
    if class.is_some_and(|class| !is_empty(&class["overhead"]["podFixed"])) {
        return Ok(());
    }
    let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    Err(write.forbidden(meta::name_or_base(pod), why))
}

fn class_of(objects: Objects<'_>, write: &Write<'_>, pod: &Value) -> Result<Option<Value>, StatusError> {
    let named = pod["spec"]["runtimeClassName"].as_str().filter(|name| !name.is_empty());
    let Some(name) = named else { return Ok(None) };
    let missing = || {
        let why = format!("pod rejected: RuntimeClass {name:?} not found");
        write.forbidden(meta::name_or_base(pod), &why)
    };
    objects.get("node.k8s.io", "runtimeclasses", None, name).map(Some).ok_or_else(missing)
}

/// Adds the node selector and the tolerations of a class; `Err` if the pod selects other nodes.
fn schedule(scheduling: &Value, pod: &mut Value) -> Result<(), String> {
    let mut selector = pod["spec"]["nodeSelector"].as_object().cloned().unwrap_or_default();
    for (key, class_value) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
        match selector.get(key).filter(|own| *own != class_value) {
            None => drop(selector.insert(key.clone(), class_value.clone())),
            Some(own) => {
                let (class_value, own) = (text(class_value), text(own));
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {class_value}; pod.spec.nodeSelector[{key}] = {own}"
                ));
            }
        }
    }
    if !selector.is_empty() {
        pod["spec"]["nodeSelector"] = Value::Object(selector);
    }
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    for toleration in scheduling["tolerations"].as_array().into_iter().flatten() {
        if !tolerations.contains(toleration) {
            tolerations.push(toleration.clone());
        }
    }
    if !tolerations.is_empty() {
        pod["spec"]["tolerations"] = tolerations.into();
    }
    Ok(())
}

fn is_empty(map: &Value) -> bool {
    map.as_object().is_none_or(Map::is_empty)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
