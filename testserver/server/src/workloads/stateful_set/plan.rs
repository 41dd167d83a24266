//! Plans a StatefulSet: which pods come, which go, and the status.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::pod::ordinal_of;
use crate::{
    object::meta,
    workloads::pod::{Pod, remaining_capacity, share},
};

/// The next actions for a StatefulSet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct StatefulPlan {
    /// The ordinals of new pods, with the name of the revision whose template they get.
    pub(crate) create: Vec<(i64, String)>,
    /// Indexes in the list of pods.
    pub(crate) delete: Vec<usize>,
    /// Indexes of pods beyond `replicas`, from the greatest ordinal to the smallest.
    pub(crate) condemned: Vec<usize>,
    /// Seconds until another pod has been ready for `minReadySeconds`.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
}

/// The names of the revisions between which a rollout moves the pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RevisionNames<'a> {
    pub(crate) current: &'a str,
    pub(crate) update: &'a str,
}

/// What a plan is made of.
struct View<'a> {
    set: &'a Value,
    pods: &'a [Arc<Pod>],
    names: RevisionNames<'a>,
    now: Option<Timestamp>,
    first: i64,
    replicas: i64,
    /// Indexes in the list of pods, by ordinal.
    within: BTreeMap<i64, usize>,
    /// Those beyond `replicas`.
    condemned: BTreeMap<i64, usize>,
}

/// Plans a StatefulSet; `pods` are all pods that it owns.
pub(crate) fn plan_stateful_set(
    set: &Value,
    pods: &[Arc<Pod>],
    names: RevisionNames<'_>,
    now: &str,
) -> StatefulPlan {
    let spec = &set["spec"];
    let first = spec["ordinals"]["start"].as_i64().unwrap_or(0);
    let replicas = spec["replicas"].as_i64().unwrap_or(1);
    let (mut within, mut condemned) = (BTreeMap::new(), BTreeMap::new());
    for (at, pod) in pods.iter().enumerate() {
        let Some(ordinal) = ordinal_of(set, pod.name()) else { continue };
        let stays = ordinal >= first && ordinal - first < replicas;
        if stays { &mut within } else { &mut condemned }.insert(ordinal, at);
    }
    let view = View { set, pods, names, now: now.parse().ok(), first, replicas, within, condemned };
    let waits = pods.iter().filter_map(|pod| view.available_in(pod)).filter(|seconds| *seconds > 0);
    let mut plan = StatefulPlan {
        condemned: view.condemned.values().rev().copied().collect(),
        requeue_after: waits.min(),
        status: view.status(),
        ..StatefulPlan::default()
    };
    if !meta::is_deleting(set) && view.fill(&mut plan) && view.shrink(&mut plan) {
        plan.delete.extend(view.outdated());
    }
    plan
}

impl View<'_> {
    fn one_by_one(&self) -> bool {
        self.set["spec"]["podManagementPolicy"] != "Parallel"
    }

    fn partition(&self) -> i64 {
        self.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_i64().unwrap_or(0)
    }

    fn rolls(&self) -> bool {
        self.set["spec"]["updateStrategy"]["type"] != "OnDelete"
    }

    fn available_in(&self, pod: &Pod) -> Option<u64> {
        let min_ready = self.set["spec"]["minReadySeconds"].as_u64().unwrap_or(0);
        pod.available_in(min_ready, self.now).filter(|_| !pod.is_deleting())
    }

    fn is_available(&self, pod: &Pod) -> bool {
        self.available_in(pod) == Some(0)
    }

    /// Creates the missing pods, in ascending order. Whether the plan goes on.
    fn fill(&self, plan: &mut StatefulPlan) -> bool {
        let room = remaining_capacity(self.pods.len());
        for ordinal in self.first..self.first.saturating_add(self.replicas) {
            match self.within.get(&ordinal).map(|at| (*at, &self.pods[*at])) {
                None if plan.create.len() == room => break,
                None => {
                    let held_back = self.rolls() && ordinal < self.first.saturating_add(self.partition());
                    let revision = if held_back { self.names.current } else { self.names.update };
                    plan.create.push((ordinal, revision.to_owned()));
                }
                // It makes room for a new one.
                Some((at, pod)) if pod.is_over() && !pod.is_deleting() => plan.delete.push(at),
                Some((_, pod)) if self.is_available(pod) => continue,
                Some(_) => {}
            }
            if self.one_by_one() {
                return false;
            }
        }
        true
    }

    /// Deletes pods beyond `replicas`, in descending order. Whether the plan goes on.
    fn shrink(&self, plan: &mut StatefulPlan) -> bool {
        let healthy = |at: usize| self.pods[at].is_ready() && !self.pods[at].is_deleting();
        let all = self.within.iter().chain(&self.condemned);
        let first_unhealthy = all.filter(|(_, at)| !healthy(**at)).map(|(ordinal, _)| *ordinal).min();
        for (ordinal, at) in self.condemned.iter().rev() {
            let going = self.pods[*at].is_deleting();
            let halted = self.one_by_one() && !healthy(*at) && first_unhealthy != Some(*ordinal);
            if !going && !halted {
                plan.delete.push(*at);
            }
            if self.one_by_one() {
                return false;
            }
        }
        true
    }

    /// The pods that the rollout replaces next, from the last ordinal down to the partition.
    fn outdated(&self) -> Vec<usize> {
        if !self.rolls() {
            return Vec::new();
        }
        let rolling = &self.set["spec"]["updateStrategy"]["rollingUpdate"];
        let mut budget = share(&rolling["maxUnavailable"], self.replicas, true).unwrap_or(1).max(1);
        let mut outdated = Vec::new();
        for (_, at) in self.within.range(self.first.saturating_add(self.partition())..).rev() {
            let pod = &self.pods[*at];
            if pod.revision() != Some(self.names.update) && !pod.is_deleting() {
                outdated.push(*at);
                budget -= 1;
            } else if !self.is_available(pod) {
                budget -= 1;
            }
            if budget == 0 {
                break;
            }
        }
        outdated
    }

    fn status(&self) -> Value {
        let all = || self.within.values().chain(self.condemned.values()).map(|at| &self.pods[*at]);
        let count = |test: &dyn Fn(&Pod) -> bool| all().filter(|pod| test(pod)).count();
        let of = |name: &str| count(&|pod| !pod.is_deleting() && pod.revision() == Some(name));
        let (total, ready) = (all().count(), count(&Pod::is_ready));
        let (mut current, updated) = (of(self.names.current), of(self.names.update));
        let mut current_name = self.names.current;
        let complete = total == updated && total == ready && ready >= self.goal();
        if complete {
            (current, current_name) = (updated, self.names.update);
        }
        let mut status = json!({
            "observedGeneration": self.set["metadata"]["generation"],
            "replicas": total,
            "availableReplicas": count(&|pod| self.is_available(pod)),
            "currentRevision": current_name,
            "updateRevision": self.names.update,
            "collisionCount": self.set["status"]["collisionCount"].as_u64().unwrap_or(0),
        });
        // Zero counts are omitted, as Go does.
        for (field, count) in
            [("readyReplicas", ready), ("currentReplicas", current), ("updatedReplicas", updated)]
        {
            if count > 0 {
                status[field] = count.into();
            }
        }
        if !self.set["status"]["conditions"].is_null() {
            status["conditions"] = self.set["status"]["conditions"].clone();
        }
        status
    }

    fn goal(&self) -> usize {
        usize::try_from(self.replicas).unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
