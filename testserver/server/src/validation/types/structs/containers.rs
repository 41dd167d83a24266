//! Containers: variables, probes, mounts, and what they do when they end.

use serde_json::Value;

use super::{
    super::formats,
    fields,
    values::{is_set, items, outside, text},
};
use crate::schema::ErrorList;

pub(super) fn variable(value: &Value, at: &str, errors: &mut ErrorList) {
    let source = &value["valueFrom"];
    if source.is_null() {
        return;
    }
    let at = format!("{at}.valueFrom");
    if !text(value, "value").is_empty() {
        errors.invalid(at.clone(), "\"\"", "may not be specified when `value` is not empty");
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
pub(super) fn source(value: &Value, at: &str, errors: &mut ErrorList) {
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
    errors.invalid(at, "\"\"", why);
}

pub(super) fn container(value: &Value, at: &str, errors: &mut ErrorList) {
    common(value, at, errors);
    restart_rules(value, at, errors);
    for probe in ["livenessProbe", "startupProbe"] {
        let threshold = &value[probe]["successThreshold"];
        if threshold.as_i64().is_some_and(|threshold| threshold != 1) {
            errors.invalid(format!("{at}.{probe}.successThreshold"), threshold, "must be 1");
        }
    }
    let grace = &value["readinessProbe"]["terminationGracePeriodSeconds"];
    if is_set(grace) {
        let place = format!("{at}.readinessProbe.terminationGracePeriodSeconds");
        errors.invalid(place, grace, "must not be set for readinessProbes");
    }
}

/// What ephemeral containers have as well.
fn common(value: &Value, at: &str, errors: &mut ErrorList) {
    let image = text(value, "image");
    if image.trim() != image {
        let why = "must not have leading or trailing whitespace";
        errors.invalid(format!("{at}.image"), &value["image"], why);
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
        errors.invalid(format!("{at}.envFrom"), "\"\"", why);
    }
}

/// What the spec of a pod or the kubelet decides for an ephemeral container.
const NOT_EPHEMERAL: &str = "ports resources resizePolicy restartPolicy restartPolicyRules livenessProbe readinessProbe \
    startupProbe lifecycle";

pub(super) fn ephemeral_container(value: &Value, at: &str, errors: &mut ErrorList) {
    const WHY: &str = "cannot be set for an Ephemeral Container";
    common(value, at, errors);
    let empty = |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    for member in NOT_EPHEMERAL.split(' ').filter(|member| match *member {
        // Held by value.
        "resources" => !empty(&value["resources"]),
        member => is_set(&value[member]),
    }) {
        errors.forbidden(format!("{at}.{member}"), WHY);
    }
    for (i, mount) in items(value, "volumeMounts") {
        for member in ["subPath", "subPathExpr"].iter().filter(|member| !text(mount, member).is_empty()) {
            errors.forbidden(format!("{at}.volumeMounts[{i}].{member}"), WHY);
        }
    }
}

fn resize_policies(container: &Value, at: &str, errors: &mut ErrorList) {
    for (_, policy) in items(container, "resizePolicy") {
        for (member, supported) in
            [("resourceName", ["cpu", "memory"]), ("restartPolicy", ["NotRequired", "RestartContainer"])]
        {
            let (place, given) = (format!("{at}.resizePolicy"), text(policy, member));
            if given.is_empty() {
                errors.required(place, "");
            } else if !supported.contains(&given) {
                errors.not_supported(place, format!("{given:?}"), &supported);
            }
        }
    }
}

/// When a container starts again, by its exit code.
fn restart_rules(container: &Value, at: &str, errors: &mut ErrorList) {
    let (place, count) = (format!("{at}.restartPolicyRules"), items(container, "restartPolicyRules").count());
    if count == 0 {
        return;
    }
    let unset = container["restartPolicy"].is_null();
    if unset {
        let why = "must specify restartPolicy when restart rules are used";
        errors.required(format!("{at}.restartPolicy"), why);
    }
    // Those of init containers are not looked at then.
    if unset && at.contains(".initContainers[") {
        return;
    }
    errors.at_most(20, &place, count);
    for (i, rule) in items(container, "restartPolicyRules") {
        let place = format!("{place}[{i}]");
        one_of(rule, "action", ["Restart", "RestartAllContainers"], &place, errors);
        let codes = &rule["exitCodes"];
        if codes.is_null() {
            errors.required(format!("{place}.exitCodes"), "must be specified");
        } else {
            let place = format!("{place}.exitCodes");
            one_of(codes, "operator", ["In", "NotIn"], &place, errors);
            errors.at_most(255, format!("{place}.values"), items(codes, "values").count());
        }
    }
}

fn one_of(value: &Value, member: &str, supported: [&str; 2], at: &str, errors: &mut ErrorList) {
    let given = text(value, member);
    if !supported.contains(&given) {
        errors.not_supported(format!("{at}.{member}"), format!("{given:?}"), &supported);
    }
}

fn mount(mount: &Value, privileged: bool, i: usize, at: &str, errors: &mut ErrorList) {
    // Genuine servers leave out the index here.
    let all = format!("{at}.volumeMounts");
    let (path, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
    for (member, path) in [("subPath", path), ("subPathExpr", expression)] {
        if let Some(why) = outside(path) {
            errors.invalid(format!("{all}.{member}"), &mount[member], why);
        }
    }
    if !path.is_empty() && !expression.is_empty() {
        let why = "subPathExpr and subPath are mutually exclusive";
        errors.invalid(format!("{all}[{i}].subPathExpr"), &mount["subPathExpr"], why);
    }
    let propagation = mount["mountPropagation"].as_str();
    let place = format!("{all}.mountPropagation");
    match propagation {
        None | Some("None" | "HostToContainer") => {}
        Some("Bidirectional") if privileged => {}
        Some("Bidirectional") => {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            errors.forbidden(place, why);
        }
        Some(other) => {
            errors.not_supported(place, format!("{other:?}"), &["Bidirectional", "HostToContainer", "None"]);
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
            return errors.not_supported(place, format!("{other:?}"), &["Disabled", "Enabled", "IfPossible"]);
        }
    };
    errors.forbidden(place, why);
}

pub(super) fn request(value: &Value, at: &str, errors: &mut ErrorList) {
    for (_, header) in items(value, "httpHeaders") {
        let name = text(header, "name");
        if let Some(why) = formats::http_header(name) {
            errors.invalid(format!("{at}.httpHeaders"), format!("{name:?}"), &why);
        }
    }
}
