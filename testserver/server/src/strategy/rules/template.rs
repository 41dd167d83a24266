//! Validation of pod specs, in pods and templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Errors, items, text};
use crate::{object::names, schema::FieldError};

const NOT_FOUND: &str = "FieldValueNotFound";
const VARIABLE: &str =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";

/// `at` is the path of the spec.
pub(super) fn validate(spec: &Value, at: &str, errors: &mut Errors) {
    let mut volumes = BTreeSet::new();
    for (i, volume) in items(spec, "volumes") {
        named(volume, format!("{at}.volumes[{i}].name"), &mut volumes, errors);
    }
    if items(spec, "containers").next().is_none() {
        errors.required(format!("{at}.containers"), "");
    }
    // Names are unique across both lists.
    let mut known = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        for (i, container) in items(spec, list) {
            validate_container(container, &format!("{at}.{list}[{i}]"), &volumes, &mut known, errors);
        }
    }
}

fn validate_container(
    container: &Value,
    at: &str,
    volumes: &BTreeSet<String>,
    known: &mut BTreeSet<String>,
    errors: &mut Errors,
) {
    named(container, format!("{at}.name"), known, errors);
    if text(&container["image"]).is_empty() {
        errors.required(format!("{at}.image"), "");
    }
    let (mut port_names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for (i, port) in items(container, "ports") {
        let name = text(&port["name"]);
        if !name.is_empty() && !port_names.insert(name) {
            errors.add(FieldError::duplicate(format!("{at}.ports[{i}].name"), format!("{name:?}")));
        }
        let at = format!("{at}.ports[{i}].containerPort");
        match port["containerPort"].as_i64() {
            None | Some(0) => errors.required(at, ""),
            Some(_) => errors.port(at, &port["containerPort"]),
        }
    }
    for (i, variable) in items(container, "env") {
        let (at, name) = (format!("{at}.env[{i}].name"), text(&variable["name"]));
        match name {
            "" => errors.required(at, ""),
            _ => variable_name(at, name, errors),
        }
    }
    for (i, source) in items(container, "envFrom") {
        variable_name(format!("{at}.envFrom[{i}].prefix"), text(&source["prefix"]), errors);
    }
    devices(container, at, volumes, errors);
    for (i, mount) in items(container, "volumeMounts") {
        let (at, name) = (format!("{at}.volumeMounts[{i}]"), text(&mount["name"]));
        if name.is_empty() {
            errors.required(format!("{at}.name"), "");
        }
        if !volumes.contains(name) {
            let error = FieldError::new(format!("{at}.name"), NOT_FOUND, format!("Not found: {name:?}"));
            errors.add(error);
        }
        match text(&mount["mountPath"]) {
            "" => errors.required(format!("{at}.mountPath"), ""),
            path if !paths.insert(path) => {
                errors.add(FieldError::invalid(
                    format!("{at}.mountPath"),
                    format!("{path:?}"),
                    "must be unique",
                ));
            }
            _ => {}
        }
    }
}

/// The mounts of volumes that `errors` are about.
pub(super) fn mounts(spec: &Value, at: &str, errors: &[FieldError]) -> Vec<FieldError> {
    let refused = items(spec, "volumes").filter(|(i, _)| {
        let place = format!("{at}.volumes[{i}]");
        errors.iter().any(|error| error.field.starts_with(&place))
    });
    let refused: BTreeSet<&str> = refused.map(|(_, volume)| text(&volume["name"])).collect();
    let mut found = Vec::new();
    for list in ["containers", "initContainers"] {
        for (i, container) in items(spec, list) {
            for member in ["volumeMounts", "volumeDevices"] {
                let lost = items(container, member).filter(|(_, item)| refused.contains(text(&item["name"])));
                for (j, item) in lost {
                    let field = format!("{at}.{list}[{i}].{member}[{j}].name");
                    let known = |error: &FieldError| error.field == field && error.reason == NOT_FOUND;
                    if !errors.iter().any(known) {
                        let why = format!("Not found: {:?}", text(&item["name"]));
                        found.push(FieldError::new(field, NOT_FOUND, why));
                    }
                }
            }
        }
    }
    found
}

fn devices(container: &Value, at: &str, volumes: &BTreeSet<String>, errors: &mut Errors) {
    for (i, device) in items(container, "volumeDevices") {
        let (at, name) = (format!("{at}.volumeDevices[{i}].name"), text(&device["name"]));
        if name.is_empty() {
            errors.required(at.clone(), "");
        }
        if !volumes.contains(name) {
            errors.add(FieldError::new(at, NOT_FOUND, format!("Not found: {name:?}")));
        }
    }
}

/// A name that is unique in its list.
fn named(item: &Value, at: String, known: &mut BTreeSet<String>, errors: &mut Errors) {
    let name = text(&item["name"]);
    if name.is_empty() {
        errors.required(at, "");
    } else if let Some(problem) = names::dns_label(name) {
        errors.text(at, name, Some(problem));
    } else if !known.insert(name.into()) {
        errors.add(FieldError::duplicate(at, format!("{name:?}")));
    }
}

fn variable_name(at: String, name: &str, errors: &mut Errors) {
    let fits = name.chars().all(|c| matches!(c, ' '..='~') && c != '=');
    errors.text(at, name, (!fits).then(|| VARIABLE.into()));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_reported_by_path() {
        let mut errors = Errors::default();
        let spec = json!({"volumes": [{"name": "v"}, {"name": "v"}], "containers": [
            {"name": "", "image": "i"}, {"name": "a", "image": ""},
            {"name": "a", "image": "i", "ports": [{"containerPort": 70000}], "env": [{"name": "="}], "envFrom": [{"prefix": "="}],
                "volumeMounts": [{"name": "w", "mountPath": "/"}]}]});
        validate(&spec, "spec", &mut errors);
        let found: Vec<_> = errors.0.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(
            found,
            [
                "spec.volumes[1].name",
                "spec.containers[0].name",
                "spec.containers[1].image",
                "spec.containers[2].name",
                "spec.containers[2].ports[0].containerPort",
                "spec.containers[2].env[0].name",
                "spec.containers[2].envFrom[0].prefix",
                "spec.containers[2].volumeMounts[0].name",
            ]
        );
    }
}
