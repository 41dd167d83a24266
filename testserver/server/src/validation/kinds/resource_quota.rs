//! ResourceQuotas: names and amounts of resources, and scopes that fit them.

use serde_json::Value;

use super::Write;
use crate::{
    object::quantity::Quantity,
    schema::ErrorList,
    validation::values::{items, text},
};

const SCOPES: &str =
    "BestEffort CrossNamespacePodAffinity NotBestEffort NotTerminating PriorityClass Terminating";
const CONFLICTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
/// Quota resources that are whole numbers.
const OBJECTS: &str = "configmaps persistentvolumeclaims pods replicationcontrollers resourcequotas secrets services \
    services.loadbalancers services.nodeports";
const COMPUTE: [&str; 3] = ["cpu", "ephemeral-storage", "memory"];

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let spec = write.spec();
    let hard = || spec["hard"].as_object().into_iter().flatten();
    for (name, amount) in hard() {
        resource(format!("spec.hard[{name}]"), name, amount, errors);
    }
    let scopes: Vec<&str> = items(spec, "scopes").filter_map(|(_, scope)| scope.as_str()).collect();
    let mut refuse = |why: &str| {
        errors.invalid("spec.scopes", serde_json::json!(scopes), why);
    };
    for scope in &scopes {
        if !is_scope(scope) {
            refuse("unsupported scope");
        }
        for _ in hard().filter(|(name, _)| is_standard(name) && !fits(scope, name)) {
            refuse("unsupported scope applied to resource");
        }
    }
    if CONFLICTS.iter().any(|pair| pair.iter().all(|scope| scopes.contains(scope))) {
        refuse("conflicting scopes");
    }
    for (_, expression) in items(&spec["scopeSelector"], "matchExpressions") {
        selector(expression, errors);
    }
}

/// What is used of which amounts, as the quota controller says.
pub(super) fn validate_status(write: &Write<'_>, errors: &mut ErrorList) {
    let status = &write.object["status"];
    for list in ["hard", "used"] {
        for (name, amount) in status[list].as_object().into_iter().flatten() {
            resource(format!("status.{list}[{name}]"), name, amount, errors);
        }
    }
}

fn resource(field: String, name: &str, amount: &Value, errors: &mut ErrorList) {
    if !name.contains('/') && !is_standard(name) {
        let unknown = !matches!(name, "storage");
        let standard = "must be a standard resource type or fully qualified";
        errors.text(field.clone(), name, unknown.then(|| standard.into()));
        errors.text(field.clone(), name, Some("must be a standard resource for quota".into()));
    }
    let Some(amount) = Quantity::read(amount) else { return };
    let printed = format!("{:?}", amount.to_string());
    let counts_objects = is_object(name)
        || name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.");
    if amount.is_negative() {
        errors.invalid(field, printed, "must be greater than or equal to 0");
    } else if counts_objects && !amount.is_whole() {
        errors.invalid(field, printed, "must be an integer");
    }
}

fn is_scope(name: &str) -> bool {
    SCOPES.split(' ').any(|scope| scope == name)
}

fn is_object(name: &str) -> bool {
    OBJECTS.split(' ').any(|object| object == name)
}

fn is_standard(name: &str) -> bool {
    let plain = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    is_object(name)
        || name == "requests.storage"
        || COMPUTE.contains(&plain)
        || plain.starts_with("hugepages-") && !name.starts_with("limits.")
}

/// Whether a scope selects what a resource counts: pods, and with BestEffort only their number.
fn fits(scope: &str, name: &str) -> bool {
    match scope {
        "BestEffort" => name == "pods",
        _ => name == "pods" || !is_object(name) && name != "requests.storage",
    }
}

fn selector(expression: &Value, errors: &mut ErrorList) {
    const AT: &str = "spec.scopeSelector.matchExpressions";
    let (scope, operator) = (text(expression, "scopeName"), text(expression, "operator"));
    let values = expression["values"].as_array().map_or(0, Vec::len);
    if !is_scope(scope) {
        errors.text(format!("{AT}.scopeName"), scope, Some("unsupported scope".into()));
    } else if scope != "PriorityClass" && operator != "Exists" {
        let why = "must be 'Exist' only operator when scope is any of ResourceQuotaScopeTerminating, \
            ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
            ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.text(format!("{AT}.operator"), operator, Some(why.into()));
    }
    match operator {
        "In" | "NotIn" if values == 0 => {
            let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.required(format!("{AT}.values"), why);
        }
        "Exists" | "DoesNotExist" if values > 0 => {
            let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.invalid(format!("{AT}.values"), &expression["values"], why);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.text(format!("{AT}.operator"), operator, Some("not a valid selector operator".into())),
    }
}
