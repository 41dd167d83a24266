//! Which services or budgets select a pod: by one label of their selector, and the pods that each selects. A change of a pod costs its
//! labels and the selectors that share one with it, not those of the namespace, nor its pods.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::{
    object::selector::LabelSelector,
    storage::{Key, Stored},
};

/// A key is never empty: the default stands for no label.
type Label = (Box<str>, Box<str>);

/// The objects of one kind that select pods.
#[derive(Debug, Default)]
pub(super) struct SelectorIndex {
    entries: HashMap<Key, Entry>,
    /// The objects of each namespace, by one label of the selector.
    by_label: HashMap<Box<str>, HashMap<Label, BTreeSet<Key>>>,
}

#[derive(Debug)]
struct Entry {
    selector: LabelSelector,
    label: Label,
    pods: BTreeSet<Key>,
}

impl SelectorIndex {
    /// Whether an object selects pods.
    pub(super) fn selects(&self, object: &Key) -> bool {
        self.entries.contains_key(object)
    }

    pub(super) fn selects_pod(&self, object: &Key, pod: &Key) -> bool {
        self.entries.get(object).is_some_and(|entry| entry.pods.contains(pod))
    }

    /// The pods that an object selects, by name.
    pub(super) fn pods(&self, object: &Key) -> impl Iterator<Item = &Key> {
        self.entries.get(object).into_iter().flat_map(|entry| &entry.pods)
    }

    /// All objects that select pods.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Key> {
        self.entries.keys()
    }

    /// Records an object with its selector, the labels that a pod must have for that, and the pods of its namespace; no selector when it
    /// selects nothing or is gone.
    pub(super) fn record<'a>(
        &mut self,
        object: &Key,
        selector: Option<LabelSelector>,
        labels: &Value,
        pods: impl Iterator<Item = &'a Stored>,
    ) {
        if self.entries.get(object).map(|entry| &entry.selector) == selector.as_ref() {
            return;
        }
        let namespace = object.namespace().unwrap_or_default();
        if let Some(entry) = self.entries.remove(object)
            && let Some(by_label) = self.by_label.get_mut(namespace)
            && let Some(objects) = by_label.get_mut(&entry.label)
        {
            objects.remove(object);
            if objects.is_empty() {
                by_label.remove(&entry.label);
            }
            if by_label.is_empty() {
                self.by_label.remove(namespace);
            }
        }
        let Some(selector) = selector else { return };
        let by_label = self.by_label.entry(namespace.into()).or_default();
        let pairs = labels.as_object().into_iter().flatten();
        let pairs = pairs.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())));
        // The label that the fewest others have.
        let label: Label =
            pairs.min_by_key(|label| by_label.get(label).map_or(0, BTreeSet::len)).unwrap_or_default();
        by_label.entry(label.clone()).or_default().insert(object.clone());
        let selected = pods.filter(|pod| selector.matches(|key| pod.label(key)));
        let pods = selected.map(|pod| pod.key.clone()).collect();
        self.entries.insert(object.clone(), Entry { selector, label, pods });
    }

    /// Records a change of a pod. Returns the objects that select it or did.
    pub(super) fn record_pod(&mut self, before: Option<&Stored>, after: Option<&Stored>) -> BTreeSet<Key> {
        let Some(pod) = after.or(before).map(|pod| &pod.key) else { return BTreeSet::new() };
        let Some(by_label) = self.by_label.get(pod.namespace().unwrap_or_default()) else {
            return BTreeSet::new();
        };
        let none = Label::default();
        let labels = before.into_iter().chain(after).flat_map(|pod| &pod.labels).chain([&none]);
        let mut objects: BTreeSet<Key> =
            labels.filter_map(|label| by_label.get(label)).flatten().cloned().collect();
        objects.retain(|object| {
            let Some(entry) = self.entries.get_mut(object) else { return false };
            let selected = after.is_some_and(|pod| entry.selector.matches(|key| pod.label(key)));
            let was_selected = match selected {
                true => !entry.pods.insert(pod.clone()),
                false => entry.pods.remove(pod),
            };
            selected || was_selected
        });
        objects
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn labels(pairs: &[(u8, u8)]) -> Value {
        let pairs = pairs.iter().map(|(key, value)| (format!("k{key}"), json!(format!("v{value}"))));
        Value::Object(pairs.collect())
    }

    fn pod(name: u8, pairs: &[(u8, u8)]) -> Stored {
        let object = json!({"metadata": {"name": format!("p{name}"), "labels": labels(pairs)}});
        Stored::preview(Key::new(Some("n"), &format!("p{name}")), &object)
    }

    proptest! {
        /// After any changes of pods and services, each service has the pods that its selector matches, and every change of one is told.
        #[test]
        fn the_index_equals_one_built_from_scratch(
            steps in prop::collection::vec(
                (any::<bool>(), 0..3u8, prop::collection::vec((0..2u8, 0..2u8), 0..3), any::<bool>()), 0..40)
        ) {
            let mut index = SelectorIndex::default();
            let (mut pods, mut services) = (BTreeMap::<u8, Stored>::new(), BTreeMap::new());
            for (is_pod, name, pairs, remove) in steps {
                if is_pod {
                    let after = (!remove).then(|| pod(name, &pairs));
                    let told = index.record_pod(pods.get(&name), after.as_ref());
                    let of = |pod: &Stored, service: &Value| {
                        LabelSelector::from_labels(service).unwrap().matches(|key| pod.label(key))
                    };
                    for (service, selector) in &services {
                        let concerned = pods.get(&name).into_iter().chain(&after).any(|pod| of(pod, selector));
                        prop_assert_eq!(told.contains(service), concerned);
                    }
                    match after {
                        Some(after) => drop(pods.insert(name, after)),
                        None => drop(pods.remove(&name)),
                    }
                } else {
                    let key = Key::new(Some("n"), &format!("s{name}"));
                    let selector = labels(&pairs);
                    // Without a label, it selects every pod.
                    let labels = (!remove).then(|| LabelSelector::from_labels(&selector).unwrap());
                    index.record(&key, labels, &selector, pods.values());
                    match remove {
                        true => drop(services.remove(&key)),
                        false => drop(services.insert(key, selector)),
                    }
                }
            }
            prop_assert_eq!(index.objects().count(), services.len());
            for (service, selector) in &services {
                let selector = LabelSelector::from_labels(selector).unwrap();
                let expected: Vec<&Key> =
                    pods.values().filter(|pod| selector.matches(|key| pod.label(key))).map(|pod| &pod.key).collect();
                prop_assert_eq!(index.pods(service).collect::<Vec<_>>(), expected);
            }
            if services.is_empty() {
                prop_assert!(index.by_label.is_empty());
            }
        }
    }
}
