//! Changes that a controller has made itself, and that therefore trigger nothing: see `Config::skip_own_writes`.

use crate::{
    capacity::release,
    delay::after,
    reflector::{Lookup, ObjectKey},
};
use hashbrown::HashMap;
use kube_core::reconcile::{OwnWrite, WrittenState};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use tokio::time::Instant;

/// A state of an object, as a change shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownState {
    uid: Box<str>,
    /// `None` if the object is gone.
    version: Option<Box<str>>,
}

/// What reconciles wrote, until the changes that show it have arrived. `T` is what a change triggers.
///
/// No I/O. A change may arrive before its reconcile has ended, and even before the response to the write: it is decided at the end of that
/// reconcile.
pub(crate) struct OwnChanges<T> {
    /// The objects that are reconciled, with the changes that have arrived since their start.
    running: HashMap<Arc<ObjectKey>, Vec<(ShownState, T)>>,
    written: HashMap<Arc<ObjectKey>, Written>,
    /// When something may be forgotten.
    expiries: VecDeque<(Instant, Arc<ObjectKey>)>,
    longest: Duration,
}

/// What reconciles of an object have written, and what was not shown yet.
struct Written {
    states: Vec<ShownState>,
    /// Then it is forgotten: changes that are never shown, of an object that is gone, say, must not use memory for ever.
    expiry: Instant,
}

impl ShownState {
    /// `None` for an object that no server returned.
    pub(crate) fn of(object: &impl Lookup, deleted: bool) -> Option<Self> {
        let version = if deleted { None } else { Some(object.resource_version()?.as_ref().into()) };
        Some(Self { uid: object.uid()?.as_ref().into(), version })
    }

    fn written(write: &OwnWrite) -> Option<Self> {
        let version = match &write.state {
            WrittenState::Version(version) => Some(version.as_str().into()),
            WrittenState::Deleted => None,
        };
        Some(Self { uid: write.uid.as_deref()?.into(), version })
    }
}

impl<T> OwnChanges<T> {
    /// What was written is forgotten after `longest`.
    pub(crate) fn new(longest: Duration) -> Self {
        Self { running: HashMap::new(), written: HashMap::new(), expiries: VecDeque::new(), longest }
    }

    /// A reconcile of the object starts.
    pub(crate) fn started(&mut self, key: &Arc<ObjectKey>) {
        self.running.insert(Arc::clone(key), Vec::new());
    }

    /// A change for the object with this key has arrived. Returns what it triggers now.
    pub(crate) fn arrived(&mut self, key: &ObjectKey, shown: ShownState, triggered: T) -> Option<T> {
        // A child's reference to a cluster-scoped owner has the child's namespace.
        let without_namespace = || ObjectKey { namespace: None, name: key.name.clone() };
        let knows = |key: &ObjectKey| self.running.contains_key(key) || self.written.contains_key(key);
        let canonical = if knows(key) { key } else { &without_namespace() };
        if let Some(changes) = self.running.get_mut(canonical) {
            changes.push((shown, triggered));
            return None;
        }
        (!self.is_own(canonical, &shown)).then_some(triggered)
    }

    /// The reconcile of the object has ended, and has written this. Returns what the changes trigger that have arrived meanwhile and were
    /// made by others.
    pub(crate) fn finished(&mut self, key: &Arc<ObjectKey>, writes: &[OwnWrite], now: Instant) -> Vec<T> {
        self.forget_expired(now);
        let changes = self.running.remove(key).unwrap_or_default();
        release(&mut self.running);
        let written: Vec<ShownState> = writes.iter().filter_map(ShownState::written).collect();
        if !written.is_empty() {
            let expiry = after(now, self.longest);
            let of_key =
                self.written.entry(Arc::clone(key)).or_insert(Written { states: Vec::new(), expiry });
            of_key.states.extend(written);
            of_key.expiry = expiry;
            self.expiries.push_back((expiry, Arc::clone(key)));
        }
        changes.into_iter().filter_map(|(shown, it)| (!self.is_own(key, &shown)).then_some(it)).collect()
    }

    /// Whether this is what the last reconcile of the object wrote. It is shown once.
    fn is_own(&mut self, key: &ObjectKey, shown: &ShownState) -> bool {
        let Some(Written { states, .. }) = self.written.get_mut(key) else { return false };
        let Some(at) = states.iter().position(|own| own == shown) else { return false };
        states.swap_remove(at);
        if states.is_empty() {
            self.written.remove(key);
            release(&mut self.written);
        }
        true
    }

    fn forget_expired(&mut self, now: Instant) {
        while self.expiries.front().is_some_and(|(expiry, _)| *expiry <= now) {
            let Some((_, key)) = self.expiries.pop_front() else { break };
            if self.written.get(&key).is_some_and(|written| written.expiry <= now) {
                self.written.remove(&key);
            }
        }
        release(&mut self.expiries);
        release(&mut self.written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    const LONGEST: Duration = Duration::from_secs(10);

    fn key() -> Arc<ObjectKey> {
        Arc::new(ObjectKey { namespace: None, name: "owner".into() })
    }

    fn write(version: &str) -> OwnWrite {
        let response = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
        OwnWrite::of(&Method::PUT, &"/api/v1/nodes/a".parse().unwrap(), response.as_bytes()).unwrap()
    }

    fn shown(version: Option<&str>) -> ShownState {
        ShownState { uid: "u".into(), version: version.map(Into::into) }
    }

    #[test]
    fn a_change_is_skipped_once_if_the_last_reconcile_wrote_it() {
        let (mut changes, key, now) = (OwnChanges::new(LONGEST), key(), Instant::now());
        changes.started(&key);
        assert_eq!(changes.finished(&key, &[write("5"), write("7")], now), [""; 0]);
        assert_eq!(changes.arrived(&key, shown(Some("6")), "foreign"), Some("foreign"));
        let in_namespace = ObjectKey { namespace: Some("of the child".into()), ..(*key).clone() };
        changes.written.get_mut(&key).unwrap().states.push(shown(Some("8")));
        assert_eq!(changes.arrived(&in_namespace, shown(Some("8")), "own, by a child"), None);
        let other = ObjectKey { namespace: None, name: "other".into() };
        assert_eq!(changes.arrived(&other, shown(Some("7")), "of another owner"), Some("of another owner"));
        for version in ["5", "7"] {
            assert_eq!(changes.arrived(&key, shown(Some(version)), "own"), None);
            assert_eq!(changes.arrived(&key, shown(Some(version)), "again"), Some("again"));
        }
        assert!(changes.written.is_empty());
    }

    #[test]
    fn changes_during_a_reconcile_are_decided_at_its_end() {
        let (mut changes, key) = (OwnChanges::new(LONGEST), key());
        changes.started(&key);
        for (version, what) in [(Some("5"), "foreign"), (Some("6"), "own"), (None, "gone")] {
            assert_eq!(changes.arrived(&key, shown(version), what), None);
        }
        assert_eq!(changes.finished(&key, &[write("6")], Instant::now()), ["foreign", "gone"]);
        assert!(changes.running.is_empty() && changes.written.is_empty());
    }

    #[test]
    fn a_deletion_is_an_own_change_too() {
        let (mut changes, key) = (OwnChanges::new(LONGEST), key());
        let status = br#"{"kind":"Status","details":{"uid":"u"}}"#;
        let deletion = OwnWrite::of(&Method::DELETE, &"/api/v1/nodes/a".parse().unwrap(), status).unwrap();
        changes.started(&key);
        changes.finished(&key, &[deletion], Instant::now());
        assert_eq!(changes.arrived(&key, shown(None), "own"), None);
        assert_eq!(changes.arrived(&key, shown(None), "again"), Some("again"));
    }

    #[test]
    fn what_is_never_shown_is_forgotten() {
        let (mut changes, now) = (OwnChanges::<()>::new(LONGEST), Instant::now());
        for number in 0..100 {
            let key = Arc::new(ObjectKey { namespace: None, name: format!("{number}").into() });
            changes.started(&key);
            changes.finished(&key, &[write("7")], now);
        }
        let (key, later) = (key(), now + LONGEST);
        changes.started(&key);
        changes.finished(&key, &[write("8")], later);
        assert_eq!((changes.written.len(), changes.expiries.len()), (1, 1));
        changes.started(&key);
        changes.finished(&key, &[write("9")], later + LONGEST / 2);
        changes.started(&key);
        changes.finished(&key, &[], later + LONGEST);
        assert_eq!(changes.written.len(), 1, "the later reconcile keeps it");
    }
}
