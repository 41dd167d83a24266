//! Compression that the compact caches of several clusters share. A dictionary takes some 400 KiB, and objects of one kind are alike.
//!
//! A dictionary is text of objects. When a cluster leaves of which it has some, another one is begun at once, and
//! [`keep_renewed`](Dictionaries::keep_renewed) compresses anew what refers to the old one, which goes then. Secrets share nothing.

use super::{
    dictionary::{Compressor, Source},
    object::CompactObject,
    recent::RecentObjects,
};
use crate::{reflector::store::Shared, watcher::RawObject};
use kube_core::Resource;
use parking_lot::Mutex;
use std::{
    cell::RefCell,
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::Notify,
    task::yield_now,
    time::{Instant, sleep, timeout},
};

/// The bytes of JSON that are compressed anew without a pause for other tasks.
const AT_ONCE: usize = 64 << 10;
/// What it costs to see that an object need not be, in bytes of JSON.
const GLANCE: usize = 64;
/// How long to wait before caches are gone through again: at least this, and so many times as long as it took.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const PAUSE: u32 = 10;
/// Something may have an old dictionary still: objects that were deleted and are kept for a while. The longest wait for these, and for
/// kinds of which there is no cache any more.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What the compact caches of several clusters share, by kind and form. Clones are the same.
#[derive(Clone, Default)]
pub struct Dictionaries(Arc<Pool>);

#[derive(Default)]
struct Pool {
    kinds: Mutex<HashMap<Kind, Arc<SharedCompressor>>>,
    /// A cluster has left.
    changed: Notify,
}

/// Objects that are alike.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    group: String,
    version: String,
    kind: String,
    is_metadata: bool,
}

/// A compressor, the caches that use it, and what they have decoded. Locked after the map of kinds; neither is locked under the other.
#[derive(Default)]
struct SharedCompressor {
    compressor: Compressor,
    caches: Mutex<Vec<CacheOf>>,
    recent: Arc<RecentObjects>,
}

/// A cache, and the cluster that it is of.
#[derive(Clone)]
struct CacheOf {
    source: Arc<Source>,
    objects: Weak<Shared<CompactObject>>,
}

impl Dictionaries {
    /// A cluster that shares them from now on, until it [leaves](Contributor::leave).
    #[must_use]
    pub fn contributor(&self) -> Contributor {
        Contributor { pool: self.clone(), source: Arc::default() }
    }

    /// Compresses objects anew after clusters have left, so that no text of these is kept by caches: at once, and where another cluster
    /// leaves soon afterwards, after ten times as long as that took, and at least a second. Never ends; to be run while there are
    /// clusters. Dropped, it loses nothing.
    pub async fn keep_renewed(&self) {
        let mut wait = FIRST_WAIT;
        loop {
            let begun = Instant::now();
            let (has_worked, is_left) = self.renew().await;
            if has_worked {
                sleep(pause(begun.elapsed())).await;
            }
            let longest = if is_left { wait } else { LONGEST_WAIT };
            wait = match timeout(longest, self.0.changed.notified()).await {
                Err(_) if is_left => (wait * 2).min(LONGEST_WAIT),
                _ => FIRST_WAIT,
            };
        }
    }

    /// Whether there is this text in a dictionary, as far as that is known: one of which text was forgotten may have any. For tests.
    #[must_use]
    pub fn may_have_text(&self, text: &str) -> bool {
        let may_have =
            |kind: &Arc<SharedCompressor>| kind.compressor.has_text(text) || kind.compressor.has_outdated();
        self.0.kinds.lock().values().any(may_have)
    }

    /// Goes through the caches once, if something has an old dictionary. Returns whether it did, and whether something has one still.
    /// Forgets kinds of which there is no cache.
    async fn renew(&self) -> (bool, bool) {
        let kinds: Vec<_> = {
            let mut kinds = self.0.kinds.lock();
            kinds.retain(|_, kind| kind.has_caches());
            kinds.shrink_to_fit();
            kinds.values().cloned().collect()
        };
        let (mut has_worked, mut is_left) = (false, false);
        for kind in kinds {
            if kind.has_outdated() {
                has_worked = true;
                kind.renew_objects().await;
                is_left |= kind.has_outdated();
            }
        }
        (has_worked, is_left)
    }

    fn compressor_of(&self, kind: Kind, cache: CacheOf) -> Arc<SharedCompressor> {
        let mut kinds = self.0.kinds.lock();
        let shared = kinds.entry(kind).or_default();
        let mut caches = shared.caches.lock();
        if caches.len() == caches.capacity() {
            forget_gone(&mut caches); // before it gets more room, so that a start costs O(1)
        }
        caches.push(cache);
        drop(caches);
        Arc::clone(shared)
    }

    fn forget(&self, source: &Arc<Source>) {
        let kinds: Vec<_> = self.0.kinds.lock().values().cloned().collect();
        kinds.iter().for_each(|kind| kind.compressor.forget(source));
        self.0.changed.notify_one();
    }
}

impl SharedCompressor {
    /// Whether there are caches, without those that are gone.
    fn has_caches(&self) -> bool {
        let mut caches = self.caches.lock();
        forget_gone(&mut caches);
        !caches.is_empty()
    }

    fn has_outdated(&self) -> bool {
        self.compressor.has_outdated()
    }

    async fn renew_objects(&self) {
        let caches = self.caches.lock().clone();
        for CacheOf { source, objects } in caches {
            let objects = objects.upgrade().map(|objects| objects.kept()).unwrap_or_default();
            let mut work = 0;
            for object in objects {
                let is_anew = object.compress_anew(&self.compressor, &source);
                work += if is_anew { object.json_len() } else { GLANCE };
                if work >= AT_ONCE {
                    work = 0;
                    yield_now().await;
                }
            }
        }
    }
}

fn forget_gone(caches: &mut Vec<CacheOf>) {
    caches.retain(|cache| cache.objects.strong_count() > 0);
}

/// How long other work comes first after caches were gone through.
fn pause(took: Duration) -> Duration {
    took.saturating_mul(PAUSE).max(FIRST_WAIT)
}

impl fmt::Debug for Dictionaries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionaries").field("kinds", &self.0.kinds.lock().len()).finish()
    }
}

/// A cluster that shares dictionaries. Clones are the same.
#[derive(Clone, Debug)]
pub struct Contributor {
    pool: Dictionaries,
    source: Arc<Source>,
}

thread_local! {
    /// Whose caches are being made.
    static PRESENT: RefCell<Option<Contributor>> = const { RefCell::new(None) };
}

/// Sets what was there before when it is dropped.
struct Before(Option<Contributor>);

impl Drop for Before {
    fn drop(&mut self) {
        PRESENT.set(self.0.take());
    }
}

impl Contributor {
    /// Compact caches that `make` makes in this thread are of this cluster.
    pub fn scope<T>(&self, make: impl FnOnce() -> T) -> T {
        let _before = Before(PRESENT.replace(Some(self.clone())));
        make()
    }

    /// Its client leads to another cluster, whose objects its caches have by now: the text of the former ones is forgotten.
    pub fn renew(&self) {
        self.pool.forget(&self.source);
    }

    /// It shares nothing any more, and its text is forgotten.
    pub fn leave(&self) {
        self.source.leave(); // before: it contributes nothing from now on
        self.pool.forget(&self.source);
    }
}

/// What compresses the objects of one cache.
#[derive(Clone)]
pub(super) struct CacheCompressor {
    shared: Arc<SharedCompressor>,
    /// The cluster of the cache, if others share this.
    source: Option<Arc<Source>>,
}

impl CacheCompressor {
    pub(super) fn of_cache<K: Resource>(
        objects: &Arc<Shared<CompactObject>>,
        dyntype: &K::DynamicType,
    ) -> Self {
        let kind = Kind {
            group: K::group(dyntype).into_owned(),
            version: K::version(dyntype).into_owned(),
            kind: K::kind(dyntype).into_owned(),
            is_metadata: K::metadata_api(),
        };
        let is_secret = kind.group.is_empty() && kind.kind == "Secret";
        let present = PRESENT.with_borrow(Clone::clone);
        match present.filter(|of| !is_secret && !of.source.has_left()) {
            Some(Contributor { pool, source }) => {
                let cache = CacheOf { source: Arc::clone(&source), objects: Arc::downgrade(objects) };
                Self { shared: pool.compressor_of(kind, cache), source: Some(source) }
            }
            None => Self { shared: Arc::default(), source: None },
        }
    }

    /// The object as it is kept, and the mean length of such.
    pub(super) fn keep(&self, object: &RawObject<CompactObject>, json: &str) -> (CompactObject, usize) {
        let compressor = &self.shared.compressor;
        let kept = CompactObject::new(object, json, compressor, self.source.as_ref());
        (kept, compressor.mean())
    }

    /// The objects that stay decoded.
    pub(super) fn recent(&self) -> Arc<RecentObjects> {
        Arc::clone(&self.shared.recent)
    }
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod tests;
