//! Kinds whose pods run for ever.

use serde_json::{Value, json};

use super::{Write, pod, pod_spec};
use crate::{
    schema::ErrorList,
    validation::{
        selectors,
        values::{items, text},
    },
};

const TEMPLATE: &str = "spec.template.spec";

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let (plural, spec) = (write.endpoint.plural(), write.spec());
    errors.count("spec.replicas", &spec["replicas"]);
    errors.count("spec.minReadySeconds", &spec["minReadySeconds"]);
    let plain = plural == "replicationcontrollers";
    if plain && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty) {
        errors.required("spec.selector", "");
    } else if !plain || spec["template"].is_object() {
        selected(spec, plain, errors);
    }
    // Of an invalid selector genuine servers do not look at the pods, with exceptions.
    let looked_at =
        matches!(plural, "daemonsets" | "replicationcontrollers") || selectors::is_valid(&spec["selector"]);
    if looked_at && spec["template"].is_object() {
        match plural {
            "statefulsets" => template_of_set(spec, errors),
            _ => pod::spec_and_names(&spec["template"]["spec"], TEMPLATE, errors),
        }
        runs_forever(plural, spec, errors);
    }
    if plural != "statefulsets" {
        errors.count("spec.revisionHistoryLimit", &spec["revisionHistoryLimit"]);
    }
}

/// The pods of a StatefulSet have the claims of its templates as volumes, before and instead of their own of the same names.
fn template_of_set(set: &Value, errors: &mut ErrorList) {
    let template = &set["template"]["spec"];
    let names: Vec<&str> =
        items(set, "volumeClaimTemplates").map(|(_, claim)| text(&claim["metadata"], "name")).collect();
    if names.is_empty() {
        return pod_spec::validate(template, TEMPLATE, errors);
    }
    // Of several claims with one name the last counts.
    let single = names.iter().enumerate().filter(|(i, name)| !names[i + 1..].contains(name));
    let single: Vec<&str> = single.map(|(_, name)| *name).collect();
    for (i, _) in single.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        errors.required(format!("{TEMPLATE}.volumes[{i}].persistentVolumeClaim.claimName"), "");
    }
    let claimed =
        single.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    let own = items(template, "volumes").filter(|(_, volume)| !names.contains(&text(volume, "name")));
    let volumes: Vec<Value> = claimed.chain(own.map(|(_, volume)| volume.clone())).collect();
    let mut pod = template.clone();
    pod["volumes"] = volumes.into();
    pod_spec::validate(&pod, TEMPLATE, errors);
}

fn runs_forever(plural: &str, spec: &Value, errors: &mut ErrorList) {
    let policy = text(&spec["template"]["spec"], "restartPolicy");
    if !policy.is_empty() {
        errors.one_of(format!("{TEMPLATE}.restartPolicy"), policy, &["Always"]);
    }
    if !spec["template"]["spec"]["activeDeadlineSeconds"].is_null() {
        let kind = match plural {
            "statefulsets" => "StatefulSet",
            "daemonsets" => "DaemonSet",
            "replicationcontrollers" => "ReplicationController",
            _ => "ReplicaSet",
        };
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(format!("{TEMPLATE}.activeDeadlineSeconds"), &why);
    }
}

/// The selector must match the labels of the template. Another rule tells what is wrong with an invalid one.
pub(super) fn selected(spec: &Value, plain: bool, errors: &mut ErrorList) {
    let (selector, labels) = (&spec["selector"], &spec["template"]["metadata"]["labels"]);
    if (plain || selectors::is_valid(selector)) && !selectors::matches(selector, plain, labels) {
        let why = "`selector` does not match template `labels`";
        errors.invalid("spec.template.metadata.labels", labels, why);
    }
}
