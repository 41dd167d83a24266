//! Validates Services: ports, and names of ports.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Errors, items, text};
use crate::{object::names, schema::FieldError};

pub(super) fn validate(spec: &Value, errors: &mut Errors) {
    let ports = items(spec, "ports").count();
    if spec["type"] != "ExternalName" && spec["clusterIP"] != "None" && ports == 0 {
        errors.required("spec.ports".into(), "");
    }
    let (mut known_names, mut known_ports) = (BTreeSet::new(), BTreeSet::new());
    for (i, port) in items(spec, "ports") {
        let (at, name) = (format!("spec.ports[{i}]"), text(&port["name"]));
        match name {
            // A single port needs no name.
            "" if ports > 1 => errors.required(format!("{at}.name"), ""),
            "" => {}
            _ => errors.text(format!("{at}.name"), name, names::dns_label(name)),
        }
        if !name.is_empty() && !known_names.insert(name) {
            errors.add(FieldError::duplicate(format!("{at}.name"), format!("{name:?}")));
        }
        if !known_ports.insert((port["port"].as_i64(), text(&port["protocol"]))) {
            let shown = json!({"port": port["port"], "protocol": port["protocol"]});
            errors.add(FieldError::duplicate(at.clone(), shown));
        }
        errors.port(format!("{at}.port"), &port["port"]);
        errors.port(format!("{at}.targetPort"), &port["targetPort"]);
    }
}
