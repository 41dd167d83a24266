//! What differs between two states.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Hidden, Normal};

/// One difference from the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// An object that the reference has.
    Missing(String),
    /// An object that the reference does not have.
    LeftOver(String),
    /// An object that is still being deleted.
    Stuck(String),
    /// A value: object and path, and how it differs.
    Value { at: String, how: String },
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(object) => write!(f, "{object} is missing"),
            Self::LeftOver(object) => write!(f, "{object} is left over"),
            Self::Stuck(object) => write!(f, "{object} is stuck in deletion"),
            Self::Value { at, how } => write!(f, "{at} is {how}"),
        }
    }
}

/// Compares a state with that of the reference. Values at masked paths are ignored: they differ in every run.
pub(crate) fn compare(
    reference: &Normal,
    state: &Normal,
    masks: &BTreeSet<String>,
    hidden: &Hidden,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (key, expected) in reference {
        let Some(object) = state.get(key) else {
            differences.push(Difference::Missing(key.clone()));
            continue;
        };
        if is_deleting(object) && !is_deleting(expected) {
            differences.push(Difference::Stuck(key.clone()));
            continue;
        }
        let resource = key.split(' ').next().unwrap_or_default();
        paths("", expected, object, &mut |path, expected, value| {
            let at = format!("{key}{path}");
            if !masks.contains(&at) {
                let show = |value| hidden.value(resource, path, value);
                differences.push(Difference::Value {
                    at,
                    how: format!("{} instead of {}", show(value), show(expected)),
                });
            }
        });
    }
    for (key, object) in state.iter().filter(|(key, _)| !reference.contains_key(*key)) {
        let stuck = is_deleting(object);
        differences.push(if stuck {
            Difference::Stuck(key.clone())
        } else {
            Difference::LeftOver(key.clone())
        });
    }
    differences
}

fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Calls `differs` with each path whose values differ.
pub(crate) fn paths(path: &str, one: &Value, other: &Value, differs: &mut impl FnMut(&str, &Value, &Value)) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            let added = others.keys().filter(|key| !fields.contains_key(*key));
            for key in fields.keys().chain(added) {
                let [field, other] = [fields, others].map(|of| of.get(key).unwrap_or(&Value::Null));
                paths(&format!("{path}.{key}"), field, other, differs);
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (at, (item, other)) in items.iter().zip(others).enumerate() {
                paths(&format!("{path}[{at}]"), item, other, differs);
            }
        }
        _ if one == other => {}
        _ => differs(path, one, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn texts(state: Normal) -> Vec<String> {
        let reference = Normal::from([
            ("configmaps a".to_owned(), json!({"data": {"n": 1, "random": 7}})),
            ("configmaps b".to_owned(), json!({})),
        ]);
        let masks = BTreeSet::from(["configmaps a.data.random".to_owned()]);
        compare(&reference, &state, &masks, &Hidden::default()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_kind_of_difference_is_told() {
        let deleting = json!({"metadata": {"deletionTimestamp": "<time>"}});
        let state = Normal::from([
            ("configmaps a".to_owned(), json!({"data": {"n": 2, "random": 8, "more": true}})),
            ("configmaps c".to_owned(), json!({})),
            ("configmaps d".to_owned(), deleting.clone()),
        ]);
        assert_eq!(
            texts(state),
            [
                "configmaps a.data.n is 2 instead of 1",
                "configmaps a.data.more is true instead of null",
                "configmaps b is missing",
                "configmaps c is left over",
                "configmaps d is stuck in deletion",
            ]
        );
        let stuck = Normal::from([
            ("configmaps a".to_owned(), deleting.clone()),
            ("configmaps b".to_owned(), deleting),
        ]);
        assert_eq!(texts(stuck), ["configmaps a is stuck in deletion", "configmaps b is stuck in deletion"]);
    }
}
