//! Validation of kinds with a pod template.

use serde_json::{Value, json};

use super::{Errors, items, template, text};
use crate::{object::names, schema::FieldError, strategy::selectors};

const TEMPLATE: &str = "spec.template.spec";

pub(super) fn validate(plural: &str, spec: &Value, errors: &mut Errors) {
    errors.count("spec.replicas", &spec["replicas"]);
    errors.count("spec.minReadySeconds", &spec["minReadySeconds"]);
    let plain = plural == "replicationcontrollers";
    if plain && spec["selector"].as_object().is_none_or(serde_json::Map::is_empty) {
        errors.required("spec.selector".into(), "");
    } else if !plain || spec["template"].is_object() {
        selected(spec, plain, errors);
    }
    if spec["template"].is_object() {
        let template = &spec["template"]["spec"];
        if plural == "statefulsets" {
            template_of_set(spec, errors);
        } else {
            template::validate(template, TEMPLATE, errors);
            template::hostnames(template, TEMPLATE, errors);
        }
        runs_forever(plural, spec, errors);
    }
    if plural != "statefulsets" {
        errors.count("spec.revisionHistoryLimit", &spec["revisionHistoryLimit"]);
    }
}

/// The pods of a StatefulSet have the claims of its templates as volumes, before and instead of their own of the same names.
fn template_of_set(set: &Value, errors: &mut Errors) {
    let template = &set["template"]["spec"];
    let names: Vec<&str> =
        items(set, "volumeClaimTemplates").map(|(_, claim)| text(&claim["metadata"]["name"])).collect();
    if names.is_empty() {
        return template::validate(template, TEMPLATE, errors);
    }
    // Of several claims with one name the last counts.
    let single = names.iter().enumerate().filter(|(i, name)| !names[i + 1..].contains(name));
    let claimed = single.map(|(_, name)| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
    let own = items(template, "volumes").filter(|(_, volume)| !names.contains(&text(&volume["name"])));
    let volumes: Vec<Value> = claimed.chain(own.map(|(_, volume)| volume.clone())).collect();
    for (i, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
        errors.required(format!("{TEMPLATE}.volumes[{i}].persistentVolumeClaim.claimName"), "");
    }
    let mut pod = template.clone();
    pod["volumes"] = volumes.into();
    template::validate(&pod, TEMPLATE, errors);
}

/// `at` is the path of the spec of the Job.
pub(super) fn job(spec: &Value, at: &str, errors: &mut Errors) {
    for field in
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
    {
        errors.count(&format!("{at}.{field}"), &spec[field]);
    }
    let place = format!("{at}.template.spec");
    template::validate(&spec["template"]["spec"], &place, errors);
    template::hostnames(&spec["template"]["spec"], &place, errors);
    if matches!(text(&spec["template"]["spec"]["restartPolicy"]), "" | "Always") {
        errors.required(format!("{place}.restartPolicy"), "valid values: \"OnFailure\", \"Never\"");
    }
}

fn runs_forever(plural: &str, spec: &Value, errors: &mut Errors) {
    let policy = text(&spec["template"]["spec"]["restartPolicy"]);
    if !matches!(policy, "" | "Always") {
        let at = format!("{TEMPLATE}.restartPolicy");
        errors.add(FieldError::not_supported(at, format!("{policy:?}"), &["\"Always\"".into()]));
    }
    if !spec["template"]["spec"]["activeDeadlineSeconds"].is_null() {
        let kind = match plural {
            "statefulsets" => "StatefulSet",
            "daemonsets" => "DaemonSet",
            "replicationcontrollers" => "ReplicationController",
            _ => "ReplicaSet",
        };
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.add(FieldError::forbidden(format!("{TEMPLATE}.activeDeadlineSeconds"), &why));
    }
}

/// The selector must match the labels of the template. Another rule tells what is wrong with an invalid one.
fn selected(spec: &Value, plain: bool, errors: &mut Errors) {
    let (selector, labels) = (&spec["selector"], &spec["template"]["metadata"]["labels"]);
    if (plain || selectors::is_valid(selector)) && !selectors::matches(selector, plain, labels) {
        let why = "`selector` does not match template `labels`";
        errors.add(FieldError::invalid("spec.template.metadata.labels", labels, why));
    }
}

/// The selector and the labels of the pods of a Job.
pub(super) fn selector_of_job(spec: &Value, errors: &mut Errors) {
    if spec["selector"].is_null() {
        errors.required("spec.selector".into(), "");
    }
    selected(spec, false, errors);
}

/// What the server sets in a new Job, unless the client does.
pub(super) fn new_job(job: &Value, errors: &mut Errors) {
    let spec = &job["spec"];
    let labels = &spec["template"]["metadata"]["labels"];
    if spec["manualSelector"] != true {
        let uid = &job["metadata"]["uid"];
        let own = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
        if selectors::is_valid(&spec["selector"]) && spec["selector"] != own {
            errors.add(FieldError::invalid(
                "spec.selector",
                &spec["selector"],
                "`selector` not auto-generated",
            ));
        }
        let name = &job["metadata"]["name"];
        for (key, wanted) in [
            ("batch.kubernetes.io/controller-uid", uid),
            ("controller-uid", uid),
            ("batch.kubernetes.io/job-name", name),
            ("job-name", name),
        ] {
            if labels[key] != *wanted {
                let why = format!("must be '{}'", text(wanted));
                errors.add(FieldError::invalid(
                    format!("spec.template.metadata.labels[{key}]"),
                    labels,
                    &why,
                ));
            }
        }
    }
    if let Some(last) =
        spec["completions"].as_i64().filter(|count| *count > 0 && spec["completionMode"] == "Indexed")
    {
        let (name, pod) =
            (text(&job["metadata"]["name"]), format!("{}-{}", text(&job["metadata"]["name"]), last - 1));
        if names::dns_label(&pod).is_some() {
            let why = format!("will not able to create pod with invalid DNS label: {pod}");
            errors.text("metadata.name".into(), name, Some(why));
        }
    }
}
