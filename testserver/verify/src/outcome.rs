//! What runs have shown.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use crate::{
    finding::Finding,
    kinds::Kinds,
    plan::{Plan, Verb},
    state::{Hidden, Names, Normal, State},
    trace::Trace,
};

/// How often objects were created and deleted, by their templates.
pub(crate) type Counts = BTreeMap<(String, Verb), usize>;

/// What a run needs to know from earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) names: Names,
    pub(crate) resources: BTreeSet<String>,
    /// Values of Secrets that earlier runs had.
    pub(crate) hidden: Hidden,
    /// The kinds that the cluster serves at the begin.
    pub(crate) kinds: Option<Kinds>,
    /// Whether nothing may happen in an hour at the end of the reference.
    pub(crate) stays_still_for_an_hour: bool,
    /// The plans at whose end nothing may happen for an hour.
    pub(crate) still_for_an_hour: BTreeSet<Plan>,
}

/// What a step has led to.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    pub(crate) state: State,
    pub(crate) normal: Normal,
    pub(crate) external: Value,
}

/// What a run has shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) steps: Vec<Reached>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) trace: Trace,
    /// How long the run was, in simulated time.
    pub(crate) time: Duration,
    /// Whether nothing is judged: the old version ran to the end.
    pub(crate) is_old: bool,
    /// The number of faults of the plan that have happened.
    pub(crate) fired: usize,
    pub(crate) kinds: Option<Kinds>,
    pub(crate) hidden: Hidden,
    /// The definitions of custom resources, of a run without faults.
    pub(crate) definitions: Vec<Value>,
    pub(crate) edited: Option<Edited>,
}

/// How an edit of a user has ended, if there is something to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The server has refused it.
    Refused,
    /// The server has refused the way back.
    Irreversible,
    /// Nothing but the object itself was another one.
    ChangedNothing,
}

/// A run without faults, with all that is needed to judge others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reference {
    pub(crate) steps: Vec<Reached>,
    /// Objects and paths whose values differ in every run.
    pub(crate) masks: BTreeSet<String>,
    pub(crate) counts: Counts,
    /// How many values the masked paths had.
    pub(crate) values: BTreeMap<String, usize>,
    /// Objects of the operator that are left when the workload has deleted all.
    pub(crate) left: BTreeSet<String>,
    pub(crate) trace: Trace,
}
