//! Validation of built-in kinds beyond their schemas, with the messages of the genuine server.

mod data;
mod event;
mod service;
mod template;
mod workload;

use serde_json::Value;

use crate::{schema::FieldError, scheme::Endpoint};

/// Validates an object of a built-in kind.
pub(crate) fn validate(endpoint: &Endpoint, object: &Value, created: bool) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let spec = &object["spec"];
    if endpoint.resource.custom {
        return Vec::new();
    }
    match (endpoint.group(), endpoint.plural()) {
        ("", "pods") => template::validate(spec, "spec", &mut errors),
        ("", "services") => service::validate(spec, &mut errors),
        ("" | "events.k8s.io", "events") => event::validate(endpoint, object, created, &mut errors),
        ("", "configmaps" | "secrets") => data::validate(object, &mut errors),
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => {
            workload::validate(endpoint.plural(), spec, &mut errors);
        }
        ("batch", "jobs") => workload::job(spec, &mut errors),
        _ => {}
    }
    errors.0
}

/// The errors so far.
#[derive(Default)]
struct Errors(Vec<FieldError>);

impl Errors {
    fn add(&mut self, error: FieldError) {
        self.0.push(error);
    }

    fn required(&mut self, field: String, detail: &str) {
        self.add(FieldError::required(field, detail));
    }

    /// Adds the error of a name, if there is one.
    fn text(&mut self, field: String, text: &str, problem: Option<String>) {
        if let Some(problem) = problem {
            self.add(FieldError::invalid(field, format!("{text:?}"), &problem));
        }
    }

    /// Refuses negative counts.
    fn count(&mut self, field: &str, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| *number < 0) {
            self.add(FieldError::invalid(field, number, "must be greater than or equal to 0"));
        }
    }

    /// Refuses invalid ports.
    fn port(&mut self, field: String, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| !(1..=65_535).contains(number)) {
            self.add(FieldError::invalid(field, number, "must be between 1 and 65535, inclusive"));
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items<'v>(value: &'v Value, list: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value[list].as_array().into_iter().flatten().enumerate()
}
