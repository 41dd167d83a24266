//! The stores and watches of a controller, and which writes each of them shows.

use super::{
    shown::{Step, WritesShown},
    shows::Shows,
    watch_health::WatchHealth,
};
use crate::{
    reflector::{
        Lookup, ObjectKey,
        store::{Awaited, Store, WatchProgress},
    },
    served::ServedGate,
    watcher::{self, Event, Selected},
};
use kube_core::reconcile::{OwnWrite, WrittenState};
use std::{hash::Hash, sync::Arc};

/// All stores and watches of a controller.
#[derive(Clone, Default)]
pub(crate) struct Coverage(Vec<Covered>);

/// A store, or a watch whose objects nobody keeps, and the objects that it shows.
#[derive(Clone)]
pub(crate) struct Covered {
    group: Box<str>,
    plural: Box<str>,
    /// `None`: those of the watch that fills the store.
    selected: Option<Selected>,
    shows: Arc<dyn Shows>,
    health: Arc<WatchHealth>,
    /// Of a kind that comes and goes.
    served: Option<ServedGate>,
}

/// A store that reconciles read: see [`Controller::reads`](crate::Controller::reads).
#[derive(Clone)]
pub struct ReadStore(pub(crate) Covered);

impl<K> From<&Store<K>> for ReadStore
where
    K: Lookup<DynamicType: Eq + Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static,
{
    fn from(store: &Store<K>) -> Self {
        Self(Covered::store(store, None))
    }
}

impl ReadStore {
    /// The watch that fills it brought an event, or an error: reconciles do not wait again and again for one that fails.
    #[doc(hidden)]
    pub fn observe<T>(&self, item: &watcher::Result<Event<T>>) {
        self.0.health.observe(item, |event| matches!(event, Event::Init));
    }
}

impl std::fmt::Debug for ReadStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ReadStore").field(&self.0.shows.describe(&self.0.plural)).finish()
    }
}

impl Covered {
    /// A store of these objects.
    pub(crate) fn store<K>(store: &Store<K>, selected: Option<Selected>) -> Self
    where
        K: Lookup<DynamicType: Eq + Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static,
    {
        Self::by::<K>(store.dyntype(), selected, Arc::new(store.clone()))
    }

    /// A watch of these objects, which nobody keeps.
    pub(crate) fn watch<K: Lookup>(
        dyntype: &K::DynamicType,
        selected: Selected,
        progress: WatchProgress,
    ) -> Self {
        Self::by::<K>(dyntype, Some(selected), Arc::new(progress))
    }

    fn by<K: Lookup>(dyntype: &K::DynamicType, selected: Option<Selected>, shows: Arc<dyn Shows>) -> Self {
        let (group, plural) = (K::group(dyntype), K::plural(dyntype));
        let (group, plural) = ((*group).into(), (*plural).into());
        Self { group, plural, selected, shows, health: Arc::default(), served: None }
    }

    /// While its kind is not served, it shows nothing, and nobody waits for it.
    pub(crate) fn while_served(self, served: Option<ServedGate>) -> Self {
        Self { served, ..self }
    }

    /// To be told of what its watches bring.
    pub(crate) fn health(&self) -> Arc<WatchHealth> {
        Arc::clone(&self.health)
    }

    /// What it has to show after the last of `writes`, `write`, which is of the same object as some before it.
    fn awaits(&self, write: &OwnWrite, writes: &[OwnWrite]) -> Option<Step> {
        if *self.plural != *write.plural || *self.group != *write.group {
            return None;
        }
        let is_closed = self.served.as_ref().is_some_and(|served| !served.is_served());
        if is_closed || self.health.is_given_up() {
            return None;
        }
        let key = ObjectKey {
            namespace: write.namespace.as_deref().map(Into::into),
            name: write.name.as_str().into(),
        };
        let is_visible = write.uid.as_deref().is_some_and(|uid| self.shows.has(&key, uid));
        let of_store;
        let selected = match &self.selected {
            Some(selected) => selected,
            None => {
                of_store = self.shows.selected();
                &of_store
            }
        };
        let awaited = match &write.state {
            // An object that a write takes out of the selection leaves with the version of that write.
            WrittenState::Version(_) if !is_visible && selected.includes(write) != Some(true) => return None,
            WrittenState::Version(version) => vec![state(write, version, is_visible)],
            WrittenState::Deleted if is_visible => vec![end(write)],
            WrittenState::Deleted => {
                // It is gone, was never selected, or its creation is not visible yet: that comes first, so that it is not taken for gone.
                let before =
                    writes.iter().rev().find(|before| before.uid == write.uid && is_version(before))?;
                let WrittenState::Version(version) = &before.state else { return None };
                if selected.includes(before) != Some(true) {
                    return None;
                }
                vec![end(write), state(before, version, false)]
            }
        };
        let (shows, health) = (Arc::clone(&self.shows), Arc::clone(&self.health));
        Some(Step { shows, health, plural: self.plural.clone(), key, awaited })
    }
}

fn is_version(write: &OwnWrite) -> bool {
    matches!(write.state, WrittenState::Version(_))
}

fn state(write: &OwnWrite, version: &str, was_visible: bool) -> Awaited {
    Awaited::State { uid: write.uid.as_deref().map(Into::into), version: version.into(), was_visible }
}

fn end(write: &OwnWrite) -> Awaited {
    Awaited::End { uids: write.uid.as_deref().map(Into::into).into_iter().collect() }
}

impl IntoIterator for Coverage {
    type Item = Covered;
    type IntoIter = std::vec::IntoIter<Covered>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Coverage {
    pub(crate) fn push(&mut self, covered: Covered) {
        self.0.push(covered);
    }

    pub(crate) fn extend(&mut self, covered: impl IntoIterator<Item = Covered>) {
        self.0.extend(covered);
    }

    /// A wait until all of them show these writes. One lookup for each write and store of its kind.
    pub(crate) fn shown(&self, writes: &[OwnWrite]) -> WritesShown {
        let mut shown = WritesShown::default();
        for (at, write) in writes.iter().enumerate() {
            let steps = self.0.iter().filter_map(|covered| covered.awaits(write, &writes[..at]));
            steps.for_each(|step| shown.add(step));
        }
        shown
    }
}
