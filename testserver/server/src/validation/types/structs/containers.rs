//! Containers: variables, probes, mounts, and what they do when they end.

use serde_json::Value;

use super::{
    super::formats,
    fields,
    values::{invalid, is_set, items, outside, text},
};
use crate::schema::FieldError;

pub(super) fn variable(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let source = &value["valueFrom"];
    if source.is_null() {
        return;
    }
    let at = format!("{at}.valueFrom");
    if !text(value, "value").is_empty() {
        let why = "may not be specified when `value` is not empty";
        errors.push(FieldError::invalid(at.clone(), "\"\"", why));
    }
    if is_set(&source["fieldRef"]) {
        fields::field(&source["fieldRef"], fields::OF_VARIABLES, &format!("{at}.fieldRef"), errors);
    }
    if is_set(&source["resourceFieldRef"]) {
        let place = format!("{at}.resourceFieldRef");
        fields::resource(&source["resourceFieldRef"], false, &place, errors);
    }
}

/// The sources of a variable: exactly one.
pub(super) fn source(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let why = match value
        .as_object()
        .map_or(0, |source| source.values().filter(|value| is_set(value)).count())
    {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(at, "\"\"", why));
}

pub(super) fn container(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    common(value, at, errors);
    restart_rules(value, at, errors);
    for probe in ["livenessProbe", "startupProbe"] {
        let threshold = &value[probe]["successThreshold"];
        if threshold.as_i64().is_some_and(|threshold| threshold != 1) {
            invalid(errors, format!("{at}.{probe}.successThreshold"), threshold, "must be 1");
        }
    }
    let grace = &value["readinessProbe"]["terminationGracePeriodSeconds"];
    if is_set(grace) {
        let place = format!("{at}.readinessProbe.terminationGracePeriodSeconds");
        invalid(errors, place, grace, "must not be set for readinessProbes");
    }
}

/// What ephemeral containers have as well.
fn common(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let image = text(value, "image");
    if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        invalid(errors, format!("{at}.image"), &value["image"], why);
    }
    resize_policies(value, at, errors);
    for (i, mount) in items(value, "volumeMounts") {
        let privileged = value["securityContext"]["privileged"] == true;
        self::mount(mount, privileged, i, at, errors);
    }
    for (_, source) in items(value, "envFrom") {
        let why = match (is_set(&source["configMapRef"]), is_set(&source["secretRef"])) {
            (false, false) => "must specify one of: `configMapRef` or `secretRef`",
            (true, true) => "may not have more than one field specified at a time",
            _ => continue,
        };
        errors.push(FieldError::invalid(format!("{at}.envFrom"), "\"\"", why));
    }
}

/// What the spec of a pod or the kubelet decides for an ephemeral container.
const NOT_EPHEMERAL: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

pub(super) fn ephemeral_container(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    const WHY: &str = "cannot be set for an Ephemeral Container";
    common(value, at, errors);
    let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    for member in NOT_EPHEMERAL.iter().filter(|member| match **member {
        // Held by value.
        "resources" => !empty(&value["resources"]),
        member => is_set(&value[member]),
    }) {
        errors.push(FieldError::forbidden(format!("{at}.{member}"), WHY));
    }
    for (i, mount) in items(value, "volumeMounts") {
        for member in ["subPath", "subPathExpr"].iter().filter(|member| !text(mount, member).is_empty()) {
            errors.push(FieldError::forbidden(format!("{at}.volumeMounts[{i}].{member}"), WHY));
        }
    }
}

fn resize_policies(container: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (_, policy) in items(container, "resizePolicy") {
        for (member, supported) in
            [("resourceName", ["cpu", "memory"]), ("restartPolicy", ["NotRequired", "RestartContainer"])]
        {
            let (place, given) = (format!("{at}.resizePolicy"), text(policy, member));
            if given.is_empty() {
                errors.push(FieldError::required(place, ""));
            } else if !supported.contains(&given) {
                errors.push(FieldError::not_supported(place, format!("{given:?}"), &supported));
            }
        }
    }
}

/// When a container starts again, by its exit code.
fn restart_rules(container: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let (place, count) = (format!("{at}.restartPolicyRules"), items(container, "restartPolicyRules").count());
    if count == 0 {
        return;
    }
    let unset = container["restartPolicy"].is_null();
    if unset {
        let why = "must specify restartPolicy when restart rules are used";
        errors.push(FieldError::required(format!("{at}.restartPolicy"), why));
    }
    // Those of init containers are not looked at then.
    if unset && at.contains(".initContainers[") {
        return;
    }
    too_many(&place, count, 20, errors);
    for (i, rule) in items(container, "restartPolicyRules") {
        let place = format!("{place}[{i}]");
        one_of(rule, "action", ["Restart", "RestartAllContainers"], &place, errors);
        let codes = &rule["exitCodes"];
        if codes.is_null() {
            errors.push(FieldError::required(format!("{place}.exitCodes"), "must be specified"));
        } else {
            let place = format!("{place}.exitCodes");
            one_of(codes, "operator", ["In", "NotIn"], &place, errors);
            too_many(&format!("{place}.values"), items(codes, "values").count(), 255, errors);
        }
    }
}

fn one_of(value: &Value, member: &str, supported: [&str; 2], at: &str, errors: &mut Vec<FieldError>) {
    let given = text(value, member);
    if !supported.contains(&given) {
        errors.push(FieldError::not_supported(format!("{at}.{member}"), format!("{given:?}"), &supported));
    }
}

pub(super) fn too_many(at: &str, count: usize, max: usize, errors: &mut Vec<FieldError>) {
    if count > max {
        let why = format!("Too many: {count}: must have at most {max} items");
        errors.push(FieldError::new(at, "FieldValueTooMany", why));
    }
}

fn mount(mount: &Value, privileged: bool, i: usize, at: &str, errors: &mut Vec<FieldError>) {
    // Genuine servers leave out the index here.
    let all = format!("{at}.volumeMounts");
    let (path, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    for (member, path) in [("subPath", path), ("subPathExpr", expression)] {
        if let Some(why) = outside(path) {
            invalid(errors, format!("{all}.{member}"), &mount[member], why);
        }
    }
    if !path.is_empty() && !expression.is_empty() {
        let why = "subPathExpr and subPath are mutually exclusive";
        invalid(errors, format!("{all}[{i}].subPathExpr"), &mount["subPathExpr"], why);
    }
    let propagation = mount["mountPropagation"].as_str();
    let place = format!("{all}.mountPropagation");
    match propagation {
        None | Some("None" | "HostToContainer") => {}
        Some("Bidirectional") if privileged => {}
        Some("Bidirectional") => {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            errors.push(FieldError::forbidden(place, why));
        }
        Some(other) => {
            let supported = ["Bidirectional", "HostToContainer", "None"];
            errors.push(FieldError::not_supported(place, format!("{other:?}"), &supported));
        }
    }
    let place = format!("{all}.recursiveReadOnly");
    let why = match mount["recursiveReadOnly"].as_str() {
        None | Some("Disabled") => return,
        Some("Enabled" | "IfPossible") if mount["readOnly"] != true => {
            "may only be specified when readOnly is true"
        }
        Some("Enabled" | "IfPossible") if propagation.is_some_and(|kind| kind != "None") => {
            "may only be specified when mountPropagation is None or not specified"
        }
        Some("Enabled" | "IfPossible") => return,
        Some(other) => {
            let supported = ["Disabled", "Enabled", "IfPossible"];
            return errors.push(FieldError::not_supported(place, format!("{other:?}"), &supported));
        }
    };
    errors.push(FieldError::forbidden(place, why));
}

pub(super) fn request(value: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (_, header) in items(value, "httpHeaders") {
        let name = text(header, "name");
        if let Some(why) = formats::http_header(name) {
            errors.push(FieldError::invalid(format!("{at}.httpHeaders"), format!("{name:?}"), &why));
        }
    }
}
