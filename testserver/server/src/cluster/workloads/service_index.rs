//! Which services select a pod: services by one label of their selector, and the pods that each selects. A change of a pod costs its
//! labels and the services that share one with it, not the services or pods of the namespace; of the other pods of its services, nothing is read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    object::selector::LabelSelector,
    storage::{Key, Stored},
    workloads::Backend,
};

type Label = (Box<str>, Box<str>);

/// The services with a selector.
#[derive(Debug, Default)]
pub(in crate::cluster) struct ServiceIndex {
    services: HashMap<Key, Entry>,
    /// The services of each namespace, by one label of the selector.
    by_label: HashMap<Box<str>, HashMap<Label, BTreeSet<Key>>>,
}

#[derive(Debug)]
struct Entry {
    selector: LabelSelector,
    label: Label,
    pods: BTreeSet<Key>,
    backends: Backends,
}

/// The backends of a service by pod, as far as they are known; `None` for a pod that has none.
pub(super) type Backends = BTreeMap<Key, Option<Backend>>;

impl ServiceIndex {
    /// Whether a service has a selector.
    pub(super) fn selects(&self, service: &Key) -> bool {
        self.services.contains_key(service)
    }

    /// The pods that a service selects, by name.
    pub(super) fn pods(&self, service: &Key) -> impl Iterator<Item = &Key> {
        self.services.get(service).into_iter().flat_map(|entry| &entry.pods)
    }

    /// The known backends of a service, to be completed and [kept](Self::keep_backends).
    pub(super) fn take_backends(&mut self, service: &Key) -> Backends {
        self.services.get_mut(service).map(|entry| std::mem::take(&mut entry.backends)).unwrap_or_default()
    }

    pub(super) fn keep_backends(&mut self, service: &Key, backends: Backends) {
        if let Some(entry) = self.services.get_mut(service) {
            entry.backends = backends;
        }
    }

    /// Forgets all backends, because the nodes have changed.
    pub(super) fn forget_backends(&mut self) {
        self.services.values_mut().for_each(|entry| entry.backends.clear());
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &Key> {
        self.services.keys()
    }

    /// Records a service with its labels to select, and the pods of its namespace; no labels when it selects nothing or is gone.
    pub(super) fn record_service<'a>(
        &mut self,
        service: &Key,
        labels: &serde_json::Value,
        pods: impl Iterator<Item = &'a Stored>,
    ) {
        let namespace = service.namespace().unwrap_or_default();
        if let Some(entry) = self.services.remove(service)
            && let Some(by_label) = self.by_label.get_mut(namespace)
            && let Some(services) = by_label.get_mut(&entry.label)
        {
            services.remove(service);
            if services.is_empty() {
                by_label.remove(&entry.label);
            }
            if by_label.is_empty() {
                self.by_label.remove(namespace);
            }
        }
        let pairs = labels.as_object().into_iter().flatten();
        let pairs = pairs.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())));
        let by_label = self.by_label.get(namespace);
        // The label that the fewest services have.
        let others = |label: &Label| by_label.and_then(|known| known.get(label)).map_or(0, BTreeSet::len);
        let (Some(label), Some(selector)) = (pairs.min_by_key(others), LabelSelector::from_labels(labels))
        else {
            return;
        };
        let selected = pods.filter(|pod| selector.matches(|key| pod.label(key)));
        let pods = selected.map(|pod| pod.key.clone()).collect();
        let services = self.by_label.entry(namespace.into()).or_default().entry(label.clone()).or_default();
        services.insert(service.clone());
        self.services.insert(service.clone(), Entry { selector, label, pods, backends: Backends::new() });
    }

    /// Records a change of a pod. Returns the services that select it or did.
    pub(super) fn record_pod(&mut self, before: Option<&Stored>, after: Option<&Stored>) -> BTreeSet<Key> {
        let Some(pod) = after.or(before).map(|pod| &pod.key) else { return BTreeSet::new() };
        let Some(by_label) = self.by_label.get(pod.namespace().unwrap_or_default()) else {
            return BTreeSet::new();
        };
        let labels = before.into_iter().chain(after).flat_map(|pod| &pod.labels);
        let candidates: BTreeSet<Key> =
            labels.filter_map(|label| by_label.get(label)).flatten().cloned().collect();
        let changed = |service: &Key| {
            let Some(entry) = self.services.get_mut(service) else { return false };
            entry.backends.remove(pod);
            let selected = after.is_some_and(|pod| entry.selector.matches(|key| pod.label(key)));
            let was_selected = match selected {
                true => !entry.pods.insert(pod.clone()),
                false => entry.pods.remove(pod),
            };
            selected || was_selected
        };
        let mut changed = changed;
        candidates.into_iter().filter(|service| changed(service)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

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
            let mut index = ServiceIndex::default();
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
                    let selector = if remove { json!({}) } else { labels(&pairs) };
                    index.record_service(&key, &selector, pods.values());
                    match selector.as_object().is_some_and(|labels| !labels.is_empty()) {
                        true => drop(services.insert(key, selector)),
                        false => drop(services.remove(&key)),
                    }
                }
            }
            prop_assert_eq!(index.services().count(), services.len());
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
