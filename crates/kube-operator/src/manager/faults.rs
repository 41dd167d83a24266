//! What the errors of watches say of a cluster.

use crate::clusters::{Fault, fails, fault_of_class};
use kube_client::error::{ErrorChain, ErrorClass};
use kube_runtime::{controller::WatchSnapshot, watcher};
use parking_lot::Mutex;
use std::{collections::BTreeMap, error::Error as StdError};
use tokio::time::Instant;

/// The errors of watches, by their texts, which name the collection: those that are the last of a watch that fails now.
#[derive(Default)]
pub(super) struct Faults(Mutex<BTreeMap<String, Noted>>);

struct Noted {
    fault: Fault,
    /// Whether it says something of the cluster. If not, it is of one collection, which matters until that was listed once.
    is_of_cluster: bool,
    /// The text without the collection, as watches show it.
    shown: String,
    /// The innermost error, which is the same for all collections.
    cause: String,
    at: Instant,
}

impl Faults {
    /// Returns whether the log has the error as a change of the cluster's state: of missing permissions the first only, because there may
    /// be several, and of an outage one for each cause.
    pub(super) fn note(&self, error: &watcher::Error, now: Instant) -> bool {
        let (of_cluster, cause) = (fault_of(error), cause_of(error));
        let mut noted = self.0.lock();
        let says_so = match &of_cluster {
            None => false,
            Some(Fault::Forbidden(_)) => noted.contains_key(&error.to_string()),
            Some(_) => {
                let mut others = noted.values().filter(|noted| noted.is_of_cluster).peekable();
                others.peek().is_none() || others.any(|other| other.cause == cause)
            }
        };
        let (is_of_cluster, shown) = (of_cluster.is_some(), error.without_collection());
        let fault = of_cluster.unwrap_or_else(|| Fault::Failed(ErrorChain(error).to_string()));
        noted.insert(error.to_string(), Noted { fault, is_of_cluster, shown, cause, at: now });
        says_so
    }

    /// A missing permission, or else the last fault of the cluster. A watch that works has none, whatever the others do. Before all first
    /// lists are complete, also why one is not, such as a kind that is not installed: nothing is reconciled until then.
    pub(super) fn present(&self, watches: &[WatchSnapshot], synced: bool) -> Option<Fault> {
        let mut noted = self.0.lock();
        let failing: Vec<_> = watches.iter().filter(|watch| fails(watch)).collect();
        noted.retain(|_, noted| failing.iter().any(|watch| watch.last_error.as_ref() == Some(&noted.shown)));
        let faults = noted.values().filter(|noted| noted.is_of_cluster || !synced);
        let is_forbidden = |noted: &Noted| matches!(noted.fault, Fault::Forbidden(_));
        let worst = faults.max_by_key(|noted| (is_forbidden(noted), noted.is_of_cluster, noted.at));
        worst.map(|noted| noted.fault.clone())
    }
}

fn cause_of(error: &watcher::Error) -> String {
    let mut cause: &dyn StdError = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
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
