//! What the workload controllers know between their runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::{backoff::Backoff, decoded::Decoded, selector_index::SelectorIndex};
use crate::{
    storage::{Key, Stored},
    workloads::{Backend, Pod},
};

/// What the workload controllers know between their runs, so that a change costs what it changes.
#[derive(Debug, Default)]
pub(in crate::cluster) struct WorkloadCaches {
    pub(super) pods: Decoded<Pod>,
    pub(super) objects: Decoded<Value>,
    /// The services with a selector, and their endpoints.
    pub(super) services: SelectorIndex,
    pub(super) endpoints: HashMap<Key, ServiceEndpoints>,
    pub(super) budgets: SelectorIndex,
    pub(super) backoff: Backoff,
}

/// The endpoints of a service as they were computed last.
#[derive(Debug, Default)]
pub(super) struct ServiceEndpoints {
    /// By pod.
    pub(super) backends: BTreeMap<Key, Backend>,
    /// The pods that have changed since.
    pub(super) changed: BTreeSet<Key>,
    /// Whether the stored Endpoints and slices are those of these backends.
    pub(super) written: bool,
}

impl WorkloadCaches {
    /// Drops what is known of a removed object.
    pub(super) fn forget(&mut self, last: &Stored) {
        self.pods.forget(last);
        self.objects.forget(last);
    }
}
