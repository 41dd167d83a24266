//! Combining the watches of several namespaces, without I/O.

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

struct NamespaceSetHarness {
    set: NamespaceSet<ConfigMap>,
    store: Store<ConfigMap>,
}

impl NamespaceSetHarness {
    fn of(namespaces: &[&str]) -> Self {
        let (store, writer) = store();
        let mut harness = Self { set: NamespaceSet::new(writer), store };
        assert_eq!(harness.set(namespaces)[0], "Init");
        harness
    }

    /// The events that `act` emits, as strings.
    fn emitted(
        &mut self,
        act: impl FnOnce(&mut NamespaceSet<ConfigMap>, &mut Vec<Event<Arc<ConfigMap>>>),
    ) -> Vec<String> {
        let mut emit = Vec::new();
        act(&mut self.set, &mut emit);
        emit.into_iter().map(|event| event.map(|object| (*object).clone()).to_string()).collect()
    }

    fn set(&mut self, namespaces: &[&str]) -> Vec<String> {
        self.emitted(|set, emit| drop(set.set_namespaces(namespaces.iter().map(ToString::to_string), emit)))
    }

    fn event(&mut self, namespace: &str, event: Event<ConfigMap>) -> Vec<String> {
        self.emitted(|set, emit| assert!(set.event(namespace, event.into(), emit).is_none()))
    }

    /// A whole list of one namespace, sorted.
    fn list(&mut self, namespace: &str, objects: &[(&str, u32)]) -> Vec<String> {
        let mut emitted = self.event(namespace, Event::Init);
        for (name, version) in objects {
            emitted.extend(self.event(namespace, Event::InitApply(object(namespace, name, *version))));
        }
        emitted.extend(self.event(namespace, Event::InitDone));
        emitted.sort();
        emitted
    }

    fn fail(&mut self, namespace: &str, code: u16) -> Vec<String> {
        let error = Error::WatchError(Status::failure("", "").with_code(code).boxed());
        self.emitted(|set, emit| set.failed(namespace, &error, emit))
    }

    fn visible(&self) -> BTreeSet<String> {
        let name = |it: &std::sync::Arc<ConfigMap>| {
            let meta = &it.metadata;
            let (namespace, version) = (meta.namespace.as_deref(), meta.resource_version.as_deref());
            format!("{}/{}@{}", namespace.unwrap(), it.name_any(), version.unwrap())
        };
        self.store.state().iter().map(name).collect()
    }
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn the_initial_sync_completes_when_each_namespace_is_listed() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    assert_eq!(harness.list("a", &[("one", 1)]), ["InitApply(a/one)"]);
    assert!(!harness.store.is_ready() && harness.visible().is_empty());
    assert!(harness.event("b", Event::Init).is_empty());
    assert_eq!(harness.event("a", Event::Apply(object("a", "two", 3))), ["Apply(a/two)"]);
    harness.event("b", Event::InitApply(object("b", "one", 2)));
    assert_eq!(harness.event("b", Event::InitDone), ["InitApply(b/one)", "InitDone"]);
    assert!(harness.store.is_ready());
    assert_eq!(harness.visible(), names(&["a/one@1", "a/two@3", "b/one@2"]));
}

#[test]
fn a_relist_of_one_namespace_changes_no_other() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    harness.list("a", &[("same", 1), ("changes", 2), ("goes", 3)]);
    harness.list("b", &[("goes", 3)]);
    let before = harness.store.find(|it| it.name_any() == "same").unwrap();
    harness.event("a", Event::Init);
    harness.event("a", Event::InitApply(object("a", "same", 1)));
    harness.event("a", Event::InitApply(object("a", "changes", 7)));
    assert_eq!(harness.visible().len(), 4, "a running list is not visible");
    let mut emitted = harness.event("a", Event::InitDone);
    emitted.sort();
    assert_eq!(emitted, ["Apply(a/changes)", "Delete(a/goes)"]);
    assert_eq!(harness.visible(), names(&["a/changes@7", "a/same@1", "b/goes@3"]));
    let after = harness.store.find(|it| it.name_any() == "same").unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &after));
}

#[test]
fn a_list_that_starts_over_discards_its_first_half() {
    let mut harness = NamespaceSetHarness::of(&["a"]);
    harness.event("a", Event::Init);
    harness.event("a", Event::InitApply(object("a", "half", 1)));
    assert_eq!(harness.list("a", &[("whole", 2)]), ["InitApply(a/whole)", "InitDone"]);
    assert_eq!(harness.visible(), names(&["a/whole@2"]));
}

#[test]
fn the_last_list_of_a_namespace_before_the_sync_completes_wins() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    harness.list("a", &[("goes", 1), ("stays", 1)]);
    assert_eq!(harness.list("a", &[("stays", 1)]), ["Delete(a/goes)", "InitApply(a/stays)"]);
    assert_eq!(harness.list("b", &[]), ["InitDone"]);
    assert_eq!(harness.visible(), names(&["a/stays@1"]));
}

#[test]
fn a_refused_namespace_does_not_delay_the_sync_and_can_be_listed_later() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    assert!(harness.fail("b", 403).is_empty(), "the other namespace is pending");
    assert_eq!(harness.list("a", &[("one", 1)]), ["InitApply(a/one)", "InitDone"]);
    assert_eq!(harness.list("b", &[("late", 5)]), ["Apply(b/late)"]);
    assert!(harness.fail("b", 403).is_empty());
    assert_eq!(harness.visible(), names(&["a/one@1", "b/late@5"]), "its known objects stay");
}

#[test]
fn a_failing_namespace_delays_the_sync_until_the_timeout() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    assert_eq!(harness.list("a", &[]).len(), 0);
    assert!(harness.fail("b", 500).is_empty() && !harness.set.is_synced());
    assert_eq!(harness.emitted(NamespaceSet::on_sync_timeout), ["InitDone"]);
}

#[test]
fn the_sync_needs_one_listed_namespace_unless_there_are_none() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    harness.fail("a", 403);
    assert!(harness.emitted(NamespaceSet::on_sync_timeout).is_empty() && !harness.store.is_ready());
    assert_eq!(harness.list("b", &[]), ["InitDone"]);
    let (store, writer) = store();
    let mut no_namespaces = NamespaceSetHarness { set: NamespaceSet::<ConfigMap>::new(writer), store };
    assert_eq!(no_namespaces.set(&[]), ["Init", "InitDone"]);
}

#[test]
fn namespaces_can_be_added_and_removed() {
    let mut harness = NamespaceSetHarness::of(&["a", "b"]);
    harness.list("a", &[("one", 1)]);
    assert_eq!(harness.set(&["b"]), ["Delete(a/one)"], "also before the sync is complete");
    assert_eq!(harness.list("b", &[("two", 2)]), ["InitApply(b/two)", "InitDone"]);
    assert_eq!(harness.visible(), names(&["b/two@2"]));
    assert!(harness.set(&["b", "c"]).is_empty());
    assert_eq!(harness.list("c", &[("three", 3)]), ["Apply(c/three)"]);
    assert_eq!(harness.set(&["c"]), ["Delete(b/two)"]);
    assert!(harness.event("b", Event::Apply(object("b", "late", 9))).is_empty(), "it was removed");
    assert_eq!(harness.visible(), names(&["c/three@3"]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// After any events, the store and a consumer of the events have the last state of each namespace.
    #[test]
    fn store_and_events_agree_with_a_reference_model(
        actions in prop::collection::vec((0..9u8, 0..3usize, 0..4u8), 0..120),
    ) {
        const NAMESPACES: [&str; 3] = ["a", "b", "c"];
        let mut harness = NamespaceSetHarness::of(&NAMESPACES);
        let mut model: BTreeMap<&str, BTreeMap<String, u32>> = BTreeMap::new();
        let mut running_lists: BTreeMap<&str, BTreeMap<String, u32>> = BTreeMap::new();
        let mut received: BTreeSet<String> = BTreeSet::new();
        for (version, (what, namespace, name)) in actions.into_iter().enumerate() {
            let (namespace, name, version) = (NAMESPACES[namespace], name.to_string(), version as u32);
            let listing = running_lists.get_mut(namespace);
            let event = match (what, listing) {
                (0, _) => {
                    running_lists.insert(namespace, BTreeMap::new());
                    Event::Init
                }
                (1 | 2, Some(listing)) => {
                    listing.insert(name.clone(), version);
                    Event::InitApply(object(namespace, &name, version))
                }
                (3, Some(_)) => {
                    model.insert(namespace, running_lists.remove(namespace).unwrap_or_default());
                    Event::InitDone
                }
                (4..6, None) if model.contains_key(namespace) => {
                    model.entry(namespace).or_default().insert(name.clone(), version);
                    Event::Apply(object(namespace, &name, version))
                }
                (6, None) if model.contains_key(namespace) => {
                    model.entry(namespace).or_default().remove(&name);
                    Event::Delete(object(namespace, &name, version))
                }
                _ => continue,
            };
            for emitted in harness.event(namespace, event) {
                let (what, name) = emitted.split_once('(').unwrap_or((&emitted, ""));
                match what {
                    "Apply" | "InitApply" => drop(received.insert(name.to_owned())),
                    "Delete" => drop(received.remove(name)),
                    _ => {}
                }
            }
            if harness.set.is_synced() {
                let expected: BTreeSet<String> = model
                    .iter()
                    .flat_map(|(namespace, names)| names.iter().map(move |(name, at)| format!("{namespace}/{name}@{at}")))
                    .collect();
                prop_assert_eq!(harness.visible(), expected.clone());
                let names: BTreeSet<String> =
                    expected.iter().filter_map(|it| Some(format!("{})", it.split_once('@')?.0))).collect();
                prop_assert_eq!(&received, &names);
            }
        }
    }
}

#[test]
fn a_running_list_ends_no_wait_when_another_namespace_completes_the_sync() {
    let mut harness = NamespaceSetHarness::of(&["x", "y"]);
    harness.list("x", &[("a", 1)]);
    let key = ObjectKey { namespace: Some("x".into()), name: "a".into() };
    let awaited = Awaited::State { uid: None, version: "9".into(), was_visible: false };
    let mut wait = harness.store.wait_until(key, awaited);
    let mut is_over = move || (&mut wait).now_or_never().is_some();
    harness.event("x", Event::Init);
    harness.list("y", &[]);
    assert!(harness.set.is_synced() && !is_over(), "only its first list is visible");
    harness.event("x", Event::InitDone);
    assert!(!is_over(), "the list may have been requested before the wait began");
    harness.list("x", &[]);
    assert!(is_over());
}

impl NamespaceSetHarness {
    fn collection(&mut self, namespace: &str, event: CollectionEvent<ConfigMap>) -> Vec<String> {
        self.emitted(|set, emit| assert!(set.event(namespace, event.into(), emit).is_none()))
    }

    /// A complete list of a known version.
    fn list_at(&mut self, namespace: &str, version: &str, objects: &[(&str, u32)]) {
        self.collection(namespace, CollectionEvent::Init);
        for (name, version) in objects {
            self.collection(namespace, CollectionEvent::InitApply(object(namespace, name, *version)));
        }
        self.collection(namespace, CollectionEvent::Synced { resource_version: version.into() });
    }

    /// Starts a wait for an object that was never seen. Returns whether it is over.
    fn wait(&self, namespace: &str, version: &str) -> impl FnMut() -> bool + use<> {
        let key = ObjectKey { namespace: Some(namespace.into()), name: "unseen".into() };
        let awaited = Awaited::State { uid: None, version: version.into(), was_visible: false };
        let mut wait = self.store.wait_until(key, awaited);
        move || (&mut wait).now_or_never().is_some()
    }
}

#[test]
fn bookmarks_end_waits_in_their_namespace() {
    let progress = |version: &str| CollectionEvent::Progress { resource_version: version.into() };
    let mut harness = NamespaceSetHarness::of(&["x", "y"]);
    harness.list_at("x", "5", &[]);
    assert!(harness.collection("x", progress("9")).is_empty());
    let (mut eight, mut ten, mut other) =
        (harness.wait("x", "8"), harness.wait("x", "10"), harness.wait("y", "8"));
    assert!(!eight(), "the store is not ready");
    harness.list_at("y", "6", &[]);
    assert!(eight() && !ten() && !other(), "what was known before the store was ready counts");
    harness.collection("x", progress("12"));
    assert!(ten() && !other());
    harness.collection("y", progress("12"));
    assert!(other());
}

#[test]
fn changes_before_the_store_is_ready_advance_the_version_of_their_list() {
    for known in [true, false] {
        let mut harness = NamespaceSetHarness::of(&["x", "y"]);
        match known {
            true => harness.list_at("x", "5", &[("a", 5)]),
            false => drop(harness.list("x", &[("a", 5)])),
        }
        harness.event("x", Event::Apply(object("x", "a", 8)));
        harness.event("x", Event::Delete(object("x", "b", 7)));
        let (mut eight, mut nine) = (harness.wait("x", "8"), harness.wait("x", "9"));
        harness.list("y", &[]);
        assert!(eight() && !nine(), "known: {known}");
    }
}

#[test]
fn an_undecodable_object_stays_until_it_is_deleted() {
    let undecodable = |deleted| UndecodableObject {
        resource_version: Some("2".into()),
        deleted,
        ..UndecodableObject::named(Some("x"), "a", "data: expected a map")
    };
    let mut harness = NamespaceSetHarness::of(&["x"]);
    harness.list("x", &[("a", 1), ("b", 1)]);
    for (deleted, emitted, left) in [(false, &[][..], 2), (true, &["Delete(x/a)"][..], 1)] {
        let event = CollectionEvent::<ConfigMap>::Undecodable(undecodable(deleted));
        let events = harness.emitted(|set, emit| {
            let error = set.event("x", event.into(), emit).expect("an error that names the object");
            assert!(error.to_string().contains("data: expected a map"), "{error}");
        });
        assert_eq!(
            (events.as_slice(), harness.visible().len()),
            (&emitted.iter().map(ToString::to_string).collect::<Vec<_>>()[..], left)
        );
    }
    // In a running list the last readable state is kept, too.
    harness.event("x", Event::Init);
    let again = UndecodableObject { name: "b".into(), ..undecodable(false) };
    let again = CollectionEvent::<ConfigMap>::Undecodable(again);
    harness.emitted(|set, emit| drop(set.event("x", again.into(), emit)));
    assert!(harness.event("x", Event::InitDone).is_empty());
    assert_eq!(harness.visible(), names(&["x/b@1"]));
    // The storage may have been restored: the same version may be another state.
    harness.event("x", Event::Init);
    harness.event("x", Event::InitApply(object("x", "b", 1)));
    assert_eq!(harness.event("x", Event::InitDone), ["Apply(x/b)"]);
    harness.event("x", Event::Init);
    harness.event("x", Event::InitApply(object("x", "b", 1)));
    assert!(harness.event("x", Event::InitDone).is_empty(), "the same state once more");
}

#[test]
fn the_panics_of_index_functions_are_returned_once() {
    let (_store, writer) = store();
    let broken = crate::reflector::Index::<ConfigMap, String>::new(|_| -> Vec<String> { panic!("broken") });
    let mut set = NamespaceSet::new(writer.with_index(&broken));
    let mut emit = Vec::new();
    set.set_namespaces(["x".to_owned()], &mut emit);
    for event in [Event::Init, Event::InitApply(object("x", "a", 1)), Event::InitDone] {
        set.event("x", event.into(), &mut emit);
    }
    assert_eq!((set.take_index_panics().len(), set.take_index_panics().len()), (1, 0));
}

/// Objects that are deleted, that cannot be decoded any more, and that a list no longer has; namespaces that are removed.
#[test]
fn names_of_objects_that_are_gone_take_little_memory() {
    let objects = || (0..10_000).map(|number| object("a", &number.to_string(), 1));
    let undecodable = |object: &ConfigMap, deleted| {
        let object =
            UndecodableObject { deleted, ..UndecodableObject::named(Some("a"), &object.name_any(), "odd") };
        CollectionEvent::<ConfigMap>::Undecodable(object).into()
    };
    type Empty<'a> = &'a dyn Fn(&mut NamespaceSetHarness);
    let empties: [(&str, Empty<'_>); 4] = [
        ("deleted", &|harness| objects().for_each(|object| drop(harness.event("a", Event::Delete(object))))),
        ("undecodable", &|harness| {
            for (object, deleted) in objects().flat_map(|object| [(object.clone(), false), (object, true)]) {
                harness.set.event("a", undecodable(&object, deleted), &mut Vec::new()).unwrap();
            }
        }),
        ("relisted", &|harness| drop(harness.list("a", &[]))),
        ("removed", &|harness| {
            let many: Vec<String> = (0..1000).map(|number| format!("namespace-{number}")).collect();
            harness.set(&many.iter().map(String::as_str).collect::<Vec<_>>());
            harness.set(&[]);
        }),
    ];
    for (how, empty) in empties {
        let mut harness = NamespaceSetHarness::of(&["a"]);
        harness.list("a", &[]);
        let memory = allocation_counter::measure(|| {
            objects().for_each(|object| drop(harness.event("a", Event::Apply(object))));
            empty(&mut harness);
        });
        assert_eq!(harness.store.len(), 0, "{how}");
        assert!(memory.bytes_total > 5_000_000 && memory.bytes_current < 30_000, "{how}: {memory:?}");
    }
}
