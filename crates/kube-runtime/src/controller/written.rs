//! Not reconciling an object before the store shows what the last reconcile wrote.

use super::action::Action;
use crate::{delay::after, reflector::ObjectKey, version::number};
use ahash::AHashMap;
use kube_core::{ObjectMeta, Resource};
use std::{any::type_name, sync::Arc, time::Duration};
use tokio::time::Instant;

/// How soon the store is looked at again where nothing else asks for the object; doubles with each look.
const FIRST_LOOK: Duration = Duration::from_millis(10);

/// A state of an object, as a write returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    identity: Identity,
    uid: Option<String>,
    /// `None`: there is no such object any more.
    version: Option<String>,
}

/// What an object keeps when it is deleted and made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    /// Its Rust type: an object of another kind may well have the same name.
    kind: &'static str,
    namespace: Option<String>,
    name: Option<String>,
}

impl Identity {
    fn of<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self { kind: type_name::<K>(), namespace: meta.namespace.clone(), name: meta.name.clone() }
    }
}

impl Written {
    /// `None` for what no server returned.
    pub(super) fn of<K: Resource>(object: &K) -> Option<Self> {
        let version = object.meta().resource_version.clone()?;
        if is_final(object.meta()) {
            return Some(Self::gone(object)); // older servers answer with the version of before
        }
        Some(Self { version: Some(version), ..Self::gone(object) })
    }

    /// That `object` is no more.
    pub(super) fn gone<K: Resource>(object: &K) -> Self {
        Self { identity: Identity::of(object), uid: object.meta().uid.clone(), version: None }
    }

    /// Whether this is a state of what `object` is a state of.
    fn is_of<K: Resource>(&self, object: &K) -> bool {
        self.uid == object.meta().uid
    }

    /// Whether `shown` is this state or a newer one. That the object is gone, or another one by now, is newer; but where
    /// the write met or made another object in the place of `before`, neither that one nor none is.
    ///
    /// Versions that are no numbers have no order ([KEP-5504](https://kep.k8s.io/5504)): there only the same will do.
    fn is_seen_in<K: Resource>(&self, shown: Option<&K>, before: Option<&str>) -> bool {
        let Some(shown) = shown else { return before.is_none() || self.version.is_none() };
        if !self.is_of(shown) {
            return before.is_none_or(|before| shown.meta().uid.as_deref() != Some(before));
        }
        let Some(written) = &self.version else { return false };
        let version = shown.meta().resource_version.as_deref().unwrap_or_default();
        match (number(version), number(written)) {
            (Some(shown), Some(written)) => shown >= written,
            _ => version == written,
        }
    }
}

/// Whether a write that leaves an object like this is its end: nothing holds it any more.
fn is_final(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
        && meta.finalizers.iter().flatten().next().is_none()
        && meta.deletion_grace_period_seconds.is_none_or(|seconds| seconds == 0)
}

/// The writes that the store does not show yet, by object. No I/O and no clock in here.
///
/// An object without such a write costs nothing.
#[derive(Debug)]
pub(super) struct Unseen {
    writes: AHashMap<Arc<ObjectKey>, Write>,
    longest: Duration,
    /// When there are so many, those that were given up are looked for.
    sweep_at: usize,
}

#[derive(Debug)]
struct Write {
    written: Written,
    /// The uid of the object that was reconciled, if the write met another one of its name.
    before: Option<String>,
    until: Instant,
    next_look: Instant,
    then_after: Duration,
}

impl Unseen {
    /// Waits are given up after `longest`.
    pub(super) fn new(longest: Duration) -> Self {
        Self { writes: AHashMap::new(), longest, sweep_at: 64 }
    }

    /// Notes what a reconcile of `object` wrote, if `action` says so. `shown` is what the store has.
    pub(super) fn note<K: Resource>(
        &mut self,
        key: &Arc<ObjectKey>,
        action: &Action,
        object: &K,
        shown: impl FnOnce() -> Option<Arc<K>>,
        now: Instant,
    ) {
        let Some(written) = action.written().filter(|_| !self.longest.is_zero()) else { return };
        if !written.is_of(object) && written.identity != Identity::of(object) {
            tracing::warn!(object = %key.name, "Action::after_write was given another object than the one that was reconciled");
            return;
        }
        let before = object.meta().uid.clone().filter(|_| !written.is_of(object));
        if written.is_seen_in(shown().as_deref(), before.as_deref()) {
            return;
        }
        self.sweep(now);
        let write = Write {
            written: written.clone(),
            before,
            until: after(now, self.longest),
            next_look: now,
            then_after: FIRST_LOOK,
        };
        self.writes.insert(Arc::clone(key), write);
    }

    /// When to look again before `key` is reconciled in the state `shown`; `None` if it may be now.
    pub(super) fn look_again<K: Resource>(
        &mut self,
        key: &Arc<ObjectKey>,
        shown: Option<&K>,
        now: Instant,
    ) -> Option<Instant> {
        let write = self.writes.get_mut(key)?;
        if write.written.is_seen_in(shown, write.before.as_deref()) {
            self.writes.remove(key);
            return None;
        }
        if write.until <= now {
            tracing::warn!(object = %key.name, waited = ?self.longest, "the store does not show the reconciler's own write");
            self.writes.remove(key);
            return None;
        }
        if write.next_look <= now {
            write.next_look = after(now, write.then_after).min(write.until);
            write.then_after *= 2;
        }
        Some(write.next_look)
    }

    /// Nobody may ever ask for an object again whose events are filtered out.
    fn sweep(&mut self, now: Instant) {
        if self.writes.len() >= self.sweep_at {
            self.writes.retain(|_, write| write.until > now);
            self.sweep_at = (2 * self.writes.len()).max(64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::{
        api::core::v1::{ConfigMap, Secret},
        apimachinery::pkg::apis::meta::v1::Time,
    };

    fn object(uid: &str, version: &str) -> ConfigMap {
        let metadata = ObjectMeta {
            name: Some("a".into()),
            uid: Some(uid.into()),
            resource_version: Some(version.into()),
            ..Default::default()
        };
        ConfigMap { metadata, ..Default::default() }
    }

    fn key(name: &str) -> Arc<ObjectKey> {
        Arc::new(ObjectKey { namespace: None, name: name.into() })
    }

    fn unseen(written: &ConfigMap, shown: &ConfigMap, now: Instant) -> Unseen {
        let mut unseen = Unseen::new(Duration::from_secs(10));
        let action = Action::await_change().after_write(written);
        unseen.note(&key("a"), &action, shown, || Some(Arc::new(shown.clone())), now);
        unseen
    }

    #[test]
    fn a_write_is_seen_in_its_own_state_a_newer_one_another_object_and_none() {
        let written = Written::of(&object("1", "10")).unwrap();
        for (shown, seen) in [
            (Some(object("1", "9")), false),
            (Some(object("1", "10")), true),
            (Some(object("1", "11")), true),
            (Some(object("2", "5")), true),
            (Some(object("1", "abc")), false),
            (None, true),
        ] {
            assert_eq!(written.is_seen_in(shown.as_ref(), None), seen, "{shown:?}");
        }
        assert!(Written::of(&object("1", "abc")).unwrap().is_seen_in(Some(&object("1", "abc")), None));
        assert_eq!(Written::of(&ConfigMap::default()), None);
    }

    #[test]
    fn a_write_to_an_object_made_anew_is_seen_in_that_or_a_later_one() {
        let written = Written::of(&object("2", "20")).unwrap();
        for (shown, seen) in [
            (Some(object("1", "19")), false),
            (None, false),
            (Some(object("2", "15")), false),
            (Some(object("2", "20")), true),
            (Some(object("3", "25")), true),
        ] {
            assert_eq!(written.is_seen_in(shown.as_ref(), Some("1")), seen, "{shown:?}");
        }
        let (now, old) = (Instant::now(), object("1", "19"));
        let mut unseen = unseen(&object("2", "20"), &old, now);
        assert!(unseen.look_again(&key("a"), Some(&old), now).is_some());
        assert!(unseen.look_again::<ConfigMap>(&key("a"), None, now).is_some());
        assert!(unseen.look_again(&key("a"), Some(&object("2", "20")), now).is_none());
        assert!(unseen.writes.is_empty());
    }

    #[test]
    fn the_last_write_of_an_object_is_seen_when_it_is_gone() {
        let mut last = object("1", "10");
        last.metadata.deletion_timestamp = Some(Time("2026-01-01T00:00:00Z".parse().unwrap()));
        let written = Written::of(&last).unwrap();
        assert!(!written.is_seen_in(Some(&object("1", "10")), None), "even if the server counts no further");
        assert!(written.is_seen_in::<ConfigMap>(None, None));
        assert!(written.is_seen_in(Some(&object("2", "11")), None));
        last.metadata.deletion_grace_period_seconds = Some(30);
        assert!(
            Written::of(&last).unwrap().is_seen_in(Some(&last), None),
            "somebody else still has to let it go"
        );
        last.metadata.deletion_grace_period_seconds = Some(0);
        last.metadata.finalizers = Some(vec!["example.com/other".into()]);
        assert!(Written::of(&last).unwrap().is_seen_in(Some(&last), None));
    }

    #[test]
    fn looks_again_less_and_less_often_until_the_wait_is_given_up() {
        let start = Instant::now();
        let old = object("1", "9");
        let mut unseen = unseen(&object("1", "10"), &old, start);
        let mut now = start;
        let mut looks = 0;
        while let Some(next) = unseen.look_again(&key("a"), Some(&old), now) {
            (now, looks) = (next, looks + 1);
        }
        assert_eq!(now - start, Duration::from_secs(10));
        assert_eq!(looks, 10);
        assert!(unseen.writes.is_empty());
    }

    #[test]
    fn what_is_seen_costs_nothing() {
        let now = Instant::now();
        let (old, new) = (object("1", "9"), object("1", "10"));
        assert!(unseen(&new, &new, now).writes.is_empty());
        let mut named_otherwise = object("child", "10");
        named_otherwise.metadata.name = Some("b".into());
        assert!(unseen(&named_otherwise, &old, now).writes.is_empty(), "of another object");
        let secret = Secret { metadata: object("secret", "10").metadata, ..Secret::default() };
        let mut of_another_kind = Unseen::new(Duration::from_secs(10));
        of_another_kind.note(
            &key("a"),
            &Action::retry().after_write(&secret),
            &old,
            || Some(Arc::new(old.clone())),
            now,
        );
        assert!(of_another_kind.writes.is_empty(), "of another kind");
        let mut unseen = unseen(&new, &old, now);
        assert!(unseen.look_again(&key("other"), Some(&old), now).is_none());
        assert!(unseen.look_again(&key("a"), Some(&old), now).is_some());
        assert!(unseen.look_again(&key("a"), Some(&new), now).is_none());
        assert!(unseen.writes.is_empty());
    }

    #[test]
    fn writes_that_nobody_asks_for_are_forgotten() {
        let start = Instant::now();
        let (old, action) = (object("1", "9"), Action::await_change().after_write(&object("1", "10")));
        let mut unseen = Unseen::new(Duration::from_secs(10));
        for n in 0..10_000_u64 {
            let now = start + Duration::from_secs(n);
            unseen.note(&key(&n.to_string()), &action, &old, || Some(Arc::new(old.clone())), now);
        }
        assert!(unseen.writes.len() <= 64);
    }
}
