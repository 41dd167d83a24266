//! Which events a list or watch shows: namespace and selectors.

use std::sync::Arc;

use crate::{
    object::{
        meta,
        selector::{FieldSelector, LabelSelector},
    },
    storage::{Change, EventType, Stored},
};

/// The namespace and selectors of a list or watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

impl Filter {
    pub(crate) fn matches(&self, object: &Stored) -> bool {
        object.key.is_in(self.namespace.as_deref())
            && self.fields.name().is_none_or(|name| name == object.key.name())
            && (self.labels.is_empty() || self.labels.matches(|key| object.label(key)))
            && (self.fields.is_empty() || self.fields.matches(&object.value()))
    }

    /// The event of a change for this filter: an object that starts to match is added, one that stops matching is deleted (and sent as it
    /// last matched). `None` when it matched neither before nor after.
    pub(crate) fn event_for(&self, change: &Change) -> Option<(EventType, Arc<Stored>)> {
        let was_in = change.previous.as_ref().is_some_and(|previous| self.matches(previous));
        if change.object.event == EventType::Deleted {
            return was_in.then(|| (EventType::Deleted, change.object.clone()));
        }
        match (was_in, self.matches(&change.object)) {
            (false, false) => None,
            (false, true) => Some((EventType::Added, change.object.clone())),
            (true, true) => Some((EventType::Modified, change.object.clone())),
            (true, false) => {
                let mut last = change.previous.as_ref()?.value();
                meta::set(&mut last, "resourceVersion", change.object.revision.to_string());
                Some((EventType::Deleted, Arc::new(Stored::preview(change.object.key.clone(), &last))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::{Key, Store};

    #[test]
    fn objects_start_and_stop_matching() {
        let mut store = Store::new(100);
        let table = store.add_table();
        let key = || Key::new(Some("ns"), "a");
        let object =
            |app: &str| json!({"metadata": {"name": "a", "labels": {"app": app}}, "spec": {"app": app}});
        for app in ["x", "y", "y", "x"] {
            store.put(table, key(), object(app));
        }
        store.remove(table, &key());
        store.put(table, key(), object("y"));
        store.remove(table, &key());

        let seen = |filter: &Filter| -> Vec<(EventType, u64, String)> {
            let changes = store.changes(table, 1, 100).unwrap();
            let seen = changes.iter().filter_map(|change| filter.event_for(change));
            seen.map(|(event, object)| {
                let value = object.value();
                let revision = value["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
                (event, revision, value["spec"]["app"].as_str().unwrap().to_string())
            })
            .collect()
        };
        use EventType::{Added, Deleted, Modified};
        let expected = vec![
            (Added, 3, "y".into()),
            (Modified, 4, "y".into()),
            (Deleted, 5, "y".into()),
            (Added, 7, "y".into()),
            (Deleted, 8, "y".into()),
        ];
        let by_label = Filter { labels: LabelSelector::parse("app=y").unwrap(), ..Filter::default() };
        assert_eq!(seen(&by_label), expected);
        let by_field =
            Filter { fields: FieldSelector::parse("spec.app=y", |_| Ok(())).unwrap(), ..Filter::default() };
        assert_eq!(seen(&by_field), expected);
        assert_eq!(seen(&Filter { namespace: Some("other".into()), ..Filter::default() }), []);
        assert_eq!(seen(&Filter::default()).len(), 7);
    }
}
