//! `MutatingWebhookConfiguration` and `ValidatingWebhookConfiguration`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Write;
use crate::{
    object::names,
    schema::{ErrorList, PolicyExpression, REQUEST_RESOURCE, Returns},
    validation::values::{items, text},
    webhook,
};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
/// The variables of match conditions.
const VARIABLES: [&str; 5] = ["object", "oldObject", "request", "authorizer", REQUEST_RESOURCE];
const VERSIONS: &str = "must specify one of v1, v1beta1";

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, hook) in items(write.object, "webhooks") {
        let (at, name) = (format!("webhooks[{i}]"), text(hook, "name"));
        let place = format!("{at}.name");
        let short = || {
            let why = "should be a domain with at least three segments separated by dots";
            (name.split('.').count() < 3).then(|| why.to_owned())
        };
        match name {
            "" => errors.required(&*place, ""),
            name => errors.text(&*place, name, names::subdomain(name).or_else(short)),
        }
        if !seen.insert(name) && !name.is_empty() {
            errors.repeated(place, name);
        }
        Check { errors, at, hook }.run();
    }
}

struct Check<'a> {
    errors: &'a mut ErrorList,
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
            self.errors.invalid(format!("{}.timeoutSeconds", self.at), seconds, why);
        }
        let client = format!("{}.clientConfig", self.at);
        webhook::validate_client_config(&client, &self.hook["clientConfig"], self.errors);
        for (i, rule) in items(self.hook, "rules") {
            self.rule(&format!("{}.rules[{i}]", self.at), rule);
        }
        self.conditions();
    }

    fn versions(&mut self) {
        let at = format!("{}.admissionReviewVersions", self.at);
        let versions = self.hook["admissionReviewVersions"].as_array().map_or(&[][..], Vec::as_slice);
        let versions: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
        if versions.is_empty() {
            self.errors.required(&*at, VERSIONS);
        } else if !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
            let (printed, why) = (serde_json::json!(versions), "must include at least one of v1, v1beta1");
            self.errors.invalid(&*at, printed, why);
        }
        for (i, version) in versions.iter().enumerate() {
            let repeated = || versions[..i].contains(version).then(|| "duplicate version".into());
            let problem = names::service_name(version).or_else(repeated);
            self.errors.text(format!("{at}[{i}]"), version, problem);
        }
    }

    /// A field with a fixed set of values; an empty `missing` means that the field is optional.
    fn choice(&mut self, field: &str, missing: &str, supported: &[&str]) {
        let at = format!("{}.{field}", self.at);
        match self.hook[field].as_str() {
            None if missing.is_empty() => {}
            None => self.errors.required(at, missing),
            Some(value) => self.errors.one_of(at, value, supported),
        }
    }

    fn rule(&mut self, at: &str, rule: &Value) {
        for field in ["operations", "apiGroups", "apiVersions", "resources"] {
            if items(rule, field).next().is_none() {
                self.errors.required(format!("{at}.{field}"), "");
            }
        }
        for (i, operation) in items(rule, "operations") {
            let operation = operation.as_str().unwrap_or_default();
            self.errors.one_of(format!("{at}.operations[{i}]"), operation, &OPERATIONS);
        }
        for (list, what) in
            [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
        {
            if items(rule, list).count() > 1 && items(rule, list).any(|(_, item)| item == "*") {
                let why = format!("if '*' is present, must not specify other {what}");
                self.errors.invalid(format!("{at}.{list}"), &rule[list], &why);
            }
        }
        self.resources(&format!("{at}.resources"), &rule["resources"]);
        if let Some(scope) = rule["scope"].as_str() {
            self.errors.one_of(format!("{at}.scope"), scope, &["*", "Cluster", "Namespaced"]);
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
                    self.errors.invalid(format!("{at}[{i}]"), format!("{name:?}"), &why);
                }
            }
        }
        if names.len() > 1 && names.contains(&"*/*") {
            self.errors.invalid(at, list, "if '*/*' is present, must not specify other resources");
        } else if names.contains(&"*") && names.iter().any(|name| *name != "*" && !name.contains('/')) {
            let why = "if '*' is present, must not specify other resources without subresources";
            self.errors.invalid(at, list, why);
        }
    }

    fn conditions(&mut self) {
        let mut names = BTreeSet::new();
        for (i, condition) in items(self.hook, "matchConditions") {
            let at = format!("{}.matchConditions[{i}]", self.at);
            match text(condition, "name") {
                "" => self.errors.required(format!("{at}.name"), ""),
                name if !names.insert(name) => self.errors.repeated(format!("{at}.name"), name),
                _ => {}
            }
            let (at, expression) = (format!("{at}.expression"), text(condition, "expression"));
            if expression.trim().is_empty() {
                self.errors.required(at, "");
            } else {
                let problem = PolicyExpression::Plain.check(expression, &VARIABLES, Returns::Bool).err();
                self.errors.text(at, expression, problem);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{scheme::Scheme, strategy::WritePart, validation::built_in};

    fn errors(change: Value) -> Vec<String> {
        let mut hook = json!({"name": "t.schema.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1/x"}, "failurePolicy": "Fail", "matchPolicy": "Exact",
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"], "scope": "*"}]});
        for (field, value) in change.as_object().unwrap() {
            hook[field] = value.clone();
        }
        let object = json!({"webhooks": [hook]});
        let scheme = Scheme::with_built_in();
        let endpoint =
            scheme.by_plural("admissionregistration.k8s.io", "validatingwebhookconfigurations").unwrap();
        let mut errors = ErrorList::default();
        built_in::validate(
            &Write { endpoint, part: WritePart::Main, object: &object, old: None },
            &mut errors,
        );
        errors.iter().map(ToString::to_string).collect()
    }

    /// What `core` answered to each; conditions are younger than it.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table: one row for each change")]
    fn configurations_are_checked_field_by_field() {
        assert_eq!(errors(json!({})), Vec::<String>::new());
        let rule = |change: Value| {
            let mut rule =
                json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"]});
            for (field, value) in change.as_object().unwrap() {
                rule[field] = value.clone();
            }
            json!({"rules": [rule]})
        };
        for (change, want) in [
            (
                json!({"sideEffects": null}),
                "sideEffects: Required value: must specify one of None, NoneOnDryRun",
            ),
            (
                json!({"sideEffects": "Some"}),
                "sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
            ),
            (
                json!({"admissionReviewVersions": []}),
                "admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ),
            (
                json!({"admissionReviewVersions": ["v9"]}),
                "admissionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
            ),
            (
                json!({"clientConfig": {"url": "http://x/y"}}),
                "clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ),
            (
                json!({"clientConfig": {}}),
                "clientConfig: Required value: exactly one of url or service is required",
            ),
            (
                json!({"name": "x"}),
                "name: Invalid value: \"x\": should be a domain with at least three segments separated by dots",
            ),
            (
                json!({"timeoutSeconds": 40}),
                "timeoutSeconds: Invalid value: 40: the timeout value must be between 1 and 30 seconds",
            ),
            (
                json!({"failurePolicy": "Nope"}),
                "failurePolicy: Unsupported value: \"Nope\": supported values: \"Fail\", \"Ignore\"",
            ),
            (
                rule(json!({"operations": ["X"]})),
                "rules[0].operations[0]: Unsupported value: \"X\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
            ),
            (rule(json!({"resources": []})), "rules[0].resources: Required value"),
            (
                rule(json!({"scope": "X"})),
                "rules[0].scope: Unsupported value: \"X\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
            ),
            (
                json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Nope"}]}}),
                "objectSelector.matchExpressions[0].operator: Invalid value: \"Nope\": not a valid selector operator",
            ),
        ] {
            assert_eq!(errors(change), [format!("webhooks[0].{want}")]);
        }
        let conditions = json!({"matchConditions": [{"name": "a", "expression": "object."}, {"name": "a", "expression": " "}]});
        let errors = errors(conditions);
        let why = if cfg!(feature = "cel") { "compilation failed" } else { "this server was built without" };
        let expected =
            format!("webhooks[0].matchConditions[0].expression: Invalid value: \"object.\": {why}");
        assert!(errors[0].starts_with(&expected), "{}", errors[0]);
        assert_eq!(errors[1], "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"");
        assert_eq!(errors[2], "webhooks[0].matchConditions[1].expression: Required value");
    }
}
