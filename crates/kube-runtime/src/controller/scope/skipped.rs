//! Changes that a controller has made itself, and that therefore trigger nothing: see `Config::skip_own_writes`.

use crate::{
    capacity::release,
    delay::after,
    reflector::{Lookup, ObjectKey},
};
use hashbrown::HashMap;
use kube_core::reconcile::{OwnWrite, WrittenState};
use std::{collections::VecDeque, iter, sync::Arc, time::Duration};
use tokio::time::Instant;

/// How many states of one object's reconciles are known, and how many changes wait for the end of one. Whatever is beyond triggers.
const MOST_KNOWN: usize = 500;

/// A state of an object, as a change shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    running: HashMap<Arc<ObjectKey>, Vec<Undecided<T>>>,
    /// What reconciles of each object have written and was not shown yet, with the end of its time: changes that are never shown, such as
    /// those of a kind that nobody watches, must not use memory for ever.
    written: HashMap<Arc<ObjectKey>, HashMap<ShownState, Instant>>,
    /// When something of an object may be forgotten, in order.
    expiries: VecDeque<(Instant, Arc<ObjectKey>)>,
    longest: Duration,
}

/// A change that arrived during a reconcile.
struct Undecided<T> {
    shown: ShownState,
    arrived: Instant,
    triggers: T,
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

    /// A change for the object with this key has arrived. Returns what it triggers now. O(1).
    pub(crate) fn arrived(
        &mut self,
        key: &ObjectKey,
        shown: ShownState,
        triggers: T,
        now: Instant,
    ) -> Option<T> {
        // A child's reference to a cluster-scoped owner has the child's namespace.
        let without_namespace = || ObjectKey { namespace: None, name: key.name.clone() };
        let knows = |key: &ObjectKey| self.running.contains_key(key) || self.written.contains_key(key);
        let canonical = if knows(key) { key } else { &without_namespace() };
        match self.running.get_mut(canonical) {
            Some(changes) if changes.len() < MOST_KNOWN => {
                changes.push(Undecided { shown, arrived: now, triggers });
                None
            }
            Some(_) => Some(triggers),
            None => (!self.is_own(canonical, &shown)).then_some(triggers),
        }
    }

    /// The reconcile of the object has ended, and has written this. Returns what the changes trigger that have arrived meanwhile and were
    /// made by others, with the time at which they arrived. O(changes and writes of it), and O([`MOST_KNOWN`]).
    pub(crate) fn finished(
        &mut self,
        key: &Arc<ObjectKey>,
        writes: &[OwnWrite],
        now: Instant,
    ) -> Vec<(T, Instant)> {
        self.forget_expired(now);
        let changes = self.running.remove(key).unwrap_or_default();
        release(&mut self.running);
        self.keep(key, writes.iter().filter_map(ShownState::written), now);
        let foreign = changes.into_iter().filter(|change| !self.is_own(key, &change.shown));
        foreign.map(|change| (change.triggers, change.arrived)).collect()
    }

    fn keep(&mut self, key: &Arc<ObjectKey>, mut written: impl Iterator<Item = ShownState>, now: Instant) {
        let Some(first) = written.next() else { return };
        let expiry = after(now, self.longest);
        let states = self.written.entry(Arc::clone(key)).or_default();
        let before = states.len();
        for state in iter::once(first).chain(written) {
            // A write that changes nothing returns a state that is known perhaps, and is not shown once more.
            if states.len() < MOST_KNOWN {
                states.entry(state).or_insert(expiry);
            }
        }
        if states.len() > before {
            self.expiries.push_back((expiry, Arc::clone(key)));
        }
    }

    /// Whether this is what a reconcile of the object wrote. It is shown once.
    fn is_own(&mut self, key: &ObjectKey, shown: &ShownState) -> bool {
        let Some(states) = self.written.get_mut(key) else { return false };
        let is_own = states.remove(shown).is_some();
        if states.is_empty() {
            self.written.remove(key);
            release(&mut self.written);
        }
        is_own
    }

    fn forget_expired(&mut self, now: Instant) {
        while self.expiries.front().is_some_and(|(expiry, _)| *expiry <= now) {
            let Some((_, key)) = self.expiries.pop_front() else { break };
            let Some(states) = self.written.get_mut(&key) else { continue };
            states.retain(|_, expiry| *expiry > now);
            release(states);
            if states.is_empty() {
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
        assert_eq!(changes.finished(&key, &[write("5"), write("7"), write("8")], now), []);
        assert_eq!(changes.arrived(&key, shown(Some("6")), "foreign", now), Some("foreign"));
        let in_namespace = ObjectKey { namespace: Some("of the child".into()), ..(*key).clone() };
        assert_eq!(changes.arrived(&in_namespace, shown(Some("8")), "own, by a child", now), None);
        let other = ObjectKey { namespace: None, name: "other".into() };
        let of_other = changes.arrived(&other, shown(Some("7")), "of another owner", now);
        assert_eq!(of_other, Some("of another owner"));
        for version in ["5", "7"] {
            assert_eq!(changes.arrived(&key, shown(Some(version)), "own", now), None);
            assert_eq!(changes.arrived(&key, shown(Some(version)), "again", now), Some("again"));
        }
        assert!(changes.written.is_empty());
    }

    #[test]
    fn changes_during_a_reconcile_are_decided_at_its_end_and_keep_their_time() {
        let (mut changes, key, now) = (OwnChanges::new(LONGEST), key(), Instant::now());
        changes.started(&key);
        for (version, what) in [(Some("5"), "foreign"), (Some("6"), "own"), (None, "gone")] {
            assert_eq!(changes.arrived(&key, shown(version), what, now), None);
        }
        let foreign = changes.finished(&key, &[write("6")], now + LONGEST / 2);
        assert_eq!(foreign, [("foreign", now), ("gone", now)]);
        assert!(changes.running.is_empty() && changes.written.is_empty());
    }

    #[test]
    fn changes_all_the_time_of_a_long_reconcile_take_bounded_memory_and_trigger() {
        let (mut changes, key, now) = (OwnChanges::new(LONGEST), key(), Instant::now());
        changes.started(&key);
        let arrive = |number: usize| {
            changes.arrived(
                &key,
                shown(Some(&number.to_string())),
                number,
                now + Duration::from_millis(number as u64),
            )
        };
        let at_once: Vec<usize> = (0..100_000).filter_map(arrive).collect();
        let at_end = changes.finished(&key, &[write("0")], now + LONGEST);
        assert_eq!(at_once.len() + at_end.len(), 100_000 - 1, "all but the own one");
        assert!(at_end.len() <= MOST_KNOWN, "{} were held back", at_end.len());
    }

    #[test]
    fn a_deletion_is_an_own_change_too() {
        let (mut changes, key, now) = (OwnChanges::new(LONGEST), key(), Instant::now());
        let status = br#"{"kind":"Status","details":{"uid":"u"}}"#;
        let deletion = OwnWrite::of(&Method::DELETE, &"/api/v1/nodes/a".parse().unwrap(), status).unwrap();
        changes.started(&key);
        changes.finished(&key, &[deletion], now);
        assert_eq!(changes.arrived(&key, shown(None), "own", now), None);
        assert_eq!(changes.arrived(&key, shown(None), "again", now), Some("again"));
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
        let states: Vec<_> = changes.written[&key].keys().collect();
        assert_eq!(states, [&shown(Some("9"))], "of the later reconcile only");
    }

    #[test]
    fn writes_that_no_change_shows_take_bounded_memory_however_often_they_are_made() {
        let (mut changes, key, start) = (OwnChanges::<()>::new(LONGEST), key(), Instant::now());
        for round in 0..1000 {
            let now = start + round * LONGEST / 2;
            changes.started(&key);
            // Two that change nothing, and an Event, a new object each time.
            changes.finished(&key, &[write("5"), write("6"), write(&format!("1{round}"))], now);
            assert!(changes.written[&key].len() <= 2 + 3, "round {round}: {}", changes.written[&key].len());
            assert!(changes.expiries.len() <= 3, "round {round}: {}", changes.expiries.len());
        }
        let many: Vec<_> = (0..10_000).map(|number| write(&number.to_string())).collect();
        changes.started(&key);
        changes.finished(&key, &many, start);
        assert_eq!(changes.written[&key].len(), MOST_KNOWN);
    }
}
