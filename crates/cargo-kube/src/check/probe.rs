//! [`probes`]: changes of valid values, which show whether an invalid one refuses them too.
//!
//! A server accepts an invalid value that an update does not change, as long as it can tell. What is missing from an object, or wrong with
//! it as a whole, it sees again with every change below that object. [`changes`] are those of an object that is valid.

use serde_json::Value;

/// An object with another value in one place.
#[derive(Debug, PartialEq)]
pub(super) struct Probe {
    /// All values below it may be refused, such as `.spec`.
    pub(super) below: String,
    /// The value that was changed, such as `.spec.replicas`.
    pub(super) changed: String,
    pub(super) data: Value,
}

/// The object `data` with one valid value changed, for each object and list around `field`, the innermost first. `field` is that of an
/// error about `data`, such as `spec.rules[0].port`.
pub(super) fn probes(data: &Value, field: &str) -> Vec<Probe> {
    let (steps, is_there) = resolve(data, field);
    // A wrong object has values that are right; a wrong text or list is wrong itself.
    let invalid = Some(steps.as_slice())
        .filter(|_| is_there && at(data, &steps).is_some_and(|value| !value.is_object()));
    let mut probes: Vec<Probe> = Vec::new();
    for depth in (1..=steps.len()).rev() {
        let around = &steps[..depth];
        let Some(container) = at(data, around) else { continue };
        let is_valid = |leaf: &Vec<Step>| !invalid.is_some_and(|invalid| leaf.starts_with(invalid));
        let Some(leaf) = leaves(container, around.to_vec()).into_iter().find(is_valid) else { continue };
        let changed = written(&leaf);
        if probes.iter().all(|probe| probe.changed != changed) {
            let mut data = data.clone();
            change(&mut data, &leaf);
            probes.push(Probe { below: written(around), changed, data });
        }
    }
    probes
}

/// The object `data` with one value changed, for each value in turn that users write: all but its metadata and its status.
pub fn changes(data: &Value) -> Vec<Value> {
    let Value::Object(fields) = data else { return Vec::new() };
    let of_users = |key: &str| !["apiVersion", "kind", "metadata", "status"].contains(&key);
    let fields = fields.iter().filter(|(key, _)| of_users(key));
    let places = fields.flat_map(|(key, value)| leaves(value, vec![Step::Key(key.clone())]));
    let changed = |place: Vec<Step>| {
        let mut data = data.clone();
        change(&mut data, &place);
        data
    };
    places.map(changed).collect()
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// The steps to `field`, as far as `data` has them, and whether it has all.
fn resolve(data: &Value, field: &str) -> (Vec<Step>, bool) {
    let (mut steps, mut value, mut rest) = (Vec::new(), data, field);
    while !rest.is_empty() {
        let found = match value {
            Value::Object(fields) => {
                // Keys of maps may have points, and brackets around them.
                let name = rest.trim_start_matches(['.', '[']);
                let ends = |after: &str| after.is_empty() || after.starts_with(['.', '[', ']']);
                let is_next = |key: &&String| name.strip_prefix(key.as_str()).is_some_and(ends);
                let next = fields.iter().filter(|(key, _)| is_next(key)).max_by_key(|(key, _)| key.len());
                next.map(|(key, value)| {
                    (Step::Key(key.clone()), value, name[key.len()..].trim_start_matches(']'))
                })
            }
            Value::Array(items) => {
                rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).and_then(|(index, rest)| {
                    let index = index.parse().ok()?;
                    Some((Step::Index(index), items.get(index)?, rest))
                })
            }
            _ => None,
        };
        let Some((step, next, after)) = found else { return (steps, false) };
        steps.push(step);
        (value, rest) = (next, after);
    }
    (steps, true)
}

fn at<'a>(data: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(data, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// The steps to each value below `value` that is no object, list or null.
fn leaves(value: &Value, steps: Vec<Step>) -> Vec<Vec<Step>> {
    let below = |step: Step| steps.iter().cloned().chain([step]).collect::<Vec<_>>();
    match value {
        Value::Null => Vec::new(),
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| leaves(value, below(Step::Key(key.clone())))).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, value)| leaves(value, below(Step::Index(index))))
            .collect(),
        _ => vec![steps],
    }
}

/// Gives the value another one of its type.
fn change(data: &mut Value, steps: &[Step]) {
    let value = steps.iter().try_fold(data, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    });
    let Some(value) = value else { return };
    let other = match &*value {
        Value::Bool(is) => (!is).into(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.checked_add(1).unwrap_or(0).into(),
            None => 0.into(),
        },
        Value::String(text) => format!("{text}x").into(),
        _ => return,
    };
    *value = other;
}

fn written(steps: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{index}]"),
    };
    steps.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(data: &Value, field: &str) -> Vec<(String, String)> {
        probes(data, field).into_iter().map(|probe| (probe.below, probe.changed)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(below, changed)| ((*below).to_owned(), (*changed).to_owned())).collect()
    }

    #[test]
    fn beside_a_missing_field_any_value_is_changed() {
        let data =
            json!({ "spec": { "replicas": 3, "template": { "image": "a" } }, "status": { "ready": true } });
        assert_eq!(changed(&data, "spec.color"), pairs(&[(".spec", ".spec.replicas")]));
        let nested = pairs(&[(".spec.template", ".spec.template.image"), (".spec", ".spec.replicas")]);
        assert_eq!(changed(&data, "spec.template.tag"), nested);
        assert_eq!(probes(&data, "spec.color")[0].data["spec"]["replicas"], 4);
    }

    #[test]
    fn an_invalid_value_is_not_changed_itself() {
        let data = json!({ "spec": { "size": 20, "tags": ["a", "b"], "name": "x" } });
        assert_eq!(changed(&data, "spec.size"), pairs(&[(".spec", ".spec.name")]));
        assert!(changed(&json!({ "spec": { "size": 20 } }), "spec.size").is_empty());
        assert!(changed(&json!({ "spec": { "tags": ["a"] } }), "spec.tags").is_empty());
        let of_items = pairs(&[(".spec.tags", ".spec.tags[1]"), (".spec", ".spec.name")]);
        assert_eq!(changed(&data, "spec.tags[0]"), of_items);
    }

    #[test]
    fn each_value_that_users_write_is_changed_alone() {
        let data = json!({
            "apiVersion": "example.com/v1", "kind": "Page", "metadata": { "name": "a" },
            "spec": { "ports": [{ "port": 80 }], "none": null, "text": "a" }, "status": { "ready": true },
        });
        let with = |port: u16, text: &str| {
            let mut data = data.clone();
            data["spec"] = json!({ "ports": [{ "port": port }], "none": null, "text": text });
            data
        };
        let mut changed = changes(&data);
        changed.sort_by_key(ToString::to_string);
        let mut expected = [with(81, "a"), with(80, "ax")];
        expected.sort_by_key(ToString::to_string);
        assert_eq!(changed, expected);
        assert!(changes(&json!({ "kind": "Page", "metadata": { "name": "a" } })).is_empty());
    }

    #[test]
    fn keys_of_maps_may_have_points() {
        let data = json!({ "spec": { "map": { "a.b/c": { "x": true }, "a": 1 } } });
        for field in ["spec.map.a.b/c.y", "spec.map[a.b/c].y"] {
            assert_eq!(
                changed(&data, field)[0],
                (".spec.map.a.b/c".to_owned(), ".spec.map.a.b/c.x".to_owned()),
                "{field}"
            );
        }
        assert!(changed(&data, "").is_empty());
        assert!(changed(&data, "<nil>").is_empty());
    }
}
