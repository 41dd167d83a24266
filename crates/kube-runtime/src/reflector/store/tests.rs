//! What a store shows, and when.

use super::*;
use crate::{
    reflector::{ObjectKey, ObjectRef},
    watcher::Event,
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
fn a_list_becomes_visible_all_at_once() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    assert_eq!(names(&store), ["a"]);
    for event in [Event::Init, Event::InitApply(object("b", "2")), Event::InitApply(object("c", "3"))] {
        writer.apply_watcher_event(&event);
        assert_eq!(names(&store), ["a"], "a list under way shows nothing");
    }
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(names(&store), ["b", "c"]);
}

#[test]
fn a_list_that_starts_over_forgets_its_first_half() {
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
fn a_deletion_within_a_list_counts_for_the_list() {
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
fn an_unchanged_object_keeps_its_place_through_a_relist() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let before = store.get(&key("a")).unwrap();
    for event in [Event::Init, Event::InitApply(object("a", "1")), Event::InitDone] {
        writer.take_in(event);
    }
    assert!(Arc::ptr_eq(&before, &store.get(&key("a")).unwrap()));

    let reborn = ConfigMap {
        metadata: ObjectMeta { uid: Some("another".into()), ..object("a", "1").metadata },
        ..Default::default()
    };
    writer.take_in(Event::Apply(reborn));
    assert!(!Arc::ptr_eq(&before, &store.get(&key("a")).unwrap()), "another uid is another object");
}

#[test]
fn what_came_stays_and_a_copy_goes_on() {
    let (store, mut writer) = filled([]);
    let place = |object: &ConfigMap| object.metadata.name.as_deref().unwrap().as_ptr();
    let mut pass = |event: fn(ConfigMap) -> Event<ConfigMap>, version| {
        let came = object("a", version);
        let (was, passed) = (place(&came), writer.pass_through(event(came)).into_touched().unwrap());
        let kept = store.get(&key("a"));
        (passed, was, kept.as_deref().map(place))
    };
    let (passed, was, kept) = pass(Event::Apply, "1");
    assert_eq!((passed.metadata.resource_version.as_deref(), kept), (Some("1"), Some(was)));
    assert_ne!(place(&passed), was);
    // Of what the store has already, no copy is made.
    let (passed, was, kept_still) = pass(Event::Apply, "1");
    assert_eq!((place(&passed), kept_still), (was, kept));
    let (passed, _, kept) = pass(Event::Delete, "2");
    assert_eq!((passed.metadata.resource_version.as_deref(), kept), (Some("2"), None));
}

#[test]
fn events_change_single_objects() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let seen = writer.take_in(Event::Apply(object("a", "2"))).into_applied().unwrap();
    assert!(Arc::ptr_eq(&seen, &store.get(&key("a")).unwrap()));
    assert_eq!(seen.metadata.resource_version.as_deref(), Some("2"));
    assert!(writer.take_in(Event::Delete(object("a", "3"))).into_applied().is_none());
    assert!(store.is_empty());
}

#[test]
fn is_ready_from_the_first_complete_list_on() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1"))]);
    assert!(!store.is_ready());
    assert!(store.wait_until_ready().now_or_never().is_none());
    writer.apply_watcher_event(&Event::InitDone);
    assert!(store.wait_until_ready().now_or_never().unwrap().is_ok());
    drop(writer);
    assert!(store.wait_until_ready().now_or_never().unwrap().is_ok(), "ready stays ready");
}

#[test]
fn waiting_for_a_writer_that_is_gone_is_an_error() {
    let (store, writer) = filled([Event::Init]);
    drop(writer);
    let error = store.wait_until_ready().now_or_never().unwrap().unwrap_err();
    assert!(error.to_string().contains("dropped"));
}

#[test]
fn finds_by_predicate_and_by_label() {
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
fn an_object_of_the_cluster_is_found_by_its_childrens_idea_of_it() {
    let cluster_wide = ConfigMap {
        metadata: ObjectMeta { name: Some("owner".into()), ..Default::default() },
        ..Default::default()
    };
    let (store, _writer) = filled([Event::Apply(cluster_wide)]);
    assert!(store.get(&key("owner")).is_some());
}

#[test]
fn a_late_subscriber_starts_with_what_is_there() {
    let (_store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let mut subscriber = writer.subscribe().unwrap();
    writer.apply_watcher_event(&Event::Apply(object("b", "2")));
    assert_eq!(subscriber.next().now_or_never().flatten().unwrap().name_any(), "a");
    assert_eq!(subscriber.next().now_or_never().flatten().unwrap().name_any(), "b");
    assert!(subscriber.next().now_or_never().is_none());
}

#[test]
fn a_subscriber_before_the_first_list_gets_all_of_it() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1"))]);
    let mut early = store.subscribe().unwrap();
    assert!(early.next().now_or_never().is_none(), "a list under way shows nothing");
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(early.next().now_or_never().flatten().unwrap().name_any(), "a");
}

#[test]
fn a_slow_subscriber_gets_the_newest_state_and_every_deletion() {
    let (store, mut writer) = filled([]);
    let mut slow = writer.subscribe().unwrap();
    for version in ["1", "2", "3"] {
        writer.apply_watcher_event(&Event::Apply(object("a", version)));
    }
    assert_eq!(slow.next().now_or_never().flatten().unwrap().metadata.resource_version.as_deref(), Some("3"));
    writer.apply_watcher_event(&Event::Delete(object("a", "4")));
    let gone = slow.next().now_or_never().flatten().unwrap();
    assert_eq!((gone.name_any().as_str(), store.get(&key("a"))), ("a", None));
    drop(writer);
    assert_eq!(slow.next().now_or_never(), Some(None), "ends with its writer");
    assert_eq!(
        store.subscribe().unwrap().next().now_or_never(),
        Some(None),
        "and so does one that comes later"
    );
}

#[test]
fn a_relist_tells_subscribers_only_of_differences() {
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
        writer.apply_watcher_event(&event);
    }
    let mut told: Vec<String> = std::iter::from_fn(|| subscriber.next().now_or_never().flatten())
        .map(|object| object.name_any())
        .collect();
    told.sort();
    assert_eq!(told, ["gone", "new"]);
}

#[test]
fn an_unshared_cache_has_no_subscribers() {
    let (store, writer) = super::store::<ConfigMap>();
    assert!(writer.subscribe().is_none() && store.subscribe().is_none());
}

#[test]
fn whoever_acts_on_an_event_sees_the_state_it_was_about() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "1")), Event::InitDone]);
    let named = |name| ObjectKey::of(&object(name, "0"));
    let version =
        |name| store.newest(&named(name)).and_then(|object| object.metadata.resource_version.clone());
    for event in [Event::Init, Event::InitApply(object("a", "2")), Event::InitApply(object("b", "2"))] {
        writer.apply_watcher_event(&event);
    }
    assert_eq!((version("a"), version("b")), (Some("2".into()), Some("2".into())));
    assert_eq!(names(&store), ["a"], "readers see the list as a whole or not at all");
    assert_eq!(store.get(&key("a")).unwrap().metadata.resource_version.as_deref(), Some("1"));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!((names(&store).len(), version("b")), (2, Some("2".into())));
}
