//! Columns of webhook configurations and admission policies.

use serde_json::Value;

use super::{
    column::{AGE, NAME, TableColumn, integer, text},
    values::{UNSET, count},
};

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    if group != "admissionregistration.k8s.io" {
        return None;
    }
    Some(match plural {
        "validatingwebhookconfigurations" | "mutatingwebhookconfigurations" => {
            const { &[NAME, integer("Webhooks", |o| count(&o["webhooks"]).into()), AGE] }
        }
        "validatingadmissionpolicies" => VALIDATING_POLICIES,
        "mutatingadmissionpolicies" => MUTATING_POLICIES,
        "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings" => POLICY_BINDINGS,
        _ => return None,
    })
}

const VALIDATING_POLICIES: &[TableColumn] = &[
    NAME,
    integer("Validations", |o| count(&o["spec"]["validations"]).into()),
    text("ParamKind", parameter_kind),
    AGE,
];

const MUTATING_POLICIES: &[TableColumn] = &[
    NAME,
    integer("Mutations", |o| count(&o["spec"]["mutations"]).into()),
    text("ParamKind", parameter_kind),
    AGE,
];

const POLICY_BINDINGS: &[TableColumn] =
    &[NAME, text("PolicyName", |o| o["spec"]["policyName"].clone()), text("ParamRef", parameters), AGE];

fn parameter_kind(policy: &Value) -> Value {
    let kind = &policy["spec"]["paramKind"];
    let part = |field: &str| kind[field].as_str().unwrap_or_default();
    if kind.is_null() { UNSET.into() } else { format!("{}/{}", part("apiVersion"), part("kind")).into() }
}

fn parameters(binding: &Value) -> Value {
    let reference = &binding["spec"]["paramRef"];
    let part = |field: &str| reference[field].as_str().unwrap_or_default();
    match (reference.is_null(), part("namespace"), part("name")) {
        (true, ..) => UNSET.into(),
        (false, _, "") => reference["selector"].to_string().into(),
        (false, "", name) => format!("*/{name}").into(),
        (false, namespace, name) => format!("{namespace}/{name}").into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_named_with_their_namespace() {
        assert_eq!(parameters(&json!({"spec": {}})), UNSET);
        assert_eq!(parameters(&json!({"spec": {"paramRef": {"name": "p"}}})), "*/p");
        assert_eq!(parameters(&json!({"spec": {"paramRef": {"name": "p", "namespace": "n"}}})), "n/p");
        assert_eq!(
            parameter_kind(&json!({"spec": {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}})),
            "v1/ConfigMap"
        );
    }
}
