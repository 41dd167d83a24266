//! What the errors of watches say of a cluster.

use crate::clusters::{Fault, fails, fault_of_class};
use kube_client::error::{ErrorChain, ErrorClass};
use kube_runtime::{controller::WatchSnapshot, watcher};
use parking_lot::Mutex;
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

/// How long a fault counts without being noted again, while any watch fails. One that lasts is noted at each attempt.
const LASTS: Duration = Duration::from_secs(120);

/// What errors of watches say of the cluster, by the text of the error, which names the collection, and when they said it last.
#[derive(Default)]
pub(super) struct Faults(Mutex<BTreeMap<String, (Fault, Instant)>>);

impl Faults {
    /// Returns whether the log has the error as a change of the cluster's state. Of missing permissions it has the first only, and there
    /// may be several.
    pub(super) fn note(&self, error: &watcher::Error, now: Instant) -> bool {
        let Some(fault) = fault_of(error) else { return false };
        let is_forbidden = matches!(fault, Fault::Forbidden(_));
        let is_known = self.0.lock().insert(error.to_string(), (fault, now)).is_some();
        is_known || !is_forbidden
    }

    /// A missing permission, or else the last fault: a watch that works, or fails for a reason that is no fault, hides none of another.
    pub(super) fn present(&self, watches: &[WatchSnapshot], now: Instant) -> Option<Fault> {
        let mut faults = self.0.lock();
        let one_fails = watches.iter().any(fails);
        faults.retain(|_, (_, noted)| one_fails && now.saturating_duration_since(*noted) < LASTS);
        let worst =
            faults.values().max_by_key(|(fault, noted)| (matches!(fault, Fault::Forbidden(_)), *noted));
        worst.map(|(fault, _)| fault.clone())
    }
}

/// What an error of a watch says of the cluster.
fn fault_of(error: &watcher::Error) -> Option<Fault> {
    let class = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => ErrorClass::of(error),
        watcher::Error::WatchError(status) => ErrorClass::of_status(status),
        watcher::Error::NoResourceVersion => return None,
    };
    fault_of_class(&class, ErrorChain(error).to_string())
}
