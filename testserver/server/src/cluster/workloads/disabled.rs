//! Without the feature `workloads`, there are no tasks of workload controllers.

use super::{ClusterState, work::Work};
use crate::{
    scheme::Resource,
    storage::{Storage, Stored, WriteError},
};

/// Without the controllers, nothing is known.
#[derive(Debug, Default)]
pub(super) struct WorkloadCaches {}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WorkloadTask {}

impl Work {
    pub(super) fn observe_workload(
        &mut self,
        _: &Storage,
        _: &Resource,
        _: Option<&Stored>,
        _: Option<&Stored>,
    ) {
    }
}

impl ClusterState {
    pub(super) fn run_workload(&mut self, task: &WorkloadTask) -> Result<(), WriteError> {
        match *task {}
    }
}
