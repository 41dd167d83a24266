//! Removes what differs between two runs that are the same: times, versions, uids, random names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Names, State, times::is_time};

/// The annotation of [`Family::OtherWriter`](crate::Family::OtherWriter).
pub(crate) const TOUCHED: &str = "verify.kube/touched";

/// Objects by their templates, normalized.
pub(crate) type Normal = BTreeMap<String, Value>;

/// The objects without what differs in every run. Objects with random names are numbered in the order of their contents.
pub(crate) fn normalize(state: &State, names: &Names) -> Normal {
    let renames = Renames::new(state, names);
    let mut normal = Normal::new();
    let mut random: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (name, object) in &state.0 {
        let mut object = object.clone();
        let generation = object["metadata"]["generation"].as_i64();
        strip_metadata(&mut object);
        strip_collisions(&mut object, &name.resource);
        renames.apply(&mut object, generation);
        let template = names.template(&name.resource, &name.name);
        let is_random = template != name.name;
        let key = super::ObjectName { name: template, ..name.clone() }.to_string();
        if is_random {
            random.entry(key).or_default().push(object);
        } else {
            normal.insert(key, object);
        }
    }
    for (key, mut objects) in random {
        objects.sort_by_key(Value::to_string);
        normal.extend(objects.into_iter().enumerate().map(|(at, object)| (format!("{key}[{at}]"), object)));
    }
    normal
}

fn strip_metadata(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"] {
        metadata.remove(field);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(TOUCHED);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// How often a controller of workloads had to take another name for a revision: that depends on when the garbage collector takes those of
/// an object that was deleted and made again.
fn strip_collisions(object: &mut Value, resource: &str) {
    if let Some(status) = object["status"].as_object_mut().filter(|_| resource.ends_with(".apps")) {
        status.remove("collisionCount");
    }
}

/// Uids and random names, with what stands for them in texts.
struct Renames(Vec<(String, String)>);

impl Renames {
    fn new(state: &State, names: &Names) -> Self {
        let mut renames = Vec::new();
        for (name, object) in &state.0 {
            let template = names.template(&name.resource, &name.name);
            if let Some(uid) = object["metadata"]["uid"].as_str() {
                let of = super::ObjectName { name: template.clone(), ..name.clone() };
                renames.push((uid.to_owned(), format!("<uid of {of}>")));
            }
            // A pod that is made again gets another address.
            if let Some(address) = object["status"]["podIP"].as_str().filter(|_| name.resource == "pods") {
                let of = super::ObjectName { name: template.clone(), ..name.clone() };
                renames.push((address.to_owned(), format!("<address of {of}>")));
            }
            if template != name.name {
                renames.push((name.name.clone(), template));
            }
        }
        // A name may be part of another.
        renames.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Self(renames)
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in self.0.iter().filter(|(from, _)| !from.is_empty()) {
            if text.contains(from.as_str()) {
                text = text.replace(from.as_str(), to);
            }
        }
        text
    }

    fn apply(&self, value: &mut Value, generation: Option<i64>) {
        match value {
            Value::String(text) => {
                *text = if is_time(text) { "<time>".to_owned() } else { self.text(text) };
                if is_uid(text) {
                    *text = "<uid>".to_owned();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply(item, generation)),
            Value::Object(fields) => {
                if let Some(observed) = fields.get("observedGeneration").and_then(Value::as_i64)
                    && let Some(behind) = generation.map(|generation| generation - observed)
                {
                    let text =
                        if behind == 0 { "<current>".to_owned() } else { format!("<{behind} behind>") };
                    fields.insert("observedGeneration".to_owned(), text.into());
                }
                // Their order is that of their last changes, and no one relies on it.
                if let Some(Value::Array(conditions)) = fields.get_mut("conditions") {
                    conditions.sort_by_key(|condition| condition["type"].to_string());
                }
                for (key, mut field) in std::mem::take(fields) {
                    self.apply(&mut field, generation);
                    fields.insert(self.text(&key), field);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_uid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, letter)| match at {
            8 | 13 | 18 | 23 => letter == b'-',
            _ => letter.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::super::ObjectName;
    use super::*;

    fn state(objects: &[(&str, Value)]) -> State {
        State(
            objects
                .iter()
                .map(|(resource, object)| (ObjectName::of(resource, object), object.clone()))
                .collect(),
        )
    }

    /// A run of the same operator with these random parts.
    fn run(uid: &str, suffix: &str, time: &str) -> State {
        let owner = json!({"metadata": {"name": "a", "namespace": "default", "uid": uid, "resourceVersion": suffix, "generation": 2},
            "status": {"observedGeneration": 2, "at": time, "conditions": [{"type": "B"}, {"type": "A"}], "child": format!("a-{suffix}")}});
        let child = json!({"metadata": {"name": format!("a-{suffix}"), "namespace": "default", "labels": {"owner": uid}},
            "data": {format!("of-{uid}"): "x"}});
        state(&[("pages.example.com", owner), ("configmaps", child)])
    }

    #[test]
    fn two_runs_that_are_the_same_are_equal() {
        let one = run("11111111-1111-1111-1111-111111111111", "x1y2z", "2026-01-01T00:00:00Z");
        let other = run("22222222-2222-2222-2222-222222222222", "k7l8m", "2027-05-01T10:00:00.123456Z");
        let mut names = Names::default();
        let set = |state: &State| -> BTreeSet<_> {
            state.0.keys().map(|key| (key.resource.clone(), key.name.clone())).collect()
        };
        names.learn(&set(&one), &set(&other));
        assert_eq!(normalize(&one, &names), normalize(&other, &names));
        let normal = normalize(&one, &names);
        assert_eq!(normal["pages.example.com a"]["status"]["observedGeneration"], "<current>");
        assert_eq!(
            normal["configmaps a-*[0]"]["metadata"]["labels"]["owner"],
            "<uid of pages.example.com a>"
        );
    }

    #[test]
    fn addresses_of_pods_are_the_same_wherever_they_are() {
        let pods = |address: &str| {
            let pod =
                json!({"metadata": {"name": "a"}, "status": {"podIP": address, "podIPs": [{"ip": address}]}});
            let map = json!({"metadata": {"name": "b"}, "data": {"url": format!("http://{address}:80")}});
            normalize(&state(&[("pods", pod), ("configmaps", map)]), &Names::default())
        };
        assert_eq!(pods("10.244.0.2"), pods("10.244.0.20"));
        assert_eq!(pods("10.244.0.2")["configmaps b"]["data"]["url"], "http://<address of pods a>:80");
    }

    #[test]
    fn collisions_of_revisions_are_not_compared() {
        let of = |resource: &str, status: Value| {
            let object = json!({"metadata": {"name": "a"}, "status": status});
            normalize(&state(&[(resource, object)]), &Names::default())
        };
        let (none, one) = (json!({"replicas": 1}), json!({"replicas": 1, "collisionCount": 1}));
        for resource in ["deployments.apps", "statefulsets.apps", "daemonsets.apps"] {
            assert_eq!(of(resource, none.clone()), of(resource, one.clone()), "{resource}");
        }
        assert_ne!(of("pages.example.com", none), of("pages.example.com", one), "a field of the operator");
    }

    #[test]
    fn an_old_generation_is_told_from_the_current_one() {
        let object = |observed: i64| json!({"metadata": {"name": "a", "generation": 3}, "status": {"observedGeneration": observed}});
        let normal =
            |observed| normalize(&state(&[("pages.example.com", object(observed))]), &Names::default());
        assert_ne!(normal(3), normal(1));
        assert_eq!(normal(1)["pages.example.com a"]["status"]["observedGeneration"], "<2 behind>");
    }
}
