//! Scopes: which pods a quota counts.

use serde_json::Value;

/// A condition on pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    name: String,
    operator: String,
    values: Vec<String>,
}

impl Scope {
    /// The scopes of a quota, from both of its fields. A pod has to match all.
    pub(super) fn read(spec: &Value) -> Vec<Self> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let plain = spec["scopes"].as_array().into_iter().flatten().map(|name| Self {
            name: text(name),
            operator: "Exists".into(),
            values: Vec::new(),
        });
        let expressions = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
        let selected = expressions.map(|expression| Self {
            name: text(&expression["scopeName"]),
            operator: text(&expression["operator"]),
            values: expression["values"].as_array().into_iter().flatten().map(text).collect(),
        });
        plain.chain(selected).collect()
    }

    pub(super) fn matches(&self, pod: &Value) -> bool {
        let spec = &pod["spec"];
        let ends = || spec["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0);
        match self.name.as_str() {
            "Terminating" => ends(),
            "NotTerminating" => !ends(),
            "BestEffort" => is_best_effort(spec),
            "NotBestEffort" => !is_best_effort(spec),
            "PriorityClass" => self.selects(spec["priorityClassName"].as_str().unwrap_or_default()),
            "CrossNamespacePodAffinity" => crosses_namespaces(spec),
            _ => false,
        }
    }

    fn selects(&self, class: &str) -> bool {
        let listed = self.values.iter().any(|value| value == class);
        match self.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "DoesNotExist" => class.is_empty(),
            _ => !class.is_empty(),
        }
    }
}

/// Whether no container requests or limits anything.
fn is_best_effort(spec: &Value) -> bool {
    let containers =
        ["containers", "initContainers"].iter().filter_map(|list| spec[list].as_array()).flatten();
    let mut amounts = containers.flat_map(|container| {
        ["requests", "limits"]
            .iter()
            .flat_map(|list| ["cpu", "memory"].map(|name| &container["resources"][*list][name]))
    });
    amounts.all(Value::is_null)
}

/// Whether the pod's affinity to other pods names their namespaces.
fn crosses_namespaces(spec: &Value) -> bool {
    let crosses = |term: &Value| {
        let named = term["namespaces"].as_array().is_some_and(|namespaces| !namespaces.is_empty());
        named || !term["namespaceSelector"].is_null()
    };
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let affinity = &spec["affinity"][kind];
        let terms = |list: &str| affinity[list].as_array().into_iter().flatten();
        terms("requiredDuringSchedulingIgnoredDuringExecution").any(crosses)
            || terms("preferredDuringSchedulingIgnoredDuringExecution")
                .any(|term| crosses(&term["podAffinityTerm"]))
    })
}
