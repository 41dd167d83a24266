//! Validation of the ports of containers, inside and on the host.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    schema::ErrorList,
    validation::values::{items, text},
};

pub(super) fn validate(container: &Value, at: &str, errors: &mut ErrorList) {
    let mut names = BTreeSet::new();
    for (i, port) in items(container, "ports") {
        let name = text(port, "name");
        if !name.is_empty() && !names.insert(name) {
            errors.repeated(format!("{at}.ports[{i}].name"), name);
        }
        let at = format!("{at}.ports[{i}].containerPort");
        match port["containerPort"].as_i64() {
            None | Some(0) => errors.required(at, ""),
            Some(_) => errors.port(at, &port["containerPort"]),
        }
    }
}

/// Containers that run at the same time have different ports of the host.
pub(super) fn of_host(spec: &Value, at: &str, errors: &mut ErrorList) {
    let mut taken = BTreeSet::new();
    for (i, container) in items(spec, "containers") {
        of_container(container, &format!("{at}.containers[{i}]"), &mut taken, errors);
    }
    for (i, container) in items(spec, "initContainers").filter(|(_, one)| one["restartPolicy"] != "Always") {
        of_container(container, &format!("{at}.initContainers[{i}]"), &mut BTreeSet::new(), errors);
    }
}

fn of_container(container: &Value, at: &str, taken: &mut BTreeSet<String>, errors: &mut ErrorList) {
    for (i, port) in items(container, "ports") {
        let Some(number) = port["hostPort"].as_i64().filter(|number| *number != 0) else { continue };
        let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
        if taken.contains(&key) {
            errors.repeated(format!("{at}.ports[{i}].hostPort"), &key);
        }
        taken.insert(key);
    }
}
