//! Reads policies and their bindings.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    admission::{MatchResources, Objects},
    object::{meta, selector::LabelSelector},
    schema::{Expression, PolicyExpression},
};

pub(super) const GROUP: &str = "admissionregistration.k8s.io";

/// All policies with their bindings, by name.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    pub(crate) mutating: Vec<Arc<Policy>>,
    pub(crate) validating: Vec<Arc<Policy>>,
}

/// A policy with its bindings. Its expressions were compiled when it was written.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) resources: MatchResources,
    /// `matchConditions` by name; all have to be true.
    pub(crate) conditions: Vec<(String, Expression)>,
    /// API version and kind of the parameters.
    pub(crate) param_kind: Option<(String, String)>,
    /// In the order in which they may use each other.
    pub(crate) variables: Vec<PolicyVariable>,
    pub(crate) validations: Vec<Validation>,
    pub(crate) mutations: Vec<Mutation>,
    /// `failurePolicy: Fail`: an expression that cannot be evaluated refuses the write.
    pub(crate) fail_closed: bool,
    /// `reinvocationPolicy: IfNeeded`.
    pub(crate) reinvoke: bool,
    pub(crate) bindings: Vec<Binding>,
}

/// A named expression, `variables.name` in later ones.
#[derive(Debug)]
pub(crate) struct PolicyVariable {
    pub(crate) name: String,
    pub(crate) expression: Expression,
}

/// A condition on writes.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    /// The expression as it was written.
    pub(crate) text: String,
    pub(crate) message: Option<String>,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) reason: Option<String>,
}

/// A change of objects.
#[derive(Debug)]
pub(crate) enum Mutation {
    /// The result is merged into the object as server-side apply does.
    ApplyConfiguration(Expression),
    /// The result is a list of JSON patch operations.
    JsonPatch(Expression),
}

/// Puts a policy into effect.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    /// Narrows the resources of the policy.
    pub(crate) resources: Option<MatchResources>,
    pub(crate) params: Option<ParamRef>,
    pub(crate) actions: Vec<FailureAction>,
}

/// What a failed validation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureAction {
    Deny,
    Warn,
}

/// Which objects are the parameters.
#[derive(Debug)]
pub(crate) struct ParamRef {
    pub(crate) objects: Parameter,
    pub(crate) namespace: Option<String>,
    /// `parameterNotFoundAction: Deny`.
    pub(crate) required: bool,
}

#[derive(Debug)]
pub(crate) enum Parameter {
    Named(String),
    Selected(LabelSelector),
}

impl Policies {
    pub(crate) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    /// Reads all policies and bindings.
    pub(crate) fn read(objects: Objects<'_>) -> Self {
        let all = |policies: &str, bindings: &str| {
            let mut by_policy: BTreeMap<String, Vec<Binding>> = BTreeMap::new();
            for binding in objects.list(GROUP, bindings, None) {
                let policy = binding["spec"]["policyName"].as_str().unwrap_or_default().to_owned();
                by_policy.entry(policy).or_default().push(Binding::read(&binding));
            }
            let bound = objects.list(GROUP, policies, None).filter_map(|policy| {
                let bindings = by_policy.remove(meta::name(&policy))?;
                Some(Arc::new(Policy::read(&policy, bindings)))
            });
            bound.collect::<Vec<_>>()
        };
        Self {
            mutating: all("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
            validating: all("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        }
    }
}

impl Policy {
    fn read(policy: &Value, bindings: Vec<Binding>) -> Self {
        let spec = &policy["spec"];
        let items = |list: &str| spec[list].as_array().into_iter().flatten();
        let named = |item: &Value| {
            Some((text(&item["name"])?, PolicyExpression::Plain.parse(item["expression"].as_str()?).ok()?))
        };
        let kind = |field: &str| text(&spec["paramKind"][field]);
        Self {
            name: meta::name(policy).to_owned(),
            resources: MatchResources::read(&spec["matchConstraints"], "resourceRules"),
            conditions: items("matchConditions").filter_map(named).collect(),
            param_kind: kind("apiVersion").zip(kind("kind")),
            variables: items("variables")
                .filter_map(|variable| {
                    let expression =
                        PolicyExpression::Mutation.parse(variable["expression"].as_str()?).ok()?;
                    Some(PolicyVariable { name: text(&variable["name"])?, expression })
                })
                .collect(),
            validations: items("validations").filter_map(Validation::read).collect(),
            mutations: items("mutations").filter_map(Mutation::read).collect(),
            fail_closed: spec["failurePolicy"] != "Ignore",
            reinvoke: spec["reinvocationPolicy"] == "IfNeeded",
            bindings,
        }
    }
}

impl Validation {
    fn read(validation: &Value) -> Option<Self> {
        let expression = |field: &str| PolicyExpression::Plain.parse(validation[field].as_str()?).ok();
        Some(Self {
            expression: expression("expression")?,
            text: text(&validation["expression"])?,
            message: text(&validation["message"]),
            message_expression: expression("messageExpression"),
            reason: text(&validation["reason"]),
        })
    }
}

impl Mutation {
    fn read(mutation: &Value) -> Option<Self> {
        let expression =
            |field: &str| PolicyExpression::Mutation.parse(mutation[field]["expression"].as_str()?).ok();
        match mutation["patchType"].as_str()? {
            "ApplyConfiguration" => expression("applyConfiguration").map(Self::ApplyConfiguration),
            _ => expression("jsonPatch").map(Self::JsonPatch),
        }
    }
}

impl Binding {
    fn read(binding: &Value) -> Self {
        let spec = &binding["spec"];
        let resources = &spec["matchResources"];
        let actions = spec["validationActions"].as_array().into_iter().flatten();
        Self {
            name: meta::name(binding).to_owned(),
            resources: resources.is_object().then(|| MatchResources::read(resources, "resourceRules")),
            params: ParamRef::read(&spec["paramRef"]),
            actions: actions
                .filter_map(|action| match action.as_str()? {
                    "Deny" => Some(FailureAction::Deny),
                    "Warn" => Some(FailureAction::Warn),
                    // There is no audit log.
                    _ => None,
                })
                .collect(),
        }
    }
}

impl ParamRef {
    fn read(reference: &Value) -> Option<Self> {
        let objects = match text(&reference["name"]) {
            Some(name) => Parameter::Named(name),
            None => Parameter::Selected(LabelSelector::from_object(&reference["selector"])?),
        };
        let required = reference["parameterNotFoundAction"] != "Allow";
        reference.is_object().then(|| Self { objects, namespace: text(&reference["namespace"]), required })
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
