//! Validation of pod specs, in pods and templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Errors, items, text};
use crate::{object::names, schema::FieldError};

const VARIABLE: &str = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', \
    and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is \
    '[-._a-zA-Z][-._a-zA-Z0-9]*')";

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
            _ => errors.text(at, name, (!is_variable(name)).then(|| VARIABLE.into())),
        }
    }
    for (i, mount) in items(container, "volumeMounts") {
        let (at, name) = (format!("{at}.volumeMounts[{i}]"), text(&mount["name"]));
        if name.is_empty() {
            errors.required(format!("{at}.name"), "");
        } else if !volumes.contains(name) {
            let error =
                FieldError::new(format!("{at}.name"), "FieldValueNotFound", format!("Not found: {name:?}"));
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

fn is_variable(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    name.chars().all(inner) && !name.starts_with(|c: char| c.is_ascii_digit())
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
            {"name": "a", "image": "i", "ports": [{"containerPort": 70000}], "env": [{"name": "1"}],
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
                "spec.containers[2].volumeMounts[0].name",
            ]
        );
    }
}
