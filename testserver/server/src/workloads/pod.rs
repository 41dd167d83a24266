//! Pods as the controllers see them, and how many of them there may be.

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    clock::{seconds_left, time},
    object::meta,
    pods::is_over,
};

/// The largest number of pods per owner. Pods are created within the request: without a limit, a mistyped replica count would hang it.
/// Real nodes hold 110.
pub(super) const MAX_PODS: usize = 1000;
/// The label with the name or the hash of the revision that a pod was made from.
pub(super) const REVISION: &str = "controller-revision-hash";

/// A pod with its states, which are found once per version: a controller reads all pods of its object at each step.
#[derive(Debug)]
pub(crate) struct Pod {
    pub(crate) object: Value,
    over: bool,
    deleting: bool,
    ready: bool,
    ready_since: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

impl From<Value> for Pod {
    fn from(object: Value) -> Self {
        let ready = ready_condition(&object);
        let over = is_over(&object);
        Self {
            over,
            deleting: meta::is_deleting(&object),
            ready: ready.is_some(),
            ready_since: ready.and_then(|ready| time(&ready["lastTransitionTime"])),
            ended_at: if over { ended_at(&object) } else { None },
            object,
        }
    }
}

impl Pod {
    pub(crate) fn name(&self) -> &str {
        meta::name(&self.object)
    }

    /// Whether it has neither finished nor is being deleted.
    pub(super) fn is_active(&self) -> bool {
        !self.over && !self.deleting
    }

    /// Whether its containers have ended for good.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.deleting
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// Seconds until it has been ready for `min_ready` seconds; `None` while it is not ready.
    pub(super) fn available_in(&self, min_ready: u64, now: Option<Timestamp>) -> Option<u64> {
        let left = seconds_left(min_ready, self.ready_since, now).filter(|_| min_ready > 0);
        self.ready.then(|| left.unwrap_or(min_ready))
    }

    /// When it ended, as far as is known.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        self.ended_at
    }

    /// The revision that it was made from.
    pub(crate) fn revision(&self) -> Option<&str> {
        self.object["metadata"]["labels"][REVISION].as_str()
    }
}

fn ready_condition(pod: &Value) -> Option<&Value> {
    let mut conditions = pod["status"]["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// When the last container of a pod ended, else when the pod was created.
fn ended_at(pod: &Value) -> Option<Timestamp> {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let ended = statuses.map(|status| &status["state"]["terminated"]["finishedAt"]);
    let last = ended.max_by_key(|ended| ended.as_str()).filter(|ended| ended.is_string());
    time(last.unwrap_or(&pod["metadata"]["creationTimestamp"]))
}

/// How many pods an owner of these may still create.
pub(super) fn remaining_capacity(pods: usize) -> usize {
    MAX_PODS.saturating_sub(pods)
}

/// A number, or a percentage of a total, rounded up or down.
pub(super) fn share(value: &Value, total: i64, up: bool) -> Option<i64> {
    value.as_i64().or_else(|| {
        let percent = value.as_str()?.strip_suffix('%')?.parse::<i64>().ok()?;
        let product = total.saturating_mul(percent);
        Some(if up { product.saturating_add(99) / 100 } else { product / 100 })
    })
}

/// Pods of these objects.
#[cfg(test)]
pub(super) fn read(pods: &[Value]) -> Vec<std::sync::Arc<Pod>> {
    pods.iter().map(|pod| std::sync::Arc::new(pod.clone().into())).collect()
}
