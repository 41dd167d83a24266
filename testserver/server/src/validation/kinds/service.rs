//! Validates Services: ports, and names of ports.

use std::collections::BTreeSet;

use serde_json::json;

use super::Write;
use crate::{
    object::names,
    schema::ErrorList,
    validation::values::{items, text},
};

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let spec = write.spec();
    let ports = items(spec, "ports").count();
    if spec["type"] != "ExternalName" && spec["clusterIP"] != "None" && ports == 0 {
        errors.required("spec.ports", "");
    }
    let (mut names_before, mut ports_before) = (BTreeSet::new(), BTreeSet::new());
    for (i, port) in items(spec, "ports") {
        let (at, name) = (format!("spec.ports[{i}]"), text(port, "name"));
        match name {
            // A single port needs no name.
            "" if ports > 1 => errors.required(format!("{at}.name"), ""),
            "" => {}
            _ => errors.text(format!("{at}.name"), name, names::dns_label(name)),
        }
        if !name.is_empty() && !names_before.insert(name) {
            errors.repeated(format!("{at}.name"), name);
        }
        if !ports_before.insert((port["port"].as_i64(), text(port, "protocol"))) {
            let printed = json!({"port": port["port"], "protocol": port["protocol"]});
            errors.duplicate(at.clone(), printed);
        }
        errors.port(format!("{at}.port"), &port["port"]);
        errors.port(format!("{at}.targetPort"), &port["targetPort"]);
    }
}
