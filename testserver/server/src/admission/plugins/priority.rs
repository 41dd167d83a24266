//! `Priority`: pods get the priority of their class, and there is one default class.

use serde_json::{Value, json};

use crate::{
    admission::{Objects, Operation, Write},
    object::meta,
    status_error::StatusError,
};

const GROUP: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";
const PREEMPTS: &str = "PreemptLowerPriority";

/// The class of the system with this name, as it is created.
pub(crate) fn system_class((name, value, description): (&str, i64, &str)) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": PREEMPTS,
    })
}

/// Sets the class, priority and preemption policy of a new pod.
pub(super) fn mutate(objects: Objects<'_>, write: &Write<'_>, pod: &mut Value) -> Result<(), StatusError> {
    if !write.writes(&[Operation::Create], "", "pods") || !pod["spec"].is_object() {
        return Ok(());
    }
    let named = pod["spec"]["priorityClassName"].as_str().unwrap_or_default();
    let class = match named {
        "" => default_class(objects),
        name => {
            let missing =
                || write.forbidden(meta::name(pod), &format!("no PriorityClass with name {name} was found"));
            Some(objects.get(GROUP, CLASSES, None, name).ok_or_else(missing)?)
        }
    };
    let value = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    let policy = class.as_ref().and_then(|class| class["preemptionPolicy"].as_str()).unwrap_or(PREEMPTS);
    let spec = &pod["spec"];
    if let Some(provided) = spec["priority"].as_i64().filter(|provided| *provided != value) {
        let why = format!(
            "the integer value of priority ({provided}) must not be provided in pod spec; priority admission controller \
             computed {value} from the given PriorityClass name"
        );
        return Err(write.forbidden(meta::name(pod), &why));
    }
    if let Some(provided) = spec["preemptionPolicy"].as_str().filter(|provided| *provided != policy) {
        let why = format!(
            "the string value of PreemptionPolicy ({provided}) must not be provided in pod spec; priority admission \
             controller computed {policy} from the given PriorityClass name"
        );
        return Err(write.forbidden(meta::name(pod), &why));
    }
    let name = class.as_ref().map(meta::name).filter(|_| named.is_empty()).map(str::to_owned);
    let spec = &mut pod["spec"];
    if let Some(name) = name {
        spec["priorityClassName"] = name.into();
    }
    spec["priority"] = value.into();
    spec["preemptionPolicy"] = policy.into();
    Ok(())
}

/// The class with `globalDefault`; the lowest if there are several.
fn default_class(objects: Objects<'_>) -> Option<Value> {
    let defaults = objects.list(GROUP, CLASSES, None).filter(|class| class["globalDefault"] == true);
    defaults.min_by_key(|class| class["value"].as_i64())
}

/// Refuses a second default class.
pub(super) fn validate(objects: Objects<'_>, write: &Write<'_>, class: &Value) -> Result<(), StatusError> {
    if !write.writes(&[Operation::Create, Operation::Update], GROUP, CLASSES)
        || class["globalDefault"] != true
    {
        return Ok(());
    }
    let name = meta::name(class);
    match default_class(objects).as_ref().map(meta::name).filter(|other| *other != name) {
        None => Ok(()),
        Some(other) => {
            let why =
                format!("PriorityClass {other} is already marked as default. Only one default can exist");
            Err(write.forbidden(name, &why))
        }
    }
}
