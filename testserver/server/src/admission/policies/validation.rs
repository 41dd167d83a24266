//! Validation of policies and bindings, with the messages of the genuine server.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object::{meta, names};
use crate::schema::{FieldError, PolicyExpression, REQUEST_RESOURCE, Returns};

const REASONS: [&str; 4] = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
/// The variables of every expression, besides `params` and `variables`.
const VARIABLES: [&str; 6] =
    ["object", "oldObject", "request", "namespaceObject", "authorizer", REQUEST_RESOURCE];

/// Validates a policy or a binding.
pub(crate) fn validate(plural: &str, object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut check = Check { name: meta::name(object), spec, errors: Vec::new() };
    match plural {
        "validatingadmissionpolicies" => check.policy(false),
        "mutatingadmissionpolicies" => check.policy(true),
        "validatingadmissionpolicybindings" => check.binding(true),
        "mutatingadmissionpolicybindings" => check.binding(false),
        _ => {}
    }
    check.errors
}

struct Check<'a> {
    name: &'a str,
    spec: &'a Value,
    errors: Vec<FieldError>,
}

impl Check<'_> {
    fn policy(&mut self, mutating: bool) {
        let spec = self.spec;
        self.choice("spec.failurePolicy", &spec["failurePolicy"], &["Fail", "Ignore"]);
        if !spec["paramKind"].is_null() {
            for field in ["apiVersion", "kind"] {
                self.present(&format!("spec.paramKind.{field}"), &spec["paramKind"][field], "");
            }
        }
        let constraints = &spec["matchConstraints"];
        if constraints.is_null() {
            self.errors.push(FieldError::required("spec.matchConstraints", ""));
        } else {
            self.resources("spec.matchConstraints", constraints);
            if list(constraints, "resourceRules").next().is_none() {
                self.errors.push(FieldError::required("spec.matchConstraints.resourceRules", ""));
            }
        }
        let mut names = BTreeSet::new();
        for (i, condition) in list(spec, "matchConditions").enumerate() {
            let at = format!("spec.matchConditions[{i}]");
            if self.present(&format!("{at}.expression"), &condition["expression"], "") {
                let known = self.variables(false);
                self.expression(&format!("{at}.expression"), condition, &known, Returns::Bool);
            }
            self.present(&format!("{at}.name"), &condition["name"], "");
            let name = condition["name"].as_str().unwrap_or_default();
            if !name.is_empty() && !names.insert(name) {
                self.errors.push(FieldError::duplicate(format!("{at}.name"), format!("{name:?}")));
            }
        }
        for (i, variable) in list(spec, "variables").enumerate() {
            self.variable(&format!("spec.variables[{i}]"), variable);
        }
        if mutating { self.mutations() } else { self.validations() }
    }

    fn variable(&mut self, at: &str, variable: &Value) {
        let name_at = format!("{at}.name");
        if self.present(&name_at, &variable["name"], "name is not specified") {
            let name = variable["name"].as_str().unwrap_or_default();
            let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if !starts || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                let why = "name is not a valid CEL identifier";
                self.errors.push(FieldError::invalid(name_at, format!("{name:?}"), why));
            }
        }
        let at = format!("{at}.expression");
        if self.present(&at, &variable["expression"], "expression is not specified") {
            let known = self.variables(true);
            self.compiled(
                &at,
                &variable["expression"],
                PolicyExpression::Mutation,
                &known,
                Returns::Anything,
            );
        }
    }

    fn validations(&mut self) {
        let spec = self.spec;
        if list(spec, "validations").next().is_none() && list(spec, "auditAnnotations").next().is_none() {
            for field in ["spec.validations", "spec.auditAnnotations"] {
                let why = "validations or auditAnnotations must contain at least one item";
                self.errors.push(FieldError::required(field, why));
            }
        }
        let known = self.variables(true);
        for (i, validation) in list(spec, "validations").enumerate() {
            let at = |field: &str| format!("spec.validations[{i}].{field}");
            if self.present(&at("expression"), &validation["expression"], "expression is not specified") {
                self.expression(&at("expression"), validation, &known, Returns::Bool);
            }
            let expression = &validation["messageExpression"];
            match expression.as_str().unwrap_or_default() {
                "" => {}
                text if text.trim().is_empty() => {
                    let why = "must be non-empty if specified";
                    self.errors.push(FieldError::invalid(at("messageExpression"), expression, why));
                }
                _ => {
                    let kind = PolicyExpression::Plain;
                    self.compiled(&at("messageExpression"), expression, kind, &known, Returns::String);
                }
            }
            let message = validation["message"].as_str().unwrap_or_default();
            let problem = match message.trim() {
                "" if !message.is_empty() => Some("message must be non-empty if specified"),
                text if text.contains(['\n', '\r']) => Some("message must not contain line breaks"),
                _ => None,
            };
            if let Some(why) = problem {
                self.errors.push(FieldError::invalid(at("message"), &validation["message"], why));
            }
            self.choice(&at("reason"), &validation["reason"], &REASONS);
        }
        for (i, annotation) in list(spec, "auditAnnotations").enumerate() {
            let at = |field: &str| format!("spec.auditAnnotations[{i}].{field}");
            // The policy is the domain of the annotation.
            let key = format!("{}/{}", self.name, annotation["key"].as_str().unwrap_or_default());
            if let Some(why) = names::qualified_name(&key) {
                self.errors.push(FieldError::invalid(at("key"), format!("{key:?}"), &why));
            }
            let expression = &annotation["valueExpression"];
            if self.present(&at("valueExpression"), expression, "valueExpression is not specified") {
                let kind = PolicyExpression::Plain;
                self.compiled(&at("valueExpression"), expression, kind, &known, Returns::StringOrNull);
            }
        }
    }

    fn mutations(&mut self) {
        let spec = self.spec;
        if list(spec, "mutations").next().is_none() {
            let why = "mutations must contain at least one item";
            self.errors.push(FieldError::required("spec.mutations", why));
        }
        let known = self.variables(true);
        for (i, mutation) in list(spec, "mutations").enumerate() {
            let at = format!("spec.mutations[{i}]");
            let field = match mutation["patchType"].as_str().unwrap_or_default() {
                "ApplyConfiguration" => "applyConfiguration",
                "JSONPatch" => "jsonPatch",
                "" => {
                    self.errors.push(FieldError::required(format!("{at}.patchType"), ""));
                    continue;
                }
                _ => {
                    self.choice(
                        &format!("{at}.patchType"),
                        &mutation["patchType"],
                        &["ApplyConfiguration", "JSONPatch"],
                    );
                    continue;
                }
            };
            let expression = &mutation[field]["expression"];
            let at = format!("{at}.{field}.expression");
            if self.present(&at, expression, "expression is not specified") {
                self.compiled(&at, expression, PolicyExpression::Mutation, &known, Returns::Anything);
            }
        }
        if self.present("spec.reinvocationPolicy", &spec["reinvocationPolicy"], "") {
            self.choice("spec.reinvocationPolicy", &spec["reinvocationPolicy"], &["IfNeeded", "Never"]);
        }
    }

    fn binding(&mut self, validating: bool) {
        let spec = self.spec;
        self.present("spec.policyName", &spec["policyName"], "");
        let reference = &spec["paramRef"];
        if !reference.is_null() {
            let (named, selected) = (!is_empty(&reference["name"]), !reference["selector"].is_null());
            if named && selected {
                for field in ["name", "selector"] {
                    let why = "name and selector are mutually exclusive";
                    self.errors.push(FieldError::forbidden(format!("spec.paramRef.{field}"), why));
                }
            } else if !named && !selected {
                let why = "one of name or selector must be specified";
                self.errors.push(FieldError::required("spec.paramRef", why));
            }
            let at = "spec.paramRef.parameterNotFoundAction";
            if self.present(at, &reference["parameterNotFoundAction"], "") {
                self.choice(at, &reference["parameterNotFoundAction"], &["Allow", "Deny"]);
            }
        }
        if !spec["matchResources"].is_null() {
            self.resources("spec.matchResources", &spec["matchResources"]);
        }
        if validating {
            self.actions();
        }
    }

    fn actions(&mut self) {
        const AT: &str = "spec.validationActions";
        let mut seen = BTreeSet::new();
        for (i, action) in list(self.spec, "validationActions").enumerate() {
            self.choice(&format!("{AT}[{i}]"), action, &ACTIONS);
            if !seen.insert(action.as_str().unwrap_or_default()) {
                self.errors.push(FieldError::duplicate(format!("{AT}[{i}]"), action));
            }
        }
        if seen.contains("Deny") && seen.contains("Warn") {
            let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                response and headers serves no purpose)";
            self.errors.push(FieldError::invalid(AT, &self.spec["validationActions"], why));
        }
        if seen.is_empty() {
            self.errors.push(FieldError::required(AT, "at least one validation action is required"));
        }
    }

    fn resources(&mut self, at: &str, resources: &Value) {
        self.choice(&format!("{at}.matchPolicy"), &resources["matchPolicy"], &["Equivalent", "Exact"]);
        for rules in ["resourceRules", "excludeResourceRules"] {
            for (i, rule) in list(resources, rules).enumerate() {
                for field in ["operations", "apiGroups", "apiVersions", "resources"] {
                    if list(rule, field).next().is_none() {
                        self.errors.push(FieldError::required(format!("{at}.{rules}[{i}].{field}"), ""));
                    }
                }
            }
        }
    }

    /// The variables of an expression. Match conditions are evaluated before the policy's own variables.
    fn variables(&self, composed: bool) -> Vec<&'static str> {
        let params = (!self.spec["paramKind"].is_null()).then_some("params");
        let composed = composed.then_some("variables");
        VARIABLES.into_iter().chain(params).chain(composed).collect()
    }

    fn expression(&mut self, at: &str, holder: &Value, known: &[&str], returns: Returns) {
        self.compiled(at, &holder["expression"], PolicyExpression::Plain, known, returns);
    }

    fn compiled(&mut self, at: &str, text: &Value, kind: PolicyExpression, known: &[&str], returns: Returns) {
        if let Err(why) = kind.check(text.as_str().unwrap_or_default(), known, returns) {
            self.errors.push(FieldError::invalid(at, text, &why));
        }
    }

    /// Whether a text is there; if not, that is an error.
    fn present(&mut self, at: &str, value: &Value, why: &str) -> bool {
        let missing = is_empty(value);
        if missing {
            self.errors.push(FieldError::required(at, why));
        }
        !missing
    }

    fn choice(&mut self, at: &str, value: &Value, possible: &[&str]) {
        if let Some(text) = value.as_str().filter(|text| !possible.contains(text)) {
            let supported: Vec<String> = possible.iter().map(|value| format!("{value:?}")).collect();
            self.errors.push(FieldError::not_supported(at, format!("{text:?}"), &supported));
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.trim().is_empty())
}

fn list<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value[field].as_array().into_iter().flatten()
}
