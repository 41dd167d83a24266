//! The visible state of a store after each kind of event.

use super::*;
use crate::{
    reflector::{ObjectKey, ObjectRef},
    watcher::{CollectionEvent, Event, UndecodableObject},
};
use futures::{FutureExt, StreamExt};
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube_core::ResourceExt;
use std::sync::Arc;

pub(super) fn object(name: &str, version: &str) -> ConfigMap {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some("ns".to_owned()),
        resource_version: Some(version.to_owned()),
        uid: Some(format!("uid-of-{name}")),
        ..Default::default()
    };
    ConfigMap { metadata, ..Default::default() }
}

pub(super) fn key(name: &str) -> ObjectRef<ConfigMap> {
    ObjectRef::new(name).within("ns")
}

pub(super) fn filled(
    events: impl IntoIterator<Item = Event<ConfigMap>>,
) -> (Store<ConfigMap>, Writer<ConfigMap>) {
    let (store, mut writer) = store_shared(0);
    events.into_iter().for_each(|event| writer.apply_watcher_event(&event));
    (store, writer)
}

fn names(store: &Store<ConfigMap>) -> Vec<String> {
    let mut names: Vec<String> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

#[test]
fn a_list_becomes_visible_atomically() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    assert_eq!(names(&store), ["a"]);
    for event in [Event::Init, Event::InitApply(object("b", "2")), Event::InitApply(object("c", "3"))] {
        writer.apply_watcher_event(&event);
        assert_eq!(names(&store), ["a"], "a running list is not visible");
    }
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(names(&store), ["b", "c"]);
}

#[test]
fn a_list_that_starts_over_discards_its_first_half() {
    let (store, _writer) = filled([
        Event::Init,
        Event::InitApply(object("a", "1")),
        Event::Init,
        Event::InitApply(object("b", "1")),
        Event::InitDone,
    ]);
    assert_eq!(names(&store), ["b"]);
}

#[test]
fn a_deletion_within_a_list_removes_the_object_from_it() {
    let (store, _writer) = filled([
        Event::Init,
        Event::InitApply(object("a", "1")),
        Event::InitApply(object("b", "1")),
        Event::Delete(object("a", "2")),
        Event::InitDone,
    ]);
    assert_eq!(names(&store), ["b"]);
}

#[test]
fn an_unchanged_object_keeps_its_arc_through_a_relist() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let before = store.get(&key("a")).unwrap();
    for event in [Event::Init, Event::InitApply(object("a", "1")), Event::InitDone] {
        writer.pass_through(event);
    }
    assert!(Arc::ptr_eq(&before, &store.get(&key("a")).unwrap()));

    let recreated = ConfigMap {
        metadata: ObjectMeta { uid: Some("another".into()), ..object("a", "1").metadata },
        ..Default::default()
    };
    for event in [Event::Init, Event::InitApply(recreated), Event::InitDone] {
        writer.pass_through(event);
    }
    assert!(!Arc::ptr_eq(&before, &store.get(&key("a")).unwrap()), "another uid is another object");
}

#[test]
fn the_store_keeps_the_received_object_and_passes_a_clone_on() {
    let (store, mut writer) = filled([]);
    let address = |object: &ConfigMap| object.metadata.name.as_deref().unwrap().as_ptr();
    let mut pass = |event: fn(ConfigMap) -> Event<ConfigMap>, version| {
        let received = object("a", version);
        let (received_at, passed) =
            (address(&received), writer.pass_through(event(received)).into_touched().unwrap());
        let stored = store.get(&key("a"));
        (passed, received_at, stored.as_deref().map(address))
    };
    let (passed, received_at, stored_at) = pass(Event::Apply, "1");
    assert_eq!((passed.metadata.resource_version.as_deref(), stored_at), (Some("1"), Some(received_at)));
    assert_ne!(address(&passed), received_at);
    // A state that a list repeats is not cloned.
    let (passed, received_at, still_stored_at) = pass(Event::InitApply, "1");
    assert_eq!((address(&passed), still_stored_at), (received_at, stored_at));
    let (passed, _, stored_at) = pass(Event::Delete, "2");
    assert_eq!((passed.metadata.resource_version.as_deref(), stored_at), (Some("2"), None));
}

#[test]
fn apply_and_delete_change_single_objects() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let seen = writer.apply_event(Event::Apply(object("a", "2"))).into_applied().unwrap();
    assert!(Arc::ptr_eq(&seen, &store.get(&key("a")).unwrap()));
    assert_eq!(seen.metadata.resource_version.as_deref(), Some("2"));
    assert!(writer.apply_event(Event::Delete(object("a", "3"))).into_applied().is_none());
    assert!(store.is_empty());
}

#[test]
fn the_store_is_ready_after_the_first_complete_list() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1"))]);
    assert!(!store.is_ready());
    assert!(store.wait_until_ready().now_or_never().is_none());
    writer.apply_watcher_event(&Event::InitDone);
    assert!(store.wait_until_ready().now_or_never().unwrap().is_ok());
    drop(writer);
    assert!(store.wait_until_ready().now_or_never().unwrap().is_ok(), "a ready store stays ready");
}

#[test]
fn waiting_for_readiness_fails_when_the_writer_is_dropped() {
    let (store, writer) = filled([Event::Init]);
    drop(writer);
    let error = store.wait_until_ready().now_or_never().unwrap().unwrap_err();
    assert!(error.to_string().contains("dropped"));
}

#[test]
fn objects_are_found_by_predicate_and_by_label() {
    let mut labelled = object("a", "1");
    labelled.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    let (store, _writer) = filled([Event::Apply(labelled), Event::Apply(object("b", "1"))]);
    let selector = "app=web".parse().unwrap();
    assert_eq!(store.state_filter_selector(&selector).len(), 1);
    assert_eq!(store.state_filter(|object| object.name_any() == "b").len(), 1);
    assert!(store.find(|object| object.name_any() == "c").is_none());
    assert_eq!(store.len(), 2);
}

#[test]
fn a_cluster_scoped_object_is_found_by_a_key_with_a_namespace() {
    let cluster_wide = ConfigMap {
        metadata: ObjectMeta { name: Some("owner".into()), ..Default::default() },
        ..Default::default()
    };
    let (store, _writer) = filled([Event::Apply(cluster_wide)]);
    assert!(store.get(&key("owner")).is_some());
}

#[test]
fn a_late_subscriber_starts_with_the_current_objects() {
    let (_store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let mut subscriber = writer.subscribe().unwrap();
    writer.apply_watcher_event(&Event::Apply(object("b", "2")));
    assert_eq!(subscriber.next().now_or_never().flatten().unwrap().name_any(), "a");
    assert_eq!(subscriber.next().now_or_never().flatten().unwrap().name_any(), "b");
    assert!(subscriber.next().now_or_never().is_none());
}

#[test]
fn a_subscriber_before_the_first_list_receives_the_whole_list() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1"))]);
    let mut early = store.subscribe().unwrap();
    assert!(early.next().now_or_never().is_none(), "a running list is not visible");
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(early.next().now_or_never().flatten().unwrap().name_any(), "a");
}

#[test]
fn a_slow_subscriber_receives_the_newest_state_and_every_deletion() {
    let (store, mut writer) = filled([]);
    let mut slow = writer.subscribe().unwrap();
    for version in ["1", "2", "3"] {
        writer.apply_watcher_event(&Event::Apply(object("a", version)));
    }
    assert_eq!(slow.next().now_or_never().flatten().unwrap().metadata.resource_version.as_deref(), Some("3"));
    writer.apply_watcher_event(&Event::Delete(object("a", "4")));
    let deleted = slow.next().now_or_never().flatten().unwrap();
    assert_eq!((deleted.name_any().as_str(), store.get(&key("a"))), ("a", None));
    drop(writer);
    assert_eq!(slow.next().now_or_never(), Some(None), "the stream ends with the writer");
    assert_eq!(
        store.subscribe().unwrap().next().now_or_never(),
        Some(None),
        "a later subscriber's stream ends as well"
    );
}

#[test]
fn a_relist_sends_subscribers_only_the_differences() {
    let (_store, mut writer) = filled([
        Event::Init,
        Event::InitApply(object("same", "1")),
        Event::InitApply(object("gone", "1")),
        Event::InitDone,
    ]);
    let mut subscriber = writer.subscribe().unwrap();
    while subscriber.next().now_or_never().is_some() {}
    for event in [
        Event::Init,
        Event::InitApply(object("same", "1")),
        Event::InitApply(object("new", "5")),
        Event::InitDone,
    ] {
        writer.pass_through(event);
    }
    let mut received: Vec<String> = std::iter::from_fn(|| subscriber.next().now_or_never().flatten())
        .map(|object| object.name_any())
        .collect();
    received.sort();
    assert_eq!(received, ["gone", "new"]);
}

#[test]
fn an_unshared_store_cannot_be_subscribed_to() {
    let (store, writer) = super::store::<ConfigMap>();
    assert!(writer.subscribe().is_none() && store.subscribe().is_none());
}

#[test]
fn newest_returns_the_state_of_the_running_list() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let named = |name| ObjectKey::of(&object(name, "0"));
    let version = |name| {
        store.newest(&named(name)).unwrap().and_then(|object| object.metadata.resource_version.clone())
    };
    for event in [Event::Init, Event::InitApply(object("a", "2")), Event::InitApply(object("b", "2"))] {
        writer.apply_watcher_event(&event);
    }
    assert_eq!((version("a"), version("b")), (Some("2".into()), Some("2".into())));
    assert_eq!(names(&store), ["a"], "readers see the list only when it is complete");
    assert_eq!(store.get(&key("a")).unwrap().metadata.resource_version.as_deref(), Some("1"));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!((names(&store).len(), version("b")), (2, Some("2".into())));
}

/// The events of a list that broke off have triggered reconciles: these see the states in the events, also before the next list repeats
/// them.
#[test]
fn newest_returns_the_states_of_lists_that_broke_off_until_a_list_is_complete() {
    let (store, mut writer) = filled([
        Event::Init,
        Event::InitApply(object("a", "1")),
        Event::InitApply(object("gone", "1")),
        Event::InitDone,
    ]);
    let version = |name| {
        let newest = store.newest(&ObjectKey::of(&object(name, "0"))).unwrap();
        newest.and_then(|object| object.metadata.resource_version.clone())
    };
    let versions = || [version("a"), version("b"), version("gone")];
    let expected = |versions: [Option<&str>; 3]| versions.map(|version| version.map(str::to_owned));
    let mut apply = |event| writer.apply_watcher_event(&event);
    [Event::Init, Event::InitApply(object("a", "2")), Event::InitApply(object("b", "2"))]
        .into_iter()
        .for_each(&mut apply);
    apply(Event::Init);
    assert_eq!(versions(), expected([Some("2"), Some("2"), Some("1")]), "a list that broke off");
    apply(Event::InitApply(object("b", "3")));
    apply(Event::Init);
    assert_eq!(versions(), expected([Some("2"), Some("3"), Some("1")]), "two of them");
    apply(Event::InitApply(object("a", "4")));
    apply(Event::Delete(object("b", "5")));
    assert_eq!(versions(), expected([Some("4"), None, Some("1")]), "a running list and deletions are newer");
    apply(Event::InitDone);
    assert_eq!(versions(), expected([Some("4"), None, None]), "the complete list");
}

/// After a restore from a backup, versions are used again: a retained state may have the version of a new one.
#[test]
fn a_readable_state_replaces_a_retained_one_of_the_same_version() {
    let restored = || {
        let mut object = object("a", "20");
        object.metadata.labels = Some([("restored".to_owned(), "yes".to_owned())].into());
        object
    };
    let undecodable = || {
        CollectionEvent::Undecodable(UndecodableObject {
            namespace: Some("ns".into()),
            name: "a".into(),
            uid: Some("uid-of-a".into()),
            resource_version: Some("18".into()),
            deleted: false,
            error: "data: expected a map".into(),
        })
    };
    let is_restored =
        |store: &Store<ConfigMap>| store.get(&key("a")).is_some_and(|map| map.metadata.labels.is_some());
    let apply: [fn(&mut Writer<ConfigMap>, ConfigMap); 4] = [
        |writer, object| drop(writer.apply_collection_event(CollectionEvent::Apply(object))),
        |writer, object| drop(writer.pass_through(Event::Apply(object))),
        |writer, object| writer.apply_watcher_event(&Event::Apply(object)),
        |writer, object| {
            for event in [Event::Init, Event::InitApply(object), Event::InitDone] {
                writer.apply_watcher_event(&event);
            }
        },
    ];
    for apply in apply {
        let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "20")), Event::InitDone]);
        let synced = CollectionEvent::<ConfigMap>::Synced { resource_version: "18".into() };
        for event in [CollectionEvent::Init, undecodable(), synced] {
            writer.apply_collection_event(event);
        }
        assert!(store.get(&key("a")).is_some() && !is_restored(&store), "the readable state is retained");
        apply(&mut writer, restored());
        assert!(is_restored(&store));
        writer.apply_watcher_event(&Event::Apply(object("a", "20")));
        assert!(!is_restored(&store), "an event is always newer than what is stored");
    }
}

/// Versions may be used again after the storage was restored.
#[test]
fn only_lists_of_one_history_take_equal_versions_for_equal_objects() {
    let labelled = |label: &str| {
        let mut object = object("a", "20");
        object.metadata.labels = Some([("label".to_owned(), label.to_owned())].into());
        object
    };
    let (store, mut writer) = filled([Event::Init, Event::InitApply(labelled("0")), Event::InitDone]);
    let label = |store: &Store<ConfigMap>| {
        store.get(&key("a")).unwrap().metadata.labels.clone().unwrap()["label"].clone()
    };
    let relist = |object: ConfigMap| [Event::Init, Event::InitApply(object), Event::InitDone];
    writer.apply_watcher_event(&Event::Apply(labelled("1")));
    assert_eq!(label(&store), "1");
    writer.pass_through(Event::Apply(labelled("2")));
    assert_eq!(label(&store), "2");
    relist(labelled("3")).iter().for_each(|event| writer.apply_watcher_event(event)); // without the errors of its stream
    assert_eq!(label(&store), "3");
    relist(labelled("4")).into_iter().for_each(|event| drop(writer.pass_through(event)));
    assert_eq!(label(&store), "4", "other metadata in the same version are of another history");
    let stored = store.get(&key("a")).unwrap();
    relist(labelled("4")).into_iter().for_each(|event| drop(writer.pass_through(event)));
    assert!(Arc::ptr_eq(&stored, &store.get(&key("a")).unwrap()), "kept: within one history it is the same");
    writer.apply_error(&crate::watcher::Error::storage_went_back("25", "20"));
    let [init, applied, done] = relist(labelled("5"));
    writer.pass_through(init.clone()); // breaks off
    [init, applied, done].into_iter().for_each(|event| drop(writer.pass_through(event)));
    assert_eq!(label(&store), "5");
    let stored = store.get(&key("a")).unwrap();
    relist(labelled("5")).into_iter().for_each(|event| drop(writer.pass_through(event)));
    assert!(Arc::ptr_eq(&stored, &store.get(&key("a")).unwrap()), "the new history");
}

#[test]
fn a_list_that_is_abandoned_leaves_a_retained_state_outdated() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "20")), Event::InitDone]);
    writer.apply_collection_event(undecodable("a", "uid-of-a", false));
    let mut restored = object("a", "20");
    restored.metadata.labels = Some([("restored".to_owned(), "yes".to_owned())].into());
    for event in [Event::Init, Event::InitApply(restored.clone()), Event::Init] {
        writer.apply_watcher_event(&event);
    }
    assert!(writer.shared().same_version(&object("a", "20")).is_none(), "it may be another state");
    for event in [Event::InitApply(restored), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    assert!(store.get(&key("a")).is_some_and(|map| map.metadata.labels.is_some()));
    assert!(writer.shared().same_version(&object("a", "20")).is_some());
}

#[test]
fn keys_are_found_in_the_visible_state_and_in_the_running_list() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let has = |store: &Store<ConfigMap>| ["a", "b"].map(|name| store.has(&ObjectKey::of(&object(name, "0"))));
    assert_eq!(has(&store), [true, false]);
    writer.apply_watcher_event(&Event::Init);
    writer.apply_watcher_event(&Event::InitApply(object("b", "2")));
    assert_eq!(has(&store), [true, true]);
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(has(&store), [false, true]);
}

#[test]
fn a_subscriber_starts_with_the_objects_in_their_order() {
    let names: Vec<String> = (10..40).map(|number| format!("map-{number}")).collect();
    let (_store, writer) = filled(names.iter().rev().map(|name| Event::Apply(object(name, "1"))));
    let mut subscriber = writer.subscribe().unwrap();
    let received: Vec<String> =
        std::iter::from_fn(|| subscriber.next().now_or_never().flatten()).map(|it| it.name_any()).collect();
    assert_eq!(received, names);
}

#[test]
fn the_clone_of_a_subscriber_receives_what_is_pending_and_what_follows() {
    let (_store, mut writer) = filled([Event::Apply(object("a", "1"))]);
    let mut subscriber = writer.subscribe().unwrap();
    let mut clone = subscriber.clone();
    writer.apply_watcher_event(&Event::Apply(object("b", "2")));
    for stream in [&mut subscriber, &mut clone] {
        let received: Vec<String> =
            std::iter::from_fn(|| stream.next().now_or_never().flatten()).map(|it| it.name_any()).collect();
        assert_eq!(received, ["a", "b"]);
    }
}

fn undecodable(name: &str, uid: &str, deleted: bool) -> CollectionEvent<ConfigMap> {
    CollectionEvent::Undecodable(UndecodableObject {
        namespace: Some("ns".into()),
        name: name.into(),
        uid: Some(uid.into()),
        resource_version: Some("5".into()),
        deleted,
        error: "data: expected a map".into(),
    })
}

#[test]
fn an_undecodable_object_with_another_uid_replaces_the_last_readable_state() {
    for (uid, deleted, left) in
        [("uid-of-a", false, 1), ("uid-of-a", true, 0), ("another", false, 0), ("another", true, 1)]
    {
        let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
        writer.apply_collection_event(undecodable("a", uid, deleted));
        assert_eq!(store.len(), left, "{uid}, deleted: {deleted}");
        // Within a list only a state of the same object is retained.
        let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
        for event in [
            CollectionEvent::Init,
            undecodable("a", uid, deleted),
            CollectionEvent::Synced { resource_version: "9".into() },
        ] {
            writer.apply_collection_event(event);
        }
        assert_eq!(store.len(), usize::from(uid == "uid-of-a" && !deleted), "{uid}, deleted: {deleted}");
    }
}

#[test]
fn undecodable_objects_that_come_and_go_leave_no_memory() {
    let (_store, mut writer) = filled([Event::Init, Event::InitDone]);
    let mut churn = |names: std::ops::Range<u32>| {
        for name in names.map(|number| format!("a-name-of-a-usual-length-{number}")) {
            for deleted in [false, true] {
                writer.apply_collection_event(undecodable(&name, "uid", deleted));
            }
            writer.apply_collection_event(CollectionEvent::Apply(object(&name, "1")));
            writer.apply_collection_event(undecodable(&name, &format!("uid-of-{name}"), false));
            writer.apply_collection_event(undecodable(&name, &format!("uid-of-{name}"), true));
        }
    };
    churn(0..100);
    let memory = allocation_counter::measure(|| churn(100..1100));
    assert!(memory.bytes_current < 1000, "{memory:?}");
}

#[test]
fn other_objects_keep_their_arc_beside_an_undecodable_one() {
    let list = || {
        [Event::Init, Event::InitApply(object("b", "1")), Event::InitApply(object("a", "1")), Event::InitDone]
    };
    let (store, mut writer) = filled(list());
    let before = store.get(&key("b")).unwrap();
    writer.apply_collection_event(undecodable("a", "uid-of-a", false));
    list().into_iter().for_each(|event| drop(writer.pass_through(event)));
    assert!(Arc::ptr_eq(&before, &store.get(&key("b")).unwrap()));
}

/// Visible objects, an index, a subscriber that reads late, and a list that broke off.
#[test]
fn an_emptied_store_takes_little_memory() {
    let (store, writer) = filled([Event::Init, Event::InitDone]);
    let mut writer =
        writer.with_index(&crate::reflector::Index::new(|object: &ConfigMap| [object.name_any()]));
    let mut subscriber = store.subscribe().unwrap();
    let objects = || (0..10_000).map(|number| object(&number.to_string(), "1"));
    let memory = allocation_counter::measure(|| {
        objects().for_each(|object| writer.apply_watcher_event(&Event::Apply(object)));
        objects().for_each(|object| writer.apply_watcher_event(&Event::Delete(object)));
        while subscriber.next().now_or_never().is_some() {}
        for _ in 0..2 {
            writer.apply_watcher_event(&Event::Init);
            objects().for_each(|object| writer.apply_watcher_event(&Event::InitApply(object)));
        }
        [Event::Init, Event::InitDone].iter().for_each(|event| writer.apply_watcher_event(event));
        assert_eq!(store.len(), 0);
    });
    assert!(memory.bytes_total > 10_000_000 && memory.bytes_current < 50_000, "{memory:?}");
}

#[test]
fn retained_states_that_are_gone_take_little_memory() {
    let (store, mut writer) = filled([Event::Init, Event::InitDone]);
    let names = || (0..10_000).map(|number| number.to_string());
    let memory = allocation_counter::measure(|| {
        for name in names() {
            writer.apply_watcher_event(&Event::Apply(object(&name, "1")));
            writer.apply_collection_event(undecodable(&name, &format!("uid-of-{name}"), false));
        }
        [Event::Init, Event::InitDone].iter().for_each(|event| writer.apply_watcher_event(event));
        assert_eq!(store.len(), 0);
    });
    assert!(memory.bytes_current < 20_000, "{memory:?}");
}

#[test]
fn subscribers_that_are_gone_take_no_memory_after_the_next_change() {
    let (store, mut writer) = filled([Event::Init, Event::InitDone]);
    let memory = allocation_counter::measure(|| {
        drop((0..1000).map(|_| store.subscribe().unwrap()).collect::<Vec<_>>());
        writer.apply_watcher_event(&Event::Apply(object("a", "1")));
    });
    assert!(memory.bytes_current < 10_000, "{memory:?}");
}
