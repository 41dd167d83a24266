//! Inboxes and subscriptions of a shared store, under every interleaving of threads.
//!
//! loom runs each model once per interleaving and prints their number. Part of the ordinary tests: it takes a few seconds.

#![allow(clippy::unwrap_used, unreachable_pub, dead_code)] // a panic in here is a failed test

mod locks {
    //! loom's locks with the API of parking_lot's.

    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }
    }

    pub struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::RwLock::new(value))
        }

        pub fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
            self.0.read().unwrap()
        }

        pub fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap()
        }
    }
}

// The included files import `parking_lot::{Mutex, RwLock}`: in this crate, that is loom's.
extern crate self as parking_lot;
#[path = "../src/capacity.rs"]
mod capacity;
pub(crate) use locks::{Mutex, RwLock};

#[path = "../src/reflector/inbox.rs"]
mod inbox;
#[path = "../src/reflector/published.rs"]
mod published;
#[path = "../src/reflector/subscribers.rs"]
mod subscribers;

use inbox::Inbox;
use loom::{future::block_on, sync::Arc, thread};
use published::Published;
use std::{
    future::poll_fn,
    sync::atomic::{AtomicUsize, Ordering},
    task::Waker,
};
use subscribers::Subscribers;

/// Runs the model under every interleaving, and prints their number.
fn every_interleaving(name: &str, model: impl Fn() + Sync + Send + 'static) {
    let interleavings = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&interleavings);
    loom::model(move || {
        count.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{name}: {} interleavings", interleavings.load(Ordering::Relaxed));
    assert!(interleavings.load(Ordering::Relaxed) > 1, "the model has concurrent threads");
}

fn wake(waker: Option<Waker>) {
    waker.into_iter().for_each(Waker::wake);
}

fn next(inbox: &Inbox<u8, u32>) -> Option<u32> {
    block_on(poll_fn(|cx| inbox.poll_take(cx)))
}

fn all(inbox: &Inbox<u8, u32>) -> Vec<u32> {
    std::iter::from_fn(|| next(inbox)).collect()
}

#[test]
fn a_pending_subscriber_is_always_woken() {
    every_interleaving("woken", || {
        let inbox = Arc::new(Inbox::with_capacity(0));
        let writer = thread::spawn({
            let inbox = Arc::clone(&inbox);
            move || {
                wake(inbox.put([(1, 10)].into_iter()));
                wake(inbox.put([(2, 20)].into_iter()));
                wake(inbox.close());
            }
        });
        assert_eq!(all(&inbox), [10, 20]);
        writer.join().unwrap();
    });
}

#[test]
fn a_subscriber_receives_the_last_state_of_every_object() {
    every_interleaving("last state", || {
        let inbox = Arc::new(Inbox::with_capacity(0));
        let writer = thread::spawn({
            let inbox = Arc::clone(&inbox);
            move || {
                wake(inbox.put([(1, 10), (2, 20)].into_iter()));
                wake(inbox.put([(1, 11)].into_iter()));
                wake(inbox.close());
            }
        });
        let seen = all(&inbox);
        assert!([vec![10, 20, 11], vec![11, 20], vec![10, 20, 11]].contains(&seen), "{seen:?}");
        writer.join().unwrap();
    });
}

#[test]
fn a_slow_subscriber_blocks_neither_the_writer_nor_another_subscriber() {
    every_interleaving("slow subscriber", || {
        let (slow, quick) = (Arc::new(Inbox::with_capacity(0)), Arc::new(Inbox::with_capacity(0)));
        let writer = thread::spawn({
            let inboxes = [Arc::clone(&slow), Arc::clone(&quick)];
            move || {
                inboxes.iter().for_each(|inbox| wake(inbox.put([(1, 10)].into_iter())));
                inboxes.iter().for_each(|inbox| wake(inbox.close()));
            }
        });
        assert_eq!(all(&quick), [10]);
        writer.join().unwrap(); // `slow` was not read yet
        assert_eq!(all(&slow), [10]);
    });
}

/// A shared store with one object, whose states are numbers.
type Shared = Published<u32, u8, u32>;

fn shared() -> Arc<Shared> {
    Arc::new(Published::new(10, Some(Subscribers::new(0))))
}

/// Changes the value first for readers and then for subscribers, as the writer of a store does.
fn write(shared: &Shared, value: u32) {
    shared.change(|current| *current = value);
    shared.publish([(1, value)].into_iter());
}

fn subscribe(shared: &Shared) -> std::sync::Arc<Inbox<u8, u32>> {
    shared.subscribe(|value| [(1, *value)].into_iter()).unwrap()
}

#[test]
fn a_subscription_during_a_change_misses_neither_the_change_nor_the_end() {
    every_interleaving("subscribing", || {
        let shared = shared();
        let writer = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                write(&shared, 11);
                shared.close();
            }
        });
        let inbox = subscribe(&shared);
        let seen = all(&inbox);
        assert_eq!(seen.last(), Some(&11), "{seen:?}");
        assert!(seen.len() <= 2);
        writer.join().unwrap();
    });
}

#[test]
fn a_clone_of_a_subscription_misses_neither_pending_values_nor_a_change_nor_the_end() {
    every_interleaving("cloning", || {
        let shared = shared();
        let original = subscribe(&shared);
        let writer = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                write(&shared, 11);
                shared.close();
            }
        });
        let clone = shared.fork(&original).unwrap();
        for inbox in [&clone, &original] {
            let seen = all(inbox);
            assert_eq!(seen.last(), Some(&11), "{seen:?}");
            assert!(seen.len() <= 2);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_clone_starts_with_the_pending_values_of_the_original() {
    every_interleaving("cloning while it is read", || {
        let shared = shared();
        let original = subscribe(&shared);
        let cloner = thread::spawn({
            let (shared, original) = (Arc::clone(&shared), std::sync::Arc::clone(&original));
            move || shared.fork(&original).unwrap()
        });
        let taken = next(&original);
        let clone = cloner.join().unwrap();
        shared.close();
        let cloned = all(&clone);
        assert_eq!(taken, Some(10));
        assert!(cloned == [10] || cloned.is_empty());
    });
}

/// A waker that subscribes again.
struct SubscribesAgain(Arc<Shared>);

impl std::task::Wake for SubscribesAgain {
    fn wake(self: std::sync::Arc<Self>) {
        assert_eq!(next(&subscribe(&self.0)), Some(11), "what was published can be read");
    }
}

#[test]
fn a_subscriber_is_woken_without_a_lock() {
    loom::model(|| {
        for closes in [false, true] {
            let shared = shared();
            let inbox = subscribe(&shared);
            assert_eq!(next(&inbox), Some(10));
            let waker = std::sync::Arc::new(SubscribesAgain(Arc::clone(&shared))).into();
            shared.change(|current| *current = 11);
            assert!(inbox.poll_take(&mut std::task::Context::from_waker(&waker)).is_pending());
            match closes {
                true => shared.close(),
                false => shared.publish([(1, 11)].into_iter()),
            }
        }
    });
}
