//! What a run has recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    plan::{EventPlace, Place, Verb},
    state::{ObjectName, State},
};

/// A write of the operator that the server has answered.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) place: Place,
    pub(crate) object: ObjectName,
    /// Whether it changed the state.
    pub(crate) effective: bool,
    /// Whether it names the version that it is for, so that the server may refuse it with a conflict.
    pub(crate) guarded: bool,
    /// Whether it made the object.
    pub(crate) created: bool,
    /// Whether the object belongs to owners that are all gone: the garbage collector takes it, and it does not count.
    pub(crate) orphan: bool,
    pub(crate) step: usize,
    /// The object of the answer.
    pub(crate) answer: Arc<Value>,
}

/// A write of a status by the operator.
#[derive(Clone, Debug)]
pub(crate) struct StatusWrite {
    pub(crate) object: ObjectName,
    /// Its name in managed fields.
    pub(crate) manager: String,
    pub(crate) step: usize,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

impl Write {
    /// Whether it changed the state, and the garbage collector does not undo that.
    fn has_effect(&self) -> bool {
        self.effective && !self.orphan
    }

    /// Whether its answer has the object as it was left.
    pub(crate) fn has_values(&self) -> bool {
        !self.orphan && self.answer["kind"] != "Status" && self.place.operation.verb != Verb::Delete
    }
}

/// The moment at which the new version of the operator started.
#[derive(Clone, Debug)]
pub(crate) struct Upgrade {
    /// The number of writes of the old version.
    writes: usize,
    pub(crate) step: usize,
    /// What the old version has left.
    pub(crate) state: State,
    pub(crate) external: Value,
    /// Whether nothing was left of what the workload had applied: then the new version learns nothing of what the old one forgot.
    pub(crate) all_gone: bool,
}

/// A line of the timeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) at: Duration,
    pub(crate) text: String,
    /// Whether two runs without faults have the same line: requests of the operator, steps.
    pub(crate) comparable: bool,
}

/// All that a run has recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) writes: Vec<Write>,
    /// In runs without faults, and where a status is wiped.
    pub(crate) statuses: Vec<StatusWrite>,
    /// Reads with the step in which they came.
    pub(crate) reads: Vec<(Place, usize)>,
    /// Events that the operator was sent, with the step.
    pub(crate) events: Vec<(EventPlace, usize)>,
    pub(crate) lines: Vec<Line>,
    /// Resources that the operator or the workload used.
    pub(crate) resources: BTreeSet<String>,
    /// Objects that the workload applied.
    pub(crate) applied: BTreeSet<ObjectName>,
    /// Steps after which there were pods that the operator or the cluster had made.
    pub(crate) pods_after: BTreeSet<usize>,
    /// Paths of the Leases by which the operator leads, with the holder in them.
    pub(crate) leases: BTreeMap<String, String>,
    /// Steps in which webhooks were called.
    pub(crate) webhooks_in: BTreeSet<usize>,
    /// Webhooks that were served, and never called.
    pub(crate) webhooks_never_called: BTreeSet<String>,
    /// Whether the operator has written Events.
    pub(crate) tells_events: bool,
    /// Whether a list asked for any version.
    pub(crate) lists_any_version: bool,
    /// How the operator ended the first time that it did so by itself, without a panic.
    pub(crate) ended: Option<String>,
    /// In a run with two versions of the operator.
    pub(crate) upgrade: Option<Upgrade>,
}

impl Trace {
    /// The writes that changed the state, without those that the garbage collector undoes.
    pub(crate) fn effective(&self) -> impl DoubleEndedIterator<Item = &Write> {
        self.writes.iter().filter(|write| write.has_effect())
    }

    /// The new version starts in this step, with these objects and these states of external systems.
    pub(crate) fn upgrades(&mut self, step: usize, state: State, external: Value) {
        let all_gone = self.is_all_gone(&state);
        self.upgrade = Some(Upgrade { writes: self.writes.len(), step, state, external, all_gone });
    }

    /// Whether nothing is there any more of what the workload has applied.
    pub(crate) fn is_all_gone(&self, state: &State) -> bool {
        !self.applied.is_empty() && !self.applied.iter().any(|object| state.0.contains_key(object))
    }

    /// The writes of the old version, and those of the new one, which alone is judged.
    fn versions(&self) -> (&[Write], &[Write]) {
        self.writes.split_at(self.upgrade.as_ref().map_or(0, |upgrade| upgrade.writes))
    }

    /// Those of the old version that changed the state.
    pub(crate) fn effective_of_old(&self) -> impl Iterator<Item = &Write> {
        self.versions().0.iter().filter(|write| write.has_effect())
    }

    /// The same of the version that is judged.
    pub(crate) fn effective_of_judged(&self) -> impl Iterator<Item = &Write> {
        self.versions().1.iter().filter(|write| write.has_effect())
    }

    /// The writes whose values count: those of the version that is judged, and the last of the old one to each object that it has left.
    pub(crate) fn with_values(&self) -> impl Iterator<Item = &Write> {
        let (old, judged) = self.versions();
        let is_left = |write: &&Write| {
            let object = self.upgrade.as_ref().and_then(|upgrade| upgrade.state.0.get(&write.object));
            object.is_some_and(|object| object["metadata"]["uid"] == write.answer["metadata"]["uid"])
        };
        let old = old.iter().filter(|write| write.has_values()).filter(is_left);
        let last: BTreeMap<_, _> = old.map(|write| (&write.object, write)).collect();
        last.into_values().chain(judged.iter().filter(|write| write.has_values()))
    }
}
