//! What a run has recorded.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    plan::{EventPlace, Place},
    state::ObjectName,
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
    /// Paths of the Leases that the operator wrote.
    pub(crate) leases: BTreeSet<String>,
    /// Whether a list asked for any version.
    pub(crate) lists_any_version: bool,
}

impl Trace {
    /// The writes that changed the state, without those that the garbage collector undoes.
    pub(crate) fn effective(&self) -> impl DoubleEndedIterator<Item = &Write> {
        self.writes.iter().filter(|write| write.effective && !write.orphan)
    }
}
