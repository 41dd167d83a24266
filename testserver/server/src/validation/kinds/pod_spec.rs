//! Specs of pods, in pods and templates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ports;
use crate::{
    object::names,
    schema::ErrorList,
    validation::{
        types::variable_name,
        values::{items, text},
    },
};

pub(super) const NOT_FOUND: &str = "FieldValueNotFound";

/// The volumes of a pod whose names are in order.
struct Volumes<'s> {
    spec: &'s Value,
    names: BTreeSet<String>,
}

impl<'s> Volumes<'s> {
    fn find(&self, name: &str) -> Option<&'s Value> {
        self.names.get(name)?;
        items(self.spec, "volumes").map(|(_, volume)| volume).find(|volume| volume["name"] == name)
    }
}

/// `at` is the path of the spec.
pub(super) fn validate(spec: &Value, at: &str, errors: &mut ErrorList) {
    let mut volumes = Volumes { spec, names: BTreeSet::new() };
    for (i, volume) in items(spec, "volumes") {
        if let Some(name) = checked_name(volume, &format!("{at}.volumes[{i}].name"), errors) {
            volumes.names.insert(name.to_owned());
        }
    }
    if items(spec, "containers").next().is_none() {
        errors.required(format!("{at}.containers"), "");
    }
    // Names are unique across the lists.
    let mut containers = BTreeSet::new();
    for list in ["containers", "initContainers"] {
        for (i, container) in items(spec, list) {
            validate_container(container, &format!("{at}.{list}[{i}]"), &volumes, &mut containers, errors);
        }
    }
    ports::of_host(spec, at, errors);
    if spec["ephemeralContainers"].is_array() {
        let targets = containers.clone();
        for (i, container) in items(spec, "ephemeralContainers") {
            let at = format!("{at}.ephemeralContainers[{i}]");
            validate_container(container, &at, &volumes, &mut containers, errors);
            let target = text(container, "targetContainerName");
            if !target.is_empty() && !targets.contains(target) {
                errors.not_found(format!("{at}.targetContainerName"), format_args!("{target:?}"));
            }
        }
    }
}

/// The names of a pod in DNS. Those of a StatefulSet's template do not count.
pub(super) fn hostnames(spec: &Value, at: &str, errors: &mut ErrorList) {
    for member in ["hostname", "subdomain"] {
        let name = text(spec, member);
        if !name.is_empty() {
            errors.text(format!("{at}.{member}"), name, names::dns_label(name));
        }
    }
}

fn validate_container(
    container: &Value,
    at: &str,
    volumes: &Volumes<'_>,
    containers: &mut BTreeSet<String>,
    errors: &mut ErrorList,
) {
    let name = format!("{at}.name");
    checked_name(container, &name, errors);
    if !containers.insert(text(container, "name").to_owned()) {
        errors.repeated(name, text(container, "name"));
    }
    if text(container, "image").is_empty() {
        errors.required(format!("{at}.image"), "");
    }
    ports::validate(container, at, errors);
    for (i, variable) in items(container, "env") {
        let (at, name) = (format!("{at}.env[{i}]"), text(variable, "name"));
        match name {
            "" => errors.required(format!("{at}.name"), ""),
            _ => errors.text(format!("{at}.name"), name, variable_name(name)),
        }
        let file = &variable["valueFrom"]["fileKeyRef"];
        if file.is_object() {
            let (at, name) = (format!("{at}.valueFrom.fileKeyRef.volumeName"), text(file, "volumeName"));
            match volumes.find(name) {
                None => errors.not_found(at, format_args!("{name:?}")),
                Some(volume) if volume["emptyDir"].is_null() => {
                    errors.text(at, name, Some("referenced volume must be of type emptyDir".into()));
                }
                Some(_) => {}
            }
        }
    }
    for (i, source) in items(container, "envFrom") {
        let prefix = text(source, "prefix");
        let problem = Some(prefix).filter(|prefix| !prefix.is_empty()).and_then(variable_name);
        errors.text(format!("{at}.envFrom[{i}].prefix"), prefix, problem);
    }
    mounted(container, at, volumes, errors);
}

/// Where a container sees volumes, as folders and as devices.
fn mounted(container: &Value, at: &str, volumes: &Volumes<'_>, errors: &mut ErrorList) {
    const FOLDERS: (&str, &str) = ("volumeMounts", "mountPath");
    const DEVICES: (&str, &str) = ("volumeDevices", "devicePath");
    for ((list, path_of), (other, other_path)) in [(FOLDERS, DEVICES), (DEVICES, FOLDERS)] {
        let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
        for (i, item) in items(container, list) {
            let at = format!("{at}.{list}[{i}]");
            let (name, path) = (text(item, "name"), text(item, path_of));
            let mut refuse = |member: &str, value: &str, why: String| {
                errors.text(format!("{at}.{member}"), value, Some(why));
            };
            if list == DEVICES.0 && !names.insert(name) {
                refuse("name", name, "must be unique".into());
            }
            if !path.is_empty() && !paths.insert(path) {
                refuse(path_of, path, "must be unique".into());
            }
            if list == DEVICES.0 && path.split('/').any(|part| part == "..") {
                refuse(path_of, path, "can not contain backsteps ('..')".into());
            }
            let taken =
                |member: &str, value: &str| items(container, other).any(|(_, item)| item[member] == value);
            if !name.is_empty() && taken("name", name) {
                refuse("name", name, format!("must not already exist in {other}"));
            }
            if !path.is_empty() && taken(other_path, path) {
                refuse(path_of, path, format!("must not already exist as a path in {other}"));
            }
            let volume = volumes.find(name);
            let raw = |volume: &Value| {
                volume["persistentVolumeClaim"].is_object() || volume["ephemeral"].is_object()
            };
            if list == DEVICES.0 && volume.is_some_and(|volume| !raw(volume)) {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                refuse("name", name, why.into());
            }
            if name.is_empty() {
                errors.required(format!("{at}.name"), "");
            }
            if volume.is_none() {
                errors.not_found(format!("{at}.name"), format_args!("{name:?}"));
            }
            if path.is_empty() {
                errors.required(format!("{at}.{path_of}"), "");
            }
        }
    }
}

/// The name of an item, if it is one.
fn checked_name<'i>(item: &'i Value, at: &str, errors: &mut ErrorList) -> Option<&'i str> {
    let name = text(item, "name");
    let problem = names::dns_label(name);
    let valid = problem.is_none().then_some(name);
    match name {
        "" => errors.required(at, ""),
        _ => errors.text(at, name, problem),
    }
    valid
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_reported_by_path() {
        let mut errors = ErrorList::default();
        let spec = json!({"volumes": [{"name": "v"}, {"name": "v"}], "containers": [
            {"name": "", "image": "i"}, {"name": "a", "image": ""},
            {"name": "a", "image": "i", "ports": [{"containerPort": 70000}], "env": [{"name": "="}], "envFrom": [{"prefix": "="}],
                "volumeMounts": [{"name": "w", "mountPath": "/"}]}]});
        validate(&spec, "spec", &mut errors);
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(
            fields,
            [
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

    /// What `v1.37` answered: names repeat whatever is wrong with them.
    #[test]
    fn names_of_containers_are_unique_across_lists() {
        let container = |name: &str| json!({"name": name, "image": "i"});
        let spec = json!({"containers": [container("B!"), container("B!"), container(""), container("")],
            "initContainers": [container("B!")]});
        let mut errors = ErrorList::default();
        validate(&spec, "spec", &mut errors);
        let errors: Vec<_> = errors.iter().map(|error| (&error.field[5..], &error.reason[10..])).collect();
        assert_eq!(
            errors,
            [
                ("containers[0].name", "Invalid"),
                ("containers[1].name", "Invalid"),
                ("containers[1].name", "Duplicate"),
                ("containers[2].name", "Required"),
                ("containers[3].name", "Required"),
                ("containers[3].name", "Duplicate"),
                ("initContainers[0].name", "Invalid"),
                ("initContainers[0].name", "Duplicate"),
            ]
        );
    }
}
