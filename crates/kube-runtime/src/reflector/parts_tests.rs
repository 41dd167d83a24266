//! Several namespaces as one, without I/O.

use super::*;
use crate::{
    reflector::store::{Awaited, Store, store},
    watcher::Error,
};
use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::{ObjectMeta, ResourceExt, Status};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn object(namespace: &str, name: &str, version: u32) -> ConfigMap {
    let metadata = ObjectMeta {
        name: Some(name.into()),
        namespace: Some(namespace.into()),
        resource_version: Some(version.to_string()),
        ..Default::default()
    };
    ConfigMap { metadata, ..Default::default() }
}

struct Bench {
    parts: Parts<ConfigMap>,
    store: Store<ConfigMap>,
}

impl Bench {
    fn of(namespaces: &[&str]) -> Self {
        let (store, writer) = store();
        let mut bench = Self { parts: Parts::new(writer), store };
        assert_eq!(bench.set(namespaces)[0], "Init");
        bench
    }

    fn told(
        &mut self,
        act: impl FnOnce(&mut Parts<ConfigMap>, &mut Vec<Event<Arc<ConfigMap>>>),
    ) -> Vec<String> {
        let mut emit = Vec::new();
        act(&mut self.parts, &mut emit);
        emit.into_iter().map(|event| event.map(|object| (*object).clone()).to_string()).collect()
    }

    fn set(&mut self, namespaces: &[&str]) -> Vec<String> {
        self.told(|parts, emit| drop(parts.set(namespaces.iter().map(ToString::to_string), emit)))
    }

    fn event(&mut self, namespace: &str, event: Event<ConfigMap>) -> Vec<String> {
        self.told(|parts, emit| assert!(parts.event(namespace, event.into(), emit).is_none()))
    }

    /// A whole list of one namespace, sorted.
    fn list(&mut self, namespace: &str, objects: &[(&str, u32)]) -> Vec<String> {
        let mut told = self.event(namespace, Event::Init);
        for (name, version) in objects {
            told.extend(self.event(namespace, Event::InitApply(object(namespace, name, *version))));
        }
        told.extend(self.event(namespace, Event::InitDone));
        told.sort();
        told
    }

    fn fail(&mut self, namespace: &str, code: u16) -> Vec<String> {
        let error = Error::WatchError(Status::failure("", "").with_code(code).boxed());
        self.told(|parts, emit| parts.failed(namespace, &error, emit))
    }

    fn shown(&self) -> BTreeSet<String> {
        let name = |it: &std::sync::Arc<ConfigMap>| {
            let meta = &it.metadata;
            let (namespace, version) = (meta.namespace.as_deref(), meta.resource_version.as_deref());
            format!("{}/{}@{}", namespace.unwrap(), it.name_any(), version.unwrap())
        };
        self.store.state().iter().map(name).collect()
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn the_whole_is_complete_when_each_namespace_is() {
    let mut bench = Bench::of(&["a", "b"]);
    assert_eq!(bench.list("a", &[("one", 1)]), ["InitApply(a/one)"]);
    assert!(!bench.store.is_ready() && bench.shown().is_empty());
    assert!(bench.event("b", Event::Init).is_empty());
    assert_eq!(bench.event("a", Event::Apply(object("a", "two", 3))), ["Apply(a/two)"]);
    bench.event("b", Event::InitApply(object("b", "one", 2)));
    assert_eq!(bench.event("b", Event::InitDone), ["InitApply(b/one)", "InitDone"]);
    assert!(bench.store.is_ready());
    assert_eq!(bench.shown(), set(&["a/one@1", "a/two@3", "b/one@2"]));
}

#[test]
fn a_namespace_that_lists_again_changes_nothing_but_its_own() {
    let mut bench = Bench::of(&["a", "b"]);
    bench.list("a", &[("same", 1), ("changes", 2), ("goes", 3)]);
    bench.list("b", &[("goes", 3)]);
    let before = bench.store.find(|it| it.name_any() == "same").unwrap();
    bench.event("a", Event::Init);
    bench.event("a", Event::InitApply(object("a", "same", 1)));
    bench.event("a", Event::InitApply(object("a", "changes", 7)));
    assert_eq!(bench.shown().len(), 4, "a list under way shows nothing");
    let mut told = bench.event("a", Event::InitDone);
    told.sort();
    assert_eq!(told, ["Apply(a/changes)", "Delete(a/goes)"]);
    assert_eq!(bench.shown(), set(&["a/changes@7", "a/same@1", "b/goes@3"]));
    let after = bench.store.find(|it| it.name_any() == "same").unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &after));
}

#[test]
fn a_list_that_starts_over_forgets_its_first_half() {
    let mut bench = Bench::of(&["a"]);
    bench.event("a", Event::Init);
    bench.event("a", Event::InitApply(object("a", "half", 1)));
    assert_eq!(bench.list("a", &[("whole", 2)]), ["InitApply(a/whole)", "InitDone"]);
    assert_eq!(bench.shown(), set(&["a/whole@2"]));
}

#[test]
fn a_namespace_that_lists_twice_before_the_whole_is_complete_counts_as_it_was_last() {
    let mut bench = Bench::of(&["a", "b"]);
    bench.list("a", &[("goes", 1), ("stays", 1)]);
    assert_eq!(bench.list("a", &[("stays", 1)]), ["Delete(a/goes)", "InitApply(a/stays)"]);
    assert_eq!(bench.list("b", &[]), ["InitDone"]);
    assert_eq!(bench.shown(), set(&["a/stays@1"]));
}

#[test]
fn a_namespace_that_is_refused_holds_up_nobody_and_may_come_later() {
    let mut bench = Bench::of(&["a", "b"]);
    assert!(bench.fail("b", 403).is_empty(), "nothing is known of the others yet");
    assert_eq!(bench.list("a", &[("one", 1)]), ["InitApply(a/one)", "InitDone"]);
    assert_eq!(bench.list("b", &[("late", 5)]), ["Apply(b/late)"]);
    assert!(bench.fail("b", 403).is_empty());
    assert_eq!(bench.shown(), set(&["a/one@1", "b/late@5"]), "what was known stays");
}

#[test]
fn a_namespace_that_only_fails_is_waited_for_until_patience_ends() {
    let mut bench = Bench::of(&["a", "b"]);
    assert_eq!(bench.list("a", &[]).len(), 0);
    assert!(bench.fail("b", 500).is_empty() && !bench.parts.is_complete());
    assert_eq!(bench.told(Parts::lose_patience), ["InitDone"]);
}

#[test]
fn nothing_at_all_is_not_a_complete_list() {
    let mut bench = Bench::of(&["a", "b"]);
    bench.fail("a", 403);
    assert!(bench.told(Parts::lose_patience).is_empty() && !bench.store.is_ready());
    assert_eq!(bench.list("b", &[]), ["InitDone"]);
    let (store, writer) = store();
    let mut nobody = Bench { parts: Parts::<ConfigMap>::new(writer), store };
    assert_eq!(nobody.set(&[]), ["Init", "InitDone"], "unless nothing was asked for");
}

#[test]
fn namespaces_join_and_leave() {
    let mut bench = Bench::of(&["a", "b"]);
    bench.list("a", &[("one", 1)]);
    assert_eq!(bench.set(&["b"]), ["Delete(a/one)"], "also before the whole is complete");
    assert_eq!(bench.list("b", &[("two", 2)]), ["InitApply(b/two)", "InitDone"]);
    assert_eq!(bench.shown(), set(&["b/two@2"]));
    assert!(bench.set(&["b", "c"]).is_empty());
    assert_eq!(bench.list("c", &[("three", 3)]), ["Apply(c/three)"]);
    assert_eq!(bench.set(&["c"]), ["Delete(b/two)"]);
    assert!(bench.event("b", Event::Apply(object("b", "late", 9))).is_empty(), "it has left");
    assert_eq!(bench.shown(), set(&["c/three@3"]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, the store and a reader of the events end up with what each namespace said last.
    #[test]
    fn store_and_events_agree_with_a_naive_model(
        deeds in prop::collection::vec((0..9u8, 0..3usize, 0..4u8), 0..120),
    ) {
        const NAMESPACES: [&str; 3] = ["a", "b", "c"];
        let mut bench = Bench::of(&NAMESPACES);
        let mut naive: BTreeMap<&str, BTreeMap<String, u32>> = BTreeMap::new();
        let mut under_way: BTreeMap<&str, BTreeMap<String, u32>> = BTreeMap::new();
        let mut heard: BTreeSet<String> = BTreeSet::new();
        for (version, (what, namespace, name)) in deeds.into_iter().enumerate() {
            let (namespace, name, version) = (NAMESPACES[namespace], name.to_string(), version as u32);
            let listing = under_way.get_mut(namespace);
            let event = match (what, listing) {
                (0, _) => {
                    under_way.insert(namespace, BTreeMap::new());
                    Event::Init
                }
                (1 | 2, Some(listing)) => {
                    listing.insert(name.clone(), version);
                    Event::InitApply(object(namespace, &name, version))
                }
                (3, Some(_)) => {
                    naive.insert(namespace, under_way.remove(namespace).unwrap_or_default());
                    Event::InitDone
                }
                (4..6, None) if naive.contains_key(namespace) => {
                    naive.entry(namespace).or_default().insert(name.clone(), version);
                    Event::Apply(object(namespace, &name, version))
                }
                (6, None) if naive.contains_key(namespace) => {
                    naive.entry(namespace).or_default().remove(&name);
                    Event::Delete(object(namespace, &name, version))
                }
                _ => continue,
            };
            for told in bench.event(namespace, event) {
                let (what, name) = told.split_once('(').unwrap_or((&told, ""));
                match what {
                    "Apply" | "InitApply" => drop(heard.insert(name.to_owned())),
                    "Delete" => drop(heard.remove(name)),
                    _ => {}
                }
            }
            if bench.parts.is_complete() {
                let expected: BTreeSet<String> = naive
                    .iter()
                    .flat_map(|(namespace, names)| names.iter().map(move |(name, at)| format!("{namespace}/{name}@{at}")))
                    .collect();
                prop_assert_eq!(bench.shown(), expected.clone());
                let names: BTreeSet<String> =
                    expected.iter().filter_map(|it| Some(format!("{})", it.split_once('@')?.0))).collect();
                prop_assert_eq!(&heard, &names);
            }
        }
    }
}

#[test]
fn a_list_under_way_does_not_count_when_another_namespace_completes_the_whole() {
    let mut bench = Bench::of(&["x", "y"]);
    bench.list("x", &[("a", 1)]);
    let key = ObjectKey { namespace: Some("x".into()), name: "a".into() };
    let awaited = Awaited::State { uid: None, version: "9".into(), was_visible: false };
    let mut wait = bench.store.wait_until(key, awaited);
    let mut is_over = move || (&mut wait).now_or_never().is_some();
    bench.event("x", Event::Init);
    bench.list("y", &[]);
    assert!(bench.parts.is_complete() && !is_over(), "only the first list of it is visible");
    bench.event("x", Event::InitDone);
    assert!(!is_over(), "it may have been requested before");
    bench.list("x", &[]);
    assert!(is_over());
}
