//! Admission policies and their bindings.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Write;
use crate::{
    object::{meta, names},
    schema::{ErrorList, PolicyExpression, REQUEST_RESOURCE, Returns},
    validation::values::items,
};

const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
/// The variables of every expression, besides `params` and `variables`.
const VARIABLES: [&str; 6] =
    ["object", "oldObject", "request", "namespaceObject", "authorizer", REQUEST_RESOURCE];

pub(super) fn validating(write: &Write<'_>, errors: &mut ErrorList) {
    Check::of(write, errors).policy(false);
}

pub(super) fn mutating(write: &Write<'_>, errors: &mut ErrorList) {
    Check::of(write, errors).policy(true);
}

pub(super) fn validating_binding(write: &Write<'_>, errors: &mut ErrorList) {
    let mut check = Check::of(write, errors);
    check.binding();
    check.actions();
}

pub(super) fn mutating_binding(write: &Write<'_>, errors: &mut ErrorList) {
    Check::of(write, errors).binding();
}

struct Check<'a> {
    name: &'a str,
    spec: &'a Value,
    errors: &'a mut ErrorList,
}

impl<'a> Check<'a> {
    fn of(write: &Write<'a>, errors: &'a mut ErrorList) -> Self {
        Self { name: meta::name(write.object), spec: &write.object["spec"], errors }
    }

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
            self.errors.required("spec.matchConstraints", "");
        } else {
            self.resources("spec.matchConstraints", constraints);
            if items(constraints, "resourceRules").next().is_none() {
                self.errors.required("spec.matchConstraints.resourceRules", "");
            }
        }
        let mut names = BTreeSet::new();
        for (i, condition) in items(spec, "matchConditions") {
            let at = format!("spec.matchConditions[{i}]");
            if self.present(&format!("{at}.expression"), &condition["expression"], "") {
                let variables = self.variables(false);
                self.expression(&format!("{at}.expression"), condition, &variables, Returns::Bool);
            }
            self.present(&format!("{at}.name"), &condition["name"], "");
            let name = condition["name"].as_str().unwrap_or_default();
            if !name.is_empty() && !names.insert(name) {
                self.errors.repeated(format!("{at}.name"), name);
            }
        }
        for (i, variable) in items(spec, "variables") {
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
                self.errors.invalid(name_at, format!("{name:?}"), "name is not a valid CEL identifier");
            }
        }
        let at = format!("{at}.expression");
        if self.present(&at, &variable["expression"], "expression is not specified") {
            let variables = self.variables(true);
            self.compiled(
                &at,
                &variable["expression"],
                PolicyExpression::Mutation,
                &variables,
                Returns::Anything,
            );
        }
    }

    fn validations(&mut self) {
        let spec = self.spec;
        if items(spec, "validations").next().is_none() && items(spec, "auditAnnotations").next().is_none() {
            for field in ["spec.validations", "spec.auditAnnotations"] {
                self.errors.required(field, "validations or auditAnnotations must contain at least one item");
            }
        }
        let variables = self.variables(true);
        for (i, validation) in items(spec, "validations") {
            let at = |field: &str| format!("spec.validations[{i}].{field}");
            if self.present(&at("expression"), &validation["expression"], "expression is not specified") {
                self.expression(&at("expression"), validation, &variables, Returns::Bool);
            }
            let expression = &validation["messageExpression"];
            match expression.as_str().unwrap_or_default() {
                "" => {}
                text if text.trim().is_empty() => {
                    let why = "must be non-empty if specified";
                    self.errors.invalid(at("messageExpression"), expression, why);
                }
                _ => {
                    let kind = PolicyExpression::Plain;
                    self.compiled(&at("messageExpression"), expression, kind, &variables, Returns::String);
                }
            }
            let message = validation["message"].as_str().unwrap_or_default();
            let problem = match message.trim() {
                "" if !message.is_empty() => Some("message must be non-empty if specified"),
                text if text.contains(['\n', '\r']) => Some("message must not contain line breaks"),
                _ => None,
            };
            if let Some(why) = problem {
                self.errors.invalid(at("message"), &validation["message"], why);
            }
            self.choice(&at("reason"), &validation["reason"], &REASONS);
        }
        for (i, annotation) in items(spec, "auditAnnotations") {
            let at = |field: &str| format!("spec.auditAnnotations[{i}].{field}");
            // The policy is the domain of the annotation.
            let key = format!("{}/{}", self.name, annotation["key"].as_str().unwrap_or_default());
            self.errors.text(at("key"), &key, names::qualified_name(&key));
            let expression = &annotation["valueExpression"];
            if self.present(&at("valueExpression"), expression, "valueExpression is not specified") {
                let kind = PolicyExpression::Plain;
                self.compiled(&at("valueExpression"), expression, kind, &variables, Returns::StringOrNull);
            }
        }
    }

    fn mutations(&mut self) {
        let spec = self.spec;
        if items(spec, "mutations").next().is_none() {
            self.errors.required("spec.mutations", "mutations must contain at least one item");
        }
        let variables = self.variables(true);
        for (i, mutation) in items(spec, "mutations") {
            let at = format!("spec.mutations[{i}]");
            let field = match mutation["patchType"].as_str().unwrap_or_default() {
                "ApplyConfiguration" => "applyConfiguration",
                "JSONPatch" => "jsonPatch",
                "" => {
                    self.errors.required(format!("{at}.patchType"), "");
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
                self.compiled(&at, expression, PolicyExpression::Mutation, &variables, Returns::Anything);
            }
        }
        if self.present("spec.reinvocationPolicy", &spec["reinvocationPolicy"], "") {
            self.choice("spec.reinvocationPolicy", &spec["reinvocationPolicy"], &["IfNeeded", "Never"]);
        }
    }

    fn binding(&mut self) {
        let spec = self.spec;
        self.present("spec.policyName", &spec["policyName"], "");
        let reference = &spec["paramRef"];
        if !reference.is_null() {
            let (named, selected) = (!is_empty(&reference["name"]), !reference["selector"].is_null());
            if named && selected {
                for field in ["name", "selector"] {
                    let why = "name and selector are mutually exclusive";
                    self.errors.forbidden(format!("spec.paramRef.{field}"), why);
                }
            } else if !named && !selected {
                self.errors.required("spec.paramRef", "one of name or selector must be specified");
            }
            let at = "spec.paramRef.parameterNotFoundAction";
            if self.present(at, &reference["parameterNotFoundAction"], "") {
                self.choice(at, &reference["parameterNotFoundAction"], &["Allow", "Deny"]);
            }
        }
        if !spec["matchResources"].is_null() {
            self.resources("spec.matchResources", &spec["matchResources"]);
        }
    }

    fn actions(&mut self) {
        const AT: &str = "spec.validationActions";
        let mut seen = BTreeSet::new();
        for (i, action) in items(self.spec, "validationActions") {
            self.choice(&format!("{AT}[{i}]"), action, &ACTIONS);
            if !seen.insert(action.as_str().unwrap_or_default()) {
                self.errors.duplicate(format!("{AT}[{i}]"), action);
            }
        }
        if seen.contains("Deny") && seen.contains("Warn") {
            let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                response and headers serves no purpose)";
            self.errors.invalid(AT, &self.spec["validationActions"], why);
        }
        if seen.is_empty() {
            self.errors.required(AT, "at least one validation action is required");
        }
    }

    fn resources(&mut self, at: &str, resources: &Value) {
        self.choice(&format!("{at}.matchPolicy"), &resources["matchPolicy"], &["Equivalent", "Exact"]);
        for rules in ["resourceRules", "excludeResourceRules"] {
            for (i, rule) in items(resources, rules) {
                for field in ["operations", "apiGroups", "apiVersions", "resources"] {
                    if items(rule, field).next().is_none() {
                        self.errors.required(format!("{at}.{rules}[{i}].{field}"), "");
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

    fn expression(&mut self, at: &str, holder: &Value, variables: &[&str], returns: Returns) {
        self.compiled(at, &holder["expression"], PolicyExpression::Plain, variables, returns);
    }

    fn compiled(
        &mut self,
        at: &str,
        text: &Value,
        kind: PolicyExpression,
        variables: &[&str],
        returns: Returns,
    ) {
        if let Err(why) = kind.check(text.as_str().unwrap_or_default(), variables, returns) {
            self.errors.invalid(at, text, &why);
        }
    }

    /// Whether a text is there; if not, that is an error.
    fn present(&mut self, at: &str, value: &Value, why: &str) -> bool {
        let missing = is_empty(value);
        if missing {
            self.errors.required(at, why);
        }
        !missing
    }

    fn choice(&mut self, at: &str, value: &Value, supported: &[&str]) {
        if let Some(text) = value.as_str() {
            self.errors.one_of(at, text, supported);
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.trim().is_empty())
}
