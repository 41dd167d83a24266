//! Concurrent readers and writer, and user code that uses the store that calls it.

use super::{
    Store, Writer, store,
    tests::{key, object},
};
use crate::{reflector::Index, watcher::Event};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// Runs `work` with a timeout, so that a deadlock fails the test instead of hanging it.
fn without_deadlock(work: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).ok();
    });
    match is_done.recv_timeout(Duration::from_secs(20)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("user code and the store deadlocked"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => worker.join().unwrap(),
    }
}

fn with_one() -> (Store<ConfigMap>, Writer<ConfigMap>) {
    let (store, mut writer) = store();
    for event in [Event::Init, Event::InitApply(object("a", "1")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    (store, writer)
}

#[test]
fn a_predicate_or_index_function_may_write_to_the_store() {
    without_deadlock(|| {
        let (store, writer) = with_one();
        let (writer, mut count) = (Mutex::new(writer), 1..);
        let mut version = || count.next().unwrap().to_string();
        let versions = Mutex::new(&mut version);
        let change = |_: &ConfigMap| {
            let event = Event::Apply(object("b", &versions.lock().unwrap()()));
            writer.lock().unwrap().apply_watcher_event(&event);
            true
        };
        assert_eq!(store.state_filter(change).len(), 1, "the snapshot at the start of the call");
        assert!(store.find(change).is_some());
        assert_eq!(store.len(), 2);
    });
}

#[test]
fn an_index_function_may_read_its_own_store() {
    without_deadlock(|| {
        let (store, writer) = with_one();
        let reader = store.clone();
        let by_store_size = Index::new(move |_: &ConfigMap| Some(reader.len()));
        assert_eq!(store.by_index(&by_store_size, &1).len(), 1, "not declared yet");
        let mut writer = writer.with_index(&by_store_size);
        writer.apply_watcher_event(&Event::InitApply(object("b", "2")));
        writer.apply_watcher_event(&Event::Apply(object("c", "3")));
        assert_eq!(
            store.by_index(&by_store_size, &1).len(),
            2,
            "`a`, and `b`, whose key was computed before it was visible"
        );
        assert_eq!(store.by_index(&by_store_size, &2).len(), 1);
    });
}

#[test]
fn an_index_function_may_read_the_store_during_a_list() {
    without_deadlock(|| {
        let (store, writer) = with_one();
        let reader = store.clone();
        let mut writer =
            writer.with_index(&Index::new(move |_: &ConfigMap| reader.newest(&named("a")).map(|_| 0)));
        for event in [Event::Init, Event::InitApply(object("a", "5")), Event::InitDone] {
            writer.apply_watcher_event(&event);
        }
        assert_eq!(store.len(), 1);
    });
}

fn named(name: &str) -> crate::reflector::ObjectKey {
    crate::reflector::ObjectKey::of(&object(name, "0"))
}

#[test]
fn overlapping_readers_do_not_starve_the_writer() {
    without_deadlock(|| {
        let (store, mut writer) = with_one();
        let written = AtomicBool::new(false);
        thread::scope(|scope| {
            for reader in 0..4 {
                let (store, written) = (&store, &written);
                // Each filter runs until the writer has written all events.
                let slow = move |_: &ConfigMap| {
                    while !written.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    true
                };
                scope.spawn(move || match reader % 2 {
                    0 => drop(store.state_filter(slow)),
                    _ => drop(store.find(slow)),
                });
            }
            for version in 2..202 {
                writer.apply_watcher_event(&Event::Apply(object("a", &version.to_string())));
            }
            written.store(true, Ordering::Release);
        });
        assert_eq!(store.get(&key("a")).unwrap().resource_version().as_deref(), Some("201"));
    });
}

#[test]
fn the_drop_of_an_object_may_use_the_store() {
    without_deadlock(|| {
        let (store, mut writer) = store::<Dropping>();
        let make = |version: u32| Dropping { version, store: store.clone() };
        for version in 1..4 {
            writer.apply_watcher_event(&Event::Apply(make(version)));
        }
        for event in [Event::Init, Event::InitApply(make(4)), Event::Init, Event::InitDone] {
            writer.apply_watcher_event(&event);
        }
        assert!(store.is_empty());
    });
}

/// An object that reads its store when it is dropped.
#[derive(Clone)]
struct Dropping {
    version: u32,
    store: Store<Self>,
}

impl Drop for Dropping {
    fn drop(&mut self) {
        assert!(self.store.len() < 2);
    }
}

impl crate::reflector::Lookup for Dropping {
    type DynamicType = ();

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        "Dropping".into()
    }

    fn group((): &()) -> std::borrow::Cow<'_, str> {
        "".into()
    }

    fn version((): &()) -> std::borrow::Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        "droppings".into()
    }

    fn name(&self) -> Option<std::borrow::Cow<'_, str>> {
        Some("one".into())
    }

    fn namespace(&self) -> Option<std::borrow::Cow<'_, str>> {
        None
    }

    fn resource_version(&self) -> Option<std::borrow::Cow<'_, str>> {
        Some(self.version.to_string().into())
    }

    fn uid(&self) -> Option<std::borrow::Cow<'_, str>> {
        None
    }
}

#[test]
fn a_panicking_index_function_does_not_corrupt_the_store() {
    let panicky = Index::new(|map: &ConfigMap| {
        assert!(map.name_any() != "bad", "a panic of the test");
        Some(map.name_any())
    });
    let (store, writer) = store();
    let mut writer = writer.with_index(&panicky);
    for name in ["a", "bad", "b"] {
        writer.apply_watcher_event(&Event::Apply(object(name, "1")));
    }
    assert_eq!(store.len(), 3);
    let found = |name: &str| store.by_index(&panicky, name).len();
    assert_eq!((found("a"), found("bad"), found("b")), (1, 0, 1));
    writer.apply_watcher_event(&Event::Delete(object("bad", "2")));
    assert_eq!(store.len(), 2);
}
