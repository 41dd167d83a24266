//! Keys whose values a new pod's terms take from its own labels (KEP-3633, KEP-3243).

use serde_json::{Value, json};

use crate::schema::ErrorList;

/// The lists of keys of a term, and the operator that the term gets for each.
const LISTS: [(&str, &str); 2] = [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")];
const AFFINITIES: [&str; 2] = ["podAffinity", "podAntiAffinity"];
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Adds the requirements to the selectors of the terms.
pub(super) fn merge(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].clone();
    for (pointer, _) in terms(pod) {
        let Some(term) = pod.pointer_mut(&pointer).filter(|term| term["labelSelector"].is_object()) else {
            continue;
        };
        for (list, operator) in LISTS {
            let keys = term[list].as_array().cloned().unwrap_or_default();
            for (key, value) in keys.iter().filter_map(|key| Some((key, labels.get(key.as_str()?)?))) {
                let added = json!({"key": key, "operator": operator, "values": [value]});
                let expressions = &mut term["labelSelector"]["matchExpressions"];
                match expressions.as_array_mut() {
                    Some(expressions) => expressions.push(added),
                    None => *expressions = json!([added]),
                }
            }
        }
    }
}

/// Refuses keys that the selectors had before.
pub(crate) fn validate(pod: &Value, errors: &mut ErrorList) {
    let labels = &pod["metadata"]["labels"];
    for (pointer, at) in terms(pod) {
        let term = pod.pointer(&pointer).unwrap_or(&Value::Null);
        let selector = &term["labelSelector"];
        for (i, key) in term["matchLabelKeys"].as_array().into_iter().flatten().enumerate() {
            let name = key.as_str().unwrap_or_default();
            let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
            let count = expressions.filter(|expression| expression["key"] == *key).count()
                + usize::from(!selector["matchLabels"][name].is_null());
            if !labels[name].is_null() && count > 1 {
                errors.invalid(format!("{at}[{i}]"), key, "exists in both matchLabelKeys and labelSelector");
            }
        }
    }
}

/// The pointers of the terms of a pod, and their paths in errors.
fn terms(pod: &Value) -> Vec<(String, String)> {
    let spec = &pod["spec"];
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    let spread = (0..count(&spec["topologySpreadConstraints"])).map(|i| {
        (format!("/spec/topologySpreadConstraints/{i}"), format!("spec.topologySpreadConstraints[{i}]"))
    });
    let mut terms: Vec<_> = spread.collect();
    for kind in AFFINITIES.into_iter().filter(|kind| spec["affinity"][*kind].is_object()) {
        let affinity = &spec["affinity"][kind];
        for (list, inner) in [(REQUIRED, ""), (PREFERRED, "podAffinityTerm")] {
            for i in 0..count(&affinity[list]) {
                let (pointer, path) =
                    if inner.is_empty() { ("", "") } else { ("/podAffinityTerm", ".podAffinityTerm") };
                terms.push((
                    format!("/spec/affinity/{kind}/{list}/{i}{pointer}"),
                    format!("spec.affinity.{kind}.{list}[{i}]{path}"),
                ));
            }
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `v1.37` answered to each.
    #[test]
    fn terms_take_the_values_of_the_pod() {
        let pod = |selector: Value| {
            let spread = json!([{"labelSelector": selector, "matchLabelKeys": ["x", "none"]}]);
            let term =
                json!({"labelSelector": selector, "matchLabelKeys": ["x"], "mismatchLabelKeys": ["y"]});
            json!({"metadata": {"labels": {"x": "1", "y": "2"}}, "spec": {"topologySpreadConstraints": spread,
                "affinity": {"podAffinity": {REQUIRED: [term], PREFERRED: [{"podAffinityTerm": term}]}}}})
        };
        let mut new = pod(json!({"matchLabels": {"a": "b"}}));
        merge(&mut new);
        let (x, y) = (
            json!({"key": "x", "operator": "In", "values": ["1"]}),
            json!({"key": "y", "operator": "NotIn", "values": ["2"]}),
        );
        let spec = &new["spec"];
        assert_eq!(spec["topologySpreadConstraints"][0]["labelSelector"]["matchExpressions"], json!([x]));
        let affinity = &spec["affinity"]["podAffinity"];
        assert_eq!(affinity[REQUIRED][0]["labelSelector"]["matchExpressions"], json!([x, y]));
        let fields = |pod: &Value| {
            let mut errors = ErrorList::default();
            validate(pod, &mut errors);
            errors.into_iter().map(|error| error.field).collect::<Vec<_>>()
        };
        assert!(fields(&new).is_empty());
        let mut both = pod(json!({"matchLabels": {"x": "1"}}));
        merge(&mut both);
        assert_eq!(
            fields(&both),
            [
                "spec.topologySpreadConstraints[0][0]".to_owned(),
                format!("spec.affinity.podAffinity.{REQUIRED}[0][0]"),
                format!("spec.affinity.podAffinity.{PREFERRED}[0].podAffinityTerm[0]"),
            ]
        );
        let mut none = pod(Value::Null);
        merge(&mut none);
        assert_eq!(none, pod(Value::Null));
    }
}
