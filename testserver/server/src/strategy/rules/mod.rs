//! Validation of built-in kinds beyond their schemas, with the messages of the genuine server.

mod data;
mod errors;
mod event;
mod limit_range;
mod pod;
mod ports;
mod priority_class;
mod resource_quota;
mod service;
mod template;
mod workload;

use serde_json::Value;

pub(crate) use priority_class::SYSTEM_CLASSES;

use self::errors::Errors;
use crate::{schema::FieldError, scheme::Endpoint};

/// Validates an object of a built-in kind.
pub(crate) fn validate(endpoint: &Endpoint, object: &Value, created: bool) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = &object["spec"];
    if endpoint.resource.custom {
        return Vec::new();
    }
    match (endpoint.group(), endpoint.plural()) {
        ("", "pods") => {
            template::validate(spec, "spec", &mut errors);
            template::hostnames(spec, "spec", &mut errors);
            if created {
                pod::validate_new(spec, &mut errors);
            }
        }
        ("", "podtemplates") => {
            let spec = &object["template"]["spec"];
            template::validate(spec, "template.spec", &mut errors);
            template::hostnames(spec, "template.spec", &mut errors);
        }
        ("", "services") => service::validate(spec, &mut errors),
        ("" | "events.k8s.io", "events") => event::validate(endpoint, object, created, &mut errors),
        ("", "limitranges") => limit_range::validate(spec, &mut errors),
        ("", "resourcequotas") => resource_quota::validate(spec, &mut errors),
        ("", "configmaps" | "secrets") => data::validate(object, &mut errors),
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => {
            workload::validate(endpoint.plural(), spec, &mut errors);
        }
        ("scheduling.k8s.io", "priorityclasses") => priority_class::validate(object, &mut errors),
        ("batch", "jobs") => {
            workload::job(spec, "spec", &mut errors);
            workload::selector_of_job(spec, &mut errors);
            if created {
                workload::new_job(object, &mut errors);
            }
        }
        ("batch", "cronjobs") => {
            workload::job(&spec["jobTemplate"]["spec"], "spec.jobTemplate.spec", &mut errors)
        }
        _ => {}
    }
    errors.0
}

/// The mounts of volumes of pods that other errors are about: there is no such volume, then.
pub(crate) fn validate_mounts(endpoint: &Endpoint, object: &Value, errors: &[FieldError]) -> Vec<FieldError> {
    let at = match (endpoint.group(), endpoint.plural()) {
        ("", "pods") => "spec",
        ("", "podtemplates") => "template.spec",
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => "spec.template.spec",
        ("batch", "jobs") => "spec.template.spec",
        ("batch", "cronjobs") => "spec.jobTemplate.spec.template.spec",
        _ => return Vec::new(),
    };
    let spec = at.split('.').fold(object, |value, part| &value[part]);
    template::mounts(spec, at, errors)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items<'v>(value: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value[list].as_array().into_iter().flatten().enumerate()
}
