//! Selectors of workloads: whether one is valid, and whether the labels of the template match it.

use serde_json::Value;

use crate::object::{names, selector::LabelSelector};

/// Whether a selector object can be compared with labels.
pub(super) fn is_valid(selector: &Value) -> bool {
    let value_fits = |value: &Value| names::label_value(value.as_str().unwrap_or_default()).is_none();
    let mut labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    labels.all(|(key, value)| names::qualified_name(key).is_none() && value_fits(value))
        && expressions.all(|expression| {
            let values = expression["values"].as_array().map_or(&[][..], Vec::as_slice);
            let count_fits = match expression["operator"].as_str().unwrap_or_default() {
                "In" | "NotIn" => !values.is_empty(),
                "Exists" | "DoesNotExist" => values.is_empty(),
                _ => false,
            };
            let key = expression["key"].as_str().unwrap_or_default();
            count_fits && names::qualified_name(key).is_none() && values.iter().all(value_fits)
        })
}

/// Whether labels match a valid selector, which is an object or a plain map. A missing one matches none.
pub(super) fn matches(selector: &Value, plain: bool, labels: &Value) -> bool {
    let parsed =
        if plain { LabelSelector::from_labels(selector) } else { LabelSelector::from_object(selector) };
    selector.is_object() && parsed.is_some_and(|selector| selector.matches(|key| labels[key].as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn expressions_are_valid_and_match_as_on_genuine_servers() {
        let with = |expression: Value| json!({"matchExpressions": [expression]});
        for (expression, valid, fits) in [
            (json!({"key": "a", "operator": "In", "values": ["b"]}), true, true),
            (json!({"key": "a", "operator": "In", "values": ["x"]}), true, false),
            (json!({"key": "a", "operator": "NotIn", "values": ["b"]}), true, false),
            (json!({"key": "c", "operator": "NotIn", "values": ["b"]}), true, true),
            (json!({"key": "a", "operator": "DoesNotExist"}), true, false),
            (json!({"key": "a", "operator": "In"}), false, false),
            (json!({"key": "a", "operator": "Exists", "values": ["b"]}), false, true),
            (json!({"key": "a", "operator": "In", "values": ["b !"]}), false, false),
            (json!({"key": "a !", "operator": "Exists"}), false, false),
            (json!({"key": "a", "operator": "X"}), false, false),
        ] {
            let selector = with(expression);
            assert_eq!(is_valid(&selector), valid, "{selector}");
            assert_eq!(matches(&selector, false, &json!({"a": "b"})), fits, "{selector}");
        }
        assert!(!is_valid(&json!({"matchLabels": {"bad key!": "b"}})) && is_valid(&Value::Null));
        assert!(!matches(&Value::Null, false, &json!({})) && matches(&json!({}), false, &Value::Null));
        assert!(matches(&json!({"a": "b"}), true, &json!({"a": "b", "c": "d"})));
    }
}
