//! What keeps terminating namespaces: the number of their objects by resource and by finalizer, kept up to date change by change.

use std::collections::{BTreeMap, HashMap};

use crate::{object::meta, scheme::Resource, storage::Stored};

/// The contents of the terminating namespaces, by namespace.
#[derive(Debug, Default)]
pub(super) struct Remaining(HashMap<String, Contents>);

/// Counts of the objects in one namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// By `plural.group`.
    pub(super) resources: BTreeMap<String, usize>,
    pub(super) finalizers: BTreeMap<String, usize>,
}

impl Remaining {
    /// Starts to count the objects of a namespace.
    pub(super) fn start<'a>(
        &mut self,
        namespace: &str,
        objects: impl Iterator<Item = (&'a Resource, &'a Stored)>,
    ) {
        let mut contents = Contents::default();
        for (resource, stored) in objects {
            contents.add(resource, stored);
        }
        self.0.insert(namespace.to_owned(), contents);
    }

    pub(super) fn stop(&mut self, namespace: &str) {
        self.0.remove(namespace);
    }

    pub(super) fn of(&self, namespace: &str) -> Option<&Contents> {
        self.0.get(namespace)
    }

    /// Records a change. Returns whether it changed the counts of a terminating namespace.
    pub(super) fn record(
        &mut self,
        resource: &Resource,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let namespace = before.or(after).and_then(|stored| stored.key.namespace());
        let Some(contents) = namespace.and_then(|namespace| self.0.get_mut(namespace)) else { return false };
        let former = contents.clone();
        if let Some(before) = before {
            contents.subtract(resource, before);
        }
        if let Some(after) = after {
            contents.add(resource, after);
        }
        *contents != former
    }
}

impl Contents {
    fn add(&mut self, resource: &Resource, stored: &Stored) {
        *self.resources.entry(name(resource)).or_default() += 1;
        for finalizer in finalizers(stored) {
            *self.finalizers.entry(finalizer).or_default() += 1;
        }
    }

    fn subtract(&mut self, resource: &Resource, stored: &Stored) {
        subtract(&mut self.resources, &name(resource));
        for finalizer in finalizers(stored) {
            subtract(&mut self.finalizers, &finalizer);
        }
    }
}

fn subtract(counts: &mut BTreeMap<String, usize>, key: &str) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

fn name(resource: &Resource) -> String {
    format!("{}.{}", resource.plural, resource.group)
}

fn finalizers(stored: &Stored) -> Vec<String> {
    meta::strings(&stored.value(), "finalizers").into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{scheme::Scheme, storage::Key};

    fn object(name: &str, finalizers: &[&str]) -> Stored {
        let object = json!({"metadata": {"name": name, "finalizers": finalizers}});
        Stored::preview(Key::new(Some("n"), name), &object)
    }

    #[test]
    fn counts_follow_every_change() {
        let scheme = Scheme::with_built_in();
        let maps = &scheme.by_plural("", "configmaps").unwrap().resource;
        let (one, two) = (object("one", &["x/y"]), object("two", &["x/y", "z/z"]));
        let mut remaining = Remaining::default();
        assert!(!remaining.record(maps, None, Some(&one)), "the namespace is not terminating");
        remaining.start("n", [(&**maps, &one), (&**maps, &two)].into_iter());
        let counts = |remaining: &Remaining| {
            let contents = remaining.of("n").unwrap();
            (contents.resources.get("configmaps.").copied(), contents.finalizers.clone())
        };
        assert_eq!(counts(&remaining), (Some(2), [("x/y".into(), 2), ("z/z".into(), 1)].into()));
        assert!(remaining.record(maps, Some(&two), Some(&object("two", &["z/z"]))));
        assert!(!remaining.record(maps, Some(&one), Some(&one)));
        assert!(remaining.record(maps, Some(&one), None));
        assert_eq!(counts(&remaining), (Some(1), [("z/z".into(), 1)].into()));
        remaining.stop("n");
        assert_eq!(remaining.of("n"), None);
    }
}
