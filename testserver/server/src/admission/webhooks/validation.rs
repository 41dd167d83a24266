//! Validation of webhook configurations, with the messages of the genuine server.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    object::names,
    schema::{FieldError, PolicyExpression, REQUEST_RESOURCE, Returns},
    webhook,
};

const OPERATORS: [&str; 4] = ["DoesNotExist", "Exists", "In", "NotIn"];
/// The variables of match conditions.
const VARIABLES: [&str; 5] = ["object", "oldObject", "request", "authorizer", REQUEST_RESOURCE];
const VERSIONS: &str = "must specify one of v1, v1beta1";

/// Validates a `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration`.
pub(crate) fn validate(configuration: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (i, hook) in configuration["webhooks"].as_array().into_iter().flatten().enumerate() {
        let at = format!("webhooks[{i}]");
        let name = hook["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else if let Some(why) = names::subdomain(name) {
            errors.push(FieldError::invalid(format!("{at}.name"), format!("{name:?}"), &why));
        } else if name.split('.').count() < 3 {
            let why = "should be a domain with at least three segments separated by dots";
            errors.push(FieldError::invalid(format!("{at}.name"), format!("{name:?}"), why));
        }
        if !seen.insert(name) && !name.is_empty() {
            errors.push(FieldError::duplicate(format!("{at}.name"), format!("{name:?}")));
        }
        Check { errors: &mut errors, at, hook }.run();
    }
    errors
}

struct Check<'a> {
    errors: &'a mut Vec<FieldError>,
    at: String,
    hook: &'a Value,
}

impl Check<'_> {
    fn run(&mut self) {
        self.versions();
        self.choice("sideEffects", "must specify one of None, NoneOnDryRun", &["None", "NoneOnDryRun"]);
        self.choice("failurePolicy", "", &["Fail", "Ignore"]);
        self.choice("matchPolicy", "", &["Equivalent", "Exact"]);
        let seconds = self.hook["timeoutSeconds"].as_i64().unwrap_or(10);
        if !(1..=30).contains(&seconds) {
            let why = "the timeout value must be between 1 and 30 seconds";
            self.errors.push(FieldError::invalid(format!("{}.timeoutSeconds", self.at), seconds, why));
        }
        let client = format!("{}.clientConfig", self.at);
        self.errors.extend(webhook::validate_client_config(&client, &self.hook["clientConfig"]));
        for (i, rule) in self.hook["rules"].as_array().into_iter().flatten().enumerate() {
            self.rule(&format!("{}.rules[{i}]", self.at), rule);
        }
        for selector in ["namespaceSelector", "objectSelector"] {
            self.selector(selector);
        }
        self.conditions();
    }

    fn versions(&mut self) {
        let at = format!("{}.admissionReviewVersions", self.at);
        let provided: Vec<&str> = self.hook["admissionReviewVersions"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if provided.is_empty() {
            self.errors.push(FieldError::required(at.clone(), VERSIONS));
        } else if !provided.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
            let (shown, why) = (serde_json::json!(provided), "must include at least one of v1, v1beta1");
            self.errors.push(FieldError::invalid(at.clone(), shown, why));
        }
        for (i, version) in provided.iter().enumerate() {
            let wrong = names::service_name(version)
                .or_else(|| provided[..i].contains(version).then(|| "duplicate version".into()));
            if let Some(why) = wrong {
                self.errors.push(FieldError::invalid(format!("{at}[{i}]"), format!("{version:?}"), &why));
            }
        }
    }

    /// A field with a fixed set of values; an empty `missing` means that the field is optional.
    fn choice(&mut self, field: &str, missing: &str, possible: &[&str]) {
        let at = format!("{}.{field}", self.at);
        match self.hook[field].as_str() {
            None if missing.is_empty() => {}
            None => self.errors.push(FieldError::required(at, missing)),
            Some(value) if possible.contains(&value) => {}
            Some(value) => {
                let supported: Vec<String> = possible.iter().map(|value| format!("{value:?}")).collect();
                self.errors.push(FieldError::not_supported(at, format!("{value:?}"), &supported));
            }
        }
    }

    fn rule(&mut self, at: &str, rule: &Value) {
        for field in ["operations", "apiGroups", "apiVersions", "resources"] {
            if rule[field].as_array().is_none_or(Vec::is_empty) {
                self.errors.push(FieldError::required(format!("{at}.{field}"), ""));
            }
        }
        let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        for (i, provided) in rule["operations"].as_array().into_iter().flatten().enumerate() {
            if !operations.iter().any(|known| provided == known) {
                let supported = operations.map(|known| format!("{known:?}"));
                let error = FieldError::not_supported(format!("{at}.operations[{i}]"), provided, &supported);
                self.errors.push(error);
            }
        }
        for (list, what) in
            [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
        {
            let items = rule[list].as_array().map_or(&[][..], Vec::as_slice);
            if items.len() > 1 && items.iter().any(|item| item == "*") {
                let why = format!("if '*' is present, must not specify other {what}");
                self.errors.push(FieldError::invalid(format!("{at}.{list}"), &rule[list], &why));
            }
        }
        self.resources(&format!("{at}.resources"), &rule["resources"]);
        let scopes = ["*", "Cluster", "Namespaced"];
        if let Some(scope) = rule["scope"].as_str().filter(|scope| !scopes.contains(scope)) {
            let supported = scopes.map(|known| format!("{known:?}"));
            self.errors.push(FieldError::not_supported(
                format!("{at}.scope"),
                format!("{scope:?}"),
                &supported,
            ));
        }
    }

    /// Resources that a wildcard of the same rule covers.
    fn resources(&mut self, at: &str, list: &Value) {
        let names: Vec<&str> =
            list.as_array().into_iter().flatten().map(|name| name.as_str().unwrap_or_default()).collect();
        for (i, name) in names.iter().enumerate() {
            let Some((resource, part)) = name.split_once('/') else { continue };
            for wildcard in [format!("{resource}/*"), format!("*/{part}")] {
                if *name != wildcard && names[..i].contains(&wildcard.as_str()) {
                    let why = format!("if '{wildcard}' is present, must not specify {name}");
                    self.errors.push(FieldError::invalid(format!("{at}[{i}]"), format!("{name:?}"), &why));
                }
            }
        }
        if names.len() > 1 && names.contains(&"*/*") {
            let why = "if '*/*' is present, must not specify other resources";
            self.errors.push(FieldError::invalid(at, list, why));
        } else if names.contains(&"*") && names.iter().any(|name| *name != "*" && !name.contains('/')) {
            let why = "if '*' is present, must not specify other resources without subresources";
            self.errors.push(FieldError::invalid(at, list, why));
        }
    }

    fn selector(&mut self, field: &str) {
        let expressions = self.hook[field]["matchExpressions"].as_array().into_iter().flatten();
        for (i, expression) in expressions.enumerate() {
            let operator = expression["operator"].as_str().unwrap_or_default();
            if !OPERATORS.contains(&operator) {
                let at = format!("{}.{field}.matchExpressions[{i}].operator", self.at);
                let why = "not a valid selector operator";
                self.errors.push(FieldError::invalid(at, format!("{operator:?}"), why));
            }
        }
    }

    fn conditions(&mut self) {
        let mut names = BTreeSet::new();
        for (i, condition) in self.hook["matchConditions"].as_array().into_iter().flatten().enumerate() {
            let at = format!("{}.matchConditions[{i}]", self.at);
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            if text("name").is_empty() {
                self.errors.push(FieldError::required(format!("{at}.name"), ""));
            } else if !names.insert(text("name")) {
                self.errors.push(FieldError::duplicate(format!("{at}.name"), format!("{:?}", text("name"))));
            }
            if text("expression").trim().is_empty() {
                self.errors.push(FieldError::required(format!("{at}.expression"), ""));
            } else if let Err(why) =
                PolicyExpression::Plain.check(text("expression"), &VARIABLES, Returns::Bool)
            {
                let shown = format!("{:?}", text("expression"));
                self.errors.push(FieldError::invalid(format!("{at}.expression"), shown, &why));
            }
        }
    }
}
