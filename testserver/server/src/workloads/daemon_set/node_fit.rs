//! Whether a node takes the pods of a template: its name, labels and taints.

use serde_json::{Value, json};

/// What a node does with the pods of a DaemonSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    Runs,
    /// Takes no new pod, and keeps one that it has.
    Keeps,
    Refuses,
}

/// What a node does with pods of this spec that have these tolerations.
pub(super) fn fit(spec: &Value, tolerations: &[Value], node: &Value) -> Fit {
    let labels = &node["metadata"]["labels"];
    let name = &node["metadata"]["name"];
    let named = spec["nodeName"].as_str().is_none_or(|only| only.is_empty() || *name == only);
    let mut selected = spec["nodeSelector"].as_object().into_iter().flatten();
    let selected = selected.all(|(key, value)| labels[key] == *value);
    let affinity = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let terms = affinity["nodeSelectorTerms"].as_array();
    if !named || !selected || !terms.is_none_or(|terms| terms.iter().any(|term| matches(term, labels, name)))
    {
        return Fit::Refuses;
    }
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let repelling = taints.filter(|taint| !tolerations.iter().any(|toleration| tolerates(toleration, taint)));
    repelling.fold(Fit::Runs, |fit, taint| match taint["effect"].as_str() {
        Some("NoExecute") => Fit::Refuses,
        Some("NoSchedule") if fit == Fit::Runs => Fit::Keeps,
        _ => fit,
    })
}

/// The tolerations of a spec, and those that every daemon gets.
pub(super) fn tolerations(spec: &Value) -> Vec<Value> {
    let node = |condition: &str, effect: &str| json!({"key": format!("node.kubernetes.io/{condition}"), "operator": "Exists", "effect": effect});
    let mut all = spec["tolerations"].as_array().cloned().unwrap_or_default();
    let added = [
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ];
    let network = ("network-unavailable", "NoSchedule");
    let added = added.into_iter().chain((spec["hostNetwork"] == true).then_some(network));
    for toleration in added.map(|(condition, effect)| node(condition, effect)) {
        if !all.contains(&toleration) {
            all.push(toleration);
        }
    }
    all
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (key, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
    let any_value = toleration["operator"] == "Exists";
    (effect.is_empty() || taint["effect"] == effect)
        && (key.is_empty() && any_value || taint["key"] == key)
        && (any_value || text(&toleration["value"]) == text(&taint["value"]))
}

/// Whether a node matches a term: all its expressions and fields. An empty term matches nothing.
fn matches(term: &Value, labels: &Value, name: &Value) -> bool {
    let list = |field: &str| term[field].as_array().map_or(&[][..], Vec::as_slice);
    let (expressions, fields) = (list("matchExpressions"), list("matchFields"));
    let by_label = |expression: &Value| {
        let key = expression["key"].as_str().unwrap_or_default();
        holds(expression, labels[key].as_str())
    };
    !(expressions.is_empty() && fields.is_empty())
        && expressions.iter().all(by_label)
        && fields.iter().all(|field| field["key"] == "metadata.name" && holds(field, name.as_str()))
}

fn holds(expression: &Value, value: Option<&str>) -> bool {
    let values = expression["values"].as_array().map_or(&[][..], Vec::as_slice);
    let listed = || value.is_some_and(|value| values.iter().any(|listed| listed == value));
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
    let bounds = || number(value).zip(number(values.first().and_then(Value::as_str)));
    match expression["operator"].as_str() {
        Some("In") => listed(),
        Some("NotIn") => !listed(),
        Some("Exists") => value.is_some(),
        Some("DoesNotExist") => value.is_none(),
        Some("Gt") => bounds().is_some_and(|(value, bound)| value > bound),
        Some("Lt") => bounds().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(spec: &Value, node: &Value) -> Fit {
        super::fit(spec, &tolerations(spec), node)
    }

    fn node(labels: Value, taints: Value) -> Value {
        json!({"metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints}})
    }

    #[test]
    fn a_node_is_chosen_by_name_and_labels() {
        let node = node(json!({"disk": "ssd", "cores": "8"}), json!([]));
        let affinity = |term: Value| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}});
        let expression = |key: &str, operator: &str, values: Value| {
            affinity(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
        };
        for (spec, fits) in [
            (json!({}), true),
            (json!({"nodeName": "n"}), true),
            (json!({"nodeName": "m"}), false),
            (json!({"nodeSelector": {"disk": "ssd"}}), true),
            (json!({"nodeSelector": {"disk": "hdd"}}), false),
            (expression("disk", "In", json!(["hdd", "ssd"])), true),
            (expression("disk", "NotIn", json!(["ssd"])), false),
            (expression("gpu", "NotIn", json!(["a"])), true),
            (expression("gpu", "Exists", json!([])), false),
            (expression("gpu", "DoesNotExist", json!([])), true),
            (expression("cores", "Gt", json!(["4"])), true),
            (expression("cores", "Lt", json!(["8"])), false),
            (
                affinity(
                    json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}),
                ),
                true,
            ),
            (
                affinity(
                    json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}),
                ),
                false,
            ),
            (affinity(json!({})), false),
        ] {
            assert_eq!(fit(&spec, &node) == Fit::Runs, fits, "{spec}");
        }
    }

    #[test]
    fn taints_repel_pods_that_do_not_tolerate_them() {
        let tainted = |effect: &str| node(json!({}), json!([{"key": "a", "value": "b", "effect": effect}]));
        let tolerating = |toleration: Value| json!({"tolerations": [toleration]});
        for (effect, repelled) in
            [("NoSchedule", Fit::Keeps), ("NoExecute", Fit::Refuses), ("PreferNoSchedule", Fit::Runs)]
        {
            assert_eq!(fit(&json!({}), &tainted(effect)), repelled);
            assert_eq!(fit(&tolerating(json!({"operator": "Exists"})), &tainted(effect)), Fit::Runs);
            assert_eq!(fit(&tolerating(json!({"key": "a", "value": "b"})), &tainted(effect)), Fit::Runs);
            assert_eq!(fit(&tolerating(json!({"key": "a", "value": "c"})), &tainted(effect)), repelled);
        }
        let cordoned = json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]);
        assert_eq!(fit(&json!({}), &node(json!({}), cordoned)), Fit::Runs);
        let offline = json!([{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]);
        assert_eq!(fit(&json!({}), &node(json!({}), offline.clone())), Fit::Keeps);
        assert_eq!(fit(&json!({"hostNetwork": true}), &node(json!({}), offline)), Fit::Runs);
    }
}
