//! Waiting for one's own writes.

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

/// The version the store holds when the wait is over, `None` for no such object; `Err` while it is not over.
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
fn what_was_seen_is_not_waited_for() {
    let (store, writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    assert_eq!(outcome(&mut wait(&store, "a", "7")), seen("7"));
    assert_eq!(outcome(&mut wait(&store, "a", "5")), seen("7"));
    assert_eq!(outcome(&mut wait(&store, "gone-by-then", "6")), Ok(None));
    drop(writer);
    assert_eq!(outcome(&mut wait(&store, "a", "7")), seen("7"), "also if nothing fills it any more");
}

#[test]
fn a_wait_ends_with_the_event_of_the_write_or_a_later_one() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    let (mut own, mut later, mut deleted) =
        (wait(&store, "a", "9"), wait(&store, "b", "10"), wait(&store, "c", "20"));
    writer.apply_watcher_event(&Event::Apply(object("a", "8")));
    assert_eq!(outcome(&mut own), Err("waits"));
    writer.apply_watcher_event(&Event::Apply(object("a", "9")));
    assert_eq!((outcome(&mut own), outcome(&mut later)), (seen("9"), Err("waits")));
    writer.apply_watcher_event(&Event::Apply(object("b", "12")));
    assert_eq!(outcome(&mut later), seen("12"), "a state that was passed over was seen too");
    assert_eq!(outcome(&mut deleted), Err("waits"));
    writer.apply_watcher_event(&Event::Delete(object("c", "21")));
    assert_eq!(outcome(&mut deleted), Ok(None));
}

#[test]
fn a_list_under_way_does_not_count_until_it_is_visible() {
    let (store, mut writer) = filled([Event::Init]);
    let mut waiting = wait(&store, "a", "9");
    writer.apply_watcher_event(&Event::InitApply(object("a", "9")));
    assert_eq!(outcome(&mut waiting), Err("waits"));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(outcome(&mut waiting), seen("9"));
}

#[test]
fn a_list_requested_after_the_write_ends_the_wait_for_what_it_lacks() {
    let (store, mut writer) = filled([]);
    let mut waiting = wait(&store, "gone", "9");
    assert_eq!(outcome(&mut waiting), Err("waits"));
    let list = |writer: &mut super::Writer<ConfigMap>| {
        writer.apply_watcher_event(&Event::Init);
        writer.apply_watcher_event(&Event::InitDone);
    };
    list(&mut writer);
    assert_eq!(outcome(&mut waiting), Err("waits"), "this one may have been requested before");
    list(&mut writer);
    assert_eq!(outcome(&mut waiting), Ok(None));

    writer.apply_watcher_event(&Event::Init);
    let mut waiting = wait(&store, "gone", "19");
    assert_eq!(outcome(&mut waiting), Err("waits"));
    writer.apply_watcher_event(&Event::InitDone);
    assert_eq!(outcome(&mut waiting), Err("waits"));
    list(&mut writer);
    assert_eq!(outcome(&mut waiting), Ok(None), "after one under way, the next was requested later");
}

#[test]
fn versions_that_are_no_numbers_are_compared_for_equality() {
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
fn a_wait_that_is_dropped_or_has_no_end_leaves_nothing() {
    let (store, writer) = filled([]);
    let mut given_up = wait(&store, "a", "9");
    assert_eq!(outcome(&mut given_up), Err("waits"));
    drop(given_up);
    assert!(store.shared.watermarks.change(|watermarks| watermarks.is_idle()));
    let waiting = wait(&store, "a", "9");
    drop(writer);
    let error = waiting.now_or_never().unwrap().unwrap_err();
    assert!(matches!(error, WaitForError::WriterDropped(_)), "{error}");
    assert!(store.shared.watermarks.change(|watermarks| watermarks.is_idle()));
}

#[test]
fn an_object_no_server_has_seen_is_an_error() {
    let (store, _writer) = filled([]);
    let error = store.wait_for(&object("new", "")).now_or_never().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("new has no metadata.resourceVersion"), "{error}");
}

#[test]
fn a_list_that_is_given_up_does_not_count_for_what_was_written_while_it_arrived() {
    let list = || [Event::Init, Event::InitApply(object("a", "7")), Event::InitDone];
    let (store, mut writer) = filled(list());
    writer.apply_watcher_event(&Event::Init);
    let mut own = wait(&store, "a", "9");
    assert_eq!(outcome(&mut own), Err("waits"));
    list().iter().for_each(|event| writer.apply_watcher_event(event));
    assert_eq!(outcome(&mut own), Err("waits"), "it may have been requested before the write");
    list().iter().for_each(|event| writer.apply_watcher_event(event));
    assert_eq!(outcome(&mut own), seen("7"), "it was requested when the list before it had begun to arrive");
}

/// Remembers whether it was called while the store was locked.
struct Probe {
    store: Store<ConfigMap>,
    locked: Mutex<Vec<bool>>,
}

impl Wake for Probe {
    fn wake(self: Arc<Self>) {
        self.locked.lock().push(self.store.shared.watermarks.is_locked());
    }
}

#[test]
fn who_waits_is_woken_without_a_lock() {
    let (store, mut writer) = filled([Event::Init, Event::InitApply(object("a", "7")), Event::InitDone]);
    let probe = Arc::new(Probe { store: store.clone(), locked: Mutex::default() });
    let waker = Arc::clone(&probe).into();
    let mut waits = ["8", "9", "10", "11"].map(|version| wait(&store, "a", version));
    waits.iter_mut().for_each(|it| assert!(it.poll_unpin(&mut Context::from_waker(&waker)).is_pending()));
    let [_eight, _nine, ten, _eleven] = waits;
    writer.apply_watcher_event(&Event::Apply(object("a", "8")));
    writer.take_in_collection(CollectionEvent::Progress { resource_version: "9".into() });
    drop(ten);
    drop(writer);
    assert_eq!(
        *probe.locked.lock(),
        [false, false, false, false],
        "a change, a bookmark, nobody waits, no writer"
    );
}

/// Takes what a subscriber has been told whenever a wait ends.
struct Listener {
    subscriber: Mutex<ReflectHandle<ConfigMap>>,
    told: Mutex<Vec<Option<String>>>,
}

impl Wake for Listener {
    fn wake(self: Arc<Self>) {
        let object = self.subscriber.lock().next().now_or_never().flatten();
        self.told.lock().push(object.and_then(|object| object.metadata.resource_version.clone()));
    }
}

#[test]
fn subscribers_are_told_before_a_wait_ends() {
    let (store, mut writer) = store_shared::<ConfigMap>(1);
    let list = [Event::Init, Event::InitApply(object("a", "7")), Event::InitDone];
    list.iter().for_each(|event| writer.apply_watcher_event(event));
    let mut subscriber = store.subscribe().unwrap();
    assert!(subscriber.next().now_or_never().is_some(), "what the store holds comes first");
    let listener = Arc::new(Listener { subscriber: Mutex::new(subscriber), told: Mutex::default() });
    let waker = Arc::clone(&listener).into();
    let mut waits = ["8", "9"].map(|version| wait(&store, "a", version));
    waits.iter_mut().for_each(|it| assert!(it.poll_unpin(&mut Context::from_waker(&waker)).is_pending()));
    writer.apply_watcher_event(&Event::Apply(object("a", "8")));
    writer.apply_watcher_event(&Event::Delete(object("a", "9")));
    assert_eq!(*listener.told.lock(), [Some("8".to_owned()), Some("9".to_owned())]);
}
