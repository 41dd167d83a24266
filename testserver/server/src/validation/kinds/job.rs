//! Jobs, and the templates of jobs.

use serde_json::{Value, json};

use super::{Write, pod, workload};
use crate::{
    object::names,
    schema::ErrorList,
    validation::{selectors, values::text},
};

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    judge(write.spec(), "spec", errors);
}

pub(super) fn validate_template(write: &Write<'_>, errors: &mut ErrorList) {
    judge(&write.spec()["jobTemplate"]["spec"], "spec.jobTemplate.spec", errors);
}

/// `at` is the path of the spec of the Job.
fn judge(spec: &Value, at: &str, errors: &mut ErrorList) {
    for field in
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"]
    {
        errors.count(format!("{at}.{field}"), &spec[field]);
    }
    let place = format!("{at}.template.spec");
    let template = &spec["template"]["spec"];
    pod::spec_and_names(template, &place, errors);
    let place = format!("{place}.restartPolicy");
    match text(template, "restartPolicy") {
        "" | "Always" => errors.required(place, "valid values: \"OnFailure\", \"Never\""),
        policy => errors.one_of(place, policy, &["OnFailure", "Never"]),
    }
}

/// The selector and the labels of the pods of a Job.
pub(super) fn validate_selector(write: &Write<'_>, errors: &mut ErrorList) {
    if write.spec()["selector"].is_null() {
        errors.required("spec.selector", "");
    }
    workload::selected(write.spec(), false, errors);
}

/// What the server sets in a new Job, unless the client does.
pub(super) fn validate_new(write: &Write<'_>, errors: &mut ErrorList) {
    if write.old.is_some() {
        return;
    }
    let (spec, metadata) = (write.spec(), &write.object["metadata"]);
    if spec["manualSelector"] != true {
        own_labels(spec, metadata, errors);
    }
    let indexed = spec["completions"].as_i64().filter(|_| spec["completionMode"] == "Indexed");
    if let Some(count) = indexed.filter(|count| *count > 0) {
        let name = text(metadata, "name");
        let pod = format!("{name}-{}", count - 1);
        let problem = names::dns_label(&pod)
            .map(|_| format!("will not able to create pod with invalid DNS label: {pod}"));
        errors.text("metadata.name", name, problem);
    }
}

fn own_labels(spec: &Value, metadata: &Value, errors: &mut ErrorList) {
    let (uid, name) = (&metadata["uid"], &metadata["name"]);
    let own = json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}});
    if selectors::is_valid(&spec["selector"]) && spec["selector"] != own {
        errors.invalid("spec.selector", &spec["selector"], "`selector` not auto-generated");
    }
    let labels = &spec["template"]["metadata"]["labels"];
    for (key, value) in [
        ("batch.kubernetes.io/controller-uid", uid),
        ("controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
        ("job-name", name),
    ] {
        if labels[key] != *value {
            let why = format!("must be '{}'", value.as_str().unwrap_or_default());
            let field = format!("spec.template.metadata.labels[{key}]");
            errors.invalid(field, labels, &why);
        }
    }
}
