//! Waiting until a write is visible.

use super::{
    Store, WaitForError, store_shared,
    tests::{filled, object},
};
use crate::{
    reflector::ReflectHandle,
    watcher::{CollectionEvent, Event},
};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use parking_lot::Mutex;
use std::{
    future::Future,
    sync::Arc,
    task::{Context, Wake},
};

/// The version in the store after the wait, `None` for no such object; `Err` while the wait is pending.
type Outcome = Result<Option<String>, &'static str>;

fn wait(
    store: &Store<ConfigMap>,
    name: &str,
    version: &str,
) -> BoxFuture<'static, Result<Option<Arc<ConfigMap>>, WaitForError>> {
    let (store, written) = (store.clone(), object(name, version));
    async move { store.wait_for(&written).await }.boxed()
}

fn outcome(
    waiting: &mut (impl Future<Output = Result<Option<Arc<ConfigMap>>, WaitForError>> + Unpin),
) -> Outcome {
    match waiting.poll_unpin(&mut Context::from_waker(futures::task::noop_waker_ref())) {
        std::task::Poll::Pending => Err("waits"),
        std::task::Poll::Ready(held) => Ok(held.unwrap().and_then(|it| it.resource_version())),
    }
}

fn seen(version: &str) -> Outcome {
    Ok(Some(version.to_owned()))
}

#[test]
fn a_wait_for_a_known_version_ends_at_once() {
    let (store, writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    assert_eq!(outcome(&mut wait(&store, "a", "7")), seen("7"));
    assert_eq!(outcome(&mut wait(&store, "a", "5")), seen("7"));
    assert_eq!(outcome(&mut wait(&store, "gone-by-then", "6")), Ok(None));
    drop(writer);
    assert_eq!(outcome(&mut wait(&store, "a", "7")), seen("7"), "also after the writer was dropped");
    assert_eq!(outcome(&mut wait(&store, "gone-by-then", "6")), Ok(None), "what was known before is known");
}

#[test]
fn a_wait_ends_with_the_event_of_the_write_or_of_a_later_one() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    let (mut own, mut later, mut deleted) =
        (wait(&store, "a", "9"), wait(&store, "b", "10"), wait(&store, "c", "20"));
    writer.apply_watcher_event(&Event::Apply(object("a", "8")));
    assert_eq!(outcome(&mut own), Err("waits"));
    writer.apply_watcher_event(&Event::Apply(object("a", "9")));
    assert_eq!((outcome(&mut own), outcome(&mut later)), (seen("9"), Err("waits")));
    writer.apply_watcher_event(&Event::Apply(object("b", "12")));
    assert_eq!(outcome(&mut later), seen("12"), "a skipped state is awaited no longer");
    assert_eq!(outcome(&mut deleted), Err("waits"));
    writer.apply_watcher_event(&Event::Delete(object("c", "21")));
    assert_eq!(outcome(&mut deleted), Ok(None));
}

#[test]
fn a_running_list_ends_no_wait_until_it_is_visible() {
    let (store, mut writer) = filled([Event::Init]);
    let mut waiting = wait(&store, "a", "9");
    writer.apply_watcher_event(&Event::InitApply(object("a", "9")));
    assert_eq!(outcome(&mut waiting), Err("waits"));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(outcome(&mut waiting), seen("9"));
}

#[test]
fn a_list_requested_after_the_write_ends_the_wait_for_an_object_that_it_lacks() {
    let (store, mut writer) = filled([]);
    let mut waiting = wait(&store, "gone", "9");
    assert_eq!(outcome(&mut waiting), Err("waits"));
    let list = |writer: &mut super::Writer<ConfigMap>| {
        writer.apply_watcher_event(&Event::Init);
        writer.apply_watcher_event(&Event::InitDone);
    };
    list(&mut writer);
    assert_eq!(outcome(&mut waiting), Err("waits"), "it may have been requested before the wait began");
    list(&mut writer);
    assert_eq!(outcome(&mut waiting), Ok(None));

    writer.apply_watcher_event(&Event::Init);
    let mut waiting = wait(&store, "gone", "19");
    assert_eq!(outcome(&mut waiting), Err("waits"));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(outcome(&mut waiting), Err("waits"));
    list(&mut writer);
    assert_eq!(outcome(&mut waiting), Ok(None), "the list after a running one was requested later");
}

#[test]
fn opaque_versions_are_compared_for_equality() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "x1")), Event::InitDone]);
    assert_eq!(outcome(&mut wait(&store, "a", "x1")), seen("x1"));
    let mut waiting = wait(&store, "a", "x2");
    assert_eq!(outcome(&mut waiting), Err("waits"));
    writer.apply_watcher_event(&Event::Apply(object("a", "x3")));
    assert_eq!(outcome(&mut waiting), Err("waits"));
    writer.apply_watcher_event(&Event::Apply(object("a", "x2")));
    assert_eq!(outcome(&mut waiting), seen("x2"));
}

#[test]
fn a_dropped_or_failed_wait_is_removed() {
    let (store, writer) = filled([]);
    let mut abandoned = wait(&store, "a", "9");
    assert_eq!(outcome(&mut abandoned), Err("waits"));
    drop(abandoned);
    assert!(store.cache.watermarks().change(|watermarks| watermarks.has_no_waiters()));
    let waiting = wait(&store, "a", "9");
    drop(writer);
    let error = waiting.now_or_never().unwrap().unwrap_err();
    assert!(matches!(error, WaitForError::WriterDropped(_)), "{error}");
    assert!(store.cache.watermarks().change(|watermarks| watermarks.has_no_waiters()));
}

#[test]
fn waiting_for_an_object_without_a_version_is_an_error() {
    let (store, _writer) = filled([]);
    let error = store.wait_for(&object("new", "")).now_or_never().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("new has no metadata.resourceVersion"), "{error}");
}

#[test]
fn a_list_that_replaces_an_abandoned_one_does_not_end_waits_that_began_meanwhile() {
    let list = || [Event::Init, Event::InitApply(object("a", "7")), Event::InitDone];
    let (store, mut writer) = filled(list());
    writer.apply_watcher_event(&Event::Init);
    let mut own = wait(&store, "a", "9");
    assert_eq!(outcome(&mut own), Err("waits"));
    list().iter().for_each(|event| writer.apply_watcher_event(event));
    assert_eq!(outcome(&mut own), Err("waits"), "the list may have been requested before the write");
    list().iter().for_each(|event| writer.apply_watcher_event(event));
    assert_eq!(outcome(&mut own), seen("7"), "it was requested after the list before it had started");
}

/// A waker that records whether it was called while the store was locked.
struct LockRecorder {
    store: Store<ConfigMap>,
    locked: Mutex<Vec<bool>>,
}

impl Wake for LockRecorder {
    fn wake(self: Arc<Self>) {
        self.locked.lock().push(self.store.cache.watermarks().is_locked());
    }
}

#[test]
fn waiters_are_woken_without_a_lock() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    let recorder = Arc::new(LockRecorder { store: store.clone(), locked: Mutex::default() });
    let waker = Arc::clone(&recorder).into();
    let mut waits = ["8", "9", "10", "11"].map(|version| wait(&store, "a", version));
    waits.iter_mut().for_each(|it| assert!(it.poll_unpin(&mut Context::from_waker(&waker)).is_pending()));
    let [_eight, _nine, ten, _eleven] = waits;
    writer.apply_watcher_event(&Event::Apply(object("a", "8")));
    writer.apply_collection_event(CollectionEvent::<ConfigMap>::Progress { resource_version: "9".into() });
    drop(ten);
    drop(writer);
    assert_eq!(
        *recorder.locked.lock(),
        [false, false, false, false],
        "woken by a change, a bookmark, a dropped wait, and a dropped writer"
    );
}

/// A waker that records what a subscriber has received.
struct SubscriberRecorder {
    subscriber: Mutex<ReflectHandle<ConfigMap>>,
    received: Mutex<Vec<Option<String>>>,
}

impl Wake for SubscriberRecorder {
    fn wake(self: Arc<Self>) {
        let object = self.subscriber.lock().next().now_or_never().flatten();
        self.received.lock().push(object.and_then(|object| object.metadata.resource_version.clone()));
    }
}

#[test]
fn subscribers_receive_a_change_before_a_wait_ends() {
    let (store, mut writer) = store_shared::<ConfigMap>(1);
    let list = [Event::Init, Event::InitApply(object("a", "7")), Event::InitDone];
    list.iter().for_each(|event| writer.apply_watcher_event(event));
    let mut subscriber = store.subscribe().unwrap();
    assert!(subscriber.next().now_or_never().is_some(), "the current objects come first");
    let recorder =
        Arc::new(SubscriberRecorder { subscriber: Mutex::new(subscriber), received: Mutex::default() });
    let waker = Arc::clone(&recorder).into();
    let mut waits = ["8", "9"].map(|version| wait(&store, "a", version));
    waits.iter_mut().for_each(|it| assert!(it.poll_unpin(&mut Context::from_waker(&waker)).is_pending()));
    writer.apply_watcher_event(&Event::Apply(object("a", "8")));
    writer.apply_watcher_event(&Event::Delete(object("a", "9")));
    assert_eq!(*recorder.received.lock(), [Some("8".to_owned()), Some("9".to_owned())]);
}

#[test]
fn a_list_without_an_object_ends_a_wait_for_it_only_if_it_was_there() {
    // These versions have no order: the absence of an object tells something only if it was visible.
    let (store, mut writer) = filled([]);
    let synced = |version: &str| CollectionEvent::Synced { resource_version: version.into() };
    for event in [CollectionEvent::Init, CollectionEvent::InitApply(object("a", "x")), synced("x")] {
        writer.apply_collection_event(event);
    }
    // The list is requested before the waits begin.
    writer.apply_collection_event(CollectionEvent::<ConfigMap>::Init);
    let (mut visible, mut never_seen) = (wait(&store, "a", "y"), wait(&store, "b", "y"));
    let (reader, mut other) = (store.clone(), object("a", "y"));
    other.metadata.uid = Some("another".into());
    let mut recreated = async move { reader.wait_for(&other).await }.boxed();
    let pending = [&mut visible, &mut never_seen, &mut recreated].map(outcome);
    assert_eq!(pending, [const { Err("waits") }; 3]);
    writer.apply_collection_event(synced("z"));
    let ended = [&mut visible, &mut never_seen, &mut recreated].map(outcome);
    assert_eq!(ended, [Ok(None), Err("waits"), Err("waits")]);
}

#[test]
fn a_wait_fails_when_the_writer_is_dropped_meanwhile() {
    let (store, writer) = filled([Event::Init, Event::InitDone]);
    let mut waiting = wait(&store, "a", "5");
    assert_eq!(outcome(&mut waiting), Err("waits"));
    drop(writer);
    assert!(matches!(waiting.now_or_never(), Some(Err(WaitForError::WriterDropped(_)))));
}

#[test]
fn a_wait_that_is_met_is_over_before_it_is_polled() {
    let (store, _writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    let key = crate::reflector::ObjectKey::of(&object("a", "0"));
    let awaited =
        |version: &str| super::Awaited::State { uid: None, version: version.into(), was_visible: true };
    assert!(store.wait_until(key.clone(), awaited("7")).is_over());
    assert!(!store.wait_until(key, awaited("8")).is_over());
}

#[test]
fn waits_that_have_ended_take_little_memory() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    let memory = allocation_counter::measure(|| {
        let waits = |version: &str| -> Vec<_> {
            (0..10_000)
                .map(|number| {
                    let mut waiting = wait(&store, &number.to_string(), version);
                    assert_eq!(outcome(&mut waiting), Err("waits"));
                    waiting
                })
                .collect()
        };
        drop(waits("100"));
        let mut met = waits("100");
        writer.apply_watcher_event(&Event::Apply(object("a", "101")));
        assert!(met.iter_mut().all(|waiting| outcome(waiting) == Ok(None)));
    });
    assert!(memory.bytes_current < 20_000, "{memory:?}");
}
