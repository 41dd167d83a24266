use serde_json::Value;

use super::{Errors, items, text};
use crate::names;

pub(super) fn validate(spec: &Value, errors: &mut Errors) {
    let ports = items(spec, "ports").count();
    if spec["type"] != "ExternalName" && spec["clusterIP"] != "None" && ports == 0 {
        errors.required("spec.ports".into(), "");
    }
    for (i, port) in items(spec, "ports") {
        let (at, name) = (format!("spec.ports[{i}]"), text(&port["name"]));
        match name {
            // A single port needs no name.
            "" if ports > 1 => errors.required(format!("{at}.name"), ""),
            "" => {}
            _ => errors.text(format!("{at}.name"), name, names::dns_label(name)),
        }
        errors.port(format!("{at}.port"), &port["port"]);
        errors.port(format!("{at}.targetPort"), &port["targetPort"]);
    }
}
