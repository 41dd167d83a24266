//! StatefulSet: pods with ordinals, one after the other, and the rollout from the last ordinal to the first.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    replicas::{available_in, is_over, is_ready, remaining_capacity},
    rollout::share,
    stateful_pod::ordinal_of,
};
use crate::object::meta;

/// The label with the name of a pod's revision.
pub(crate) const REVISION: &str = "controller-revision-hash";

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
    pods: &'a [Value],
    names: RevisionNames<'a>,
    now: &'a str,
    first: i64,
    wanted: i64,
}

/// Plans a StatefulSet; `pods` are all pods that it owns.
pub(crate) fn plan_stateful_set(
    set: &Value,
    pods: &[Value],
    names: RevisionNames<'_>,
    now: &str,
) -> StatefulPlan {
    let spec = &set["spec"];
    let (first, wanted) =
        (spec["ordinals"]["start"].as_i64().unwrap_or(0), spec["replicas"].as_i64().unwrap_or(1));
    let view = View { set, pods, names, now, first, wanted };
    let mut kept = BTreeMap::new();
    let mut condemned = BTreeMap::new();
    for (at, pod) in pods.iter().enumerate() {
        let Some(ordinal) = ordinal_of(set, pod) else { continue };
        let within = ordinal >= first && ordinal - first < wanted;
        if within { &mut kept } else { &mut condemned }.insert(ordinal, at);
    }
    let waits = pods.iter().filter_map(|pod| view.available_in(pod)).filter(|seconds| *seconds > 0);
    let mut plan = StatefulPlan {
        condemned: condemned.values().rev().copied().collect(),
        requeue_after: waits.min(),
        status: view.status(),
        ..StatefulPlan::default()
    };
    if !meta::is_deleting(set) && view.fill(&kept, &mut plan) && view.shrink(&kept, &condemned, &mut plan) {
        plan.delete.extend(view.outdated(&kept));
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

    fn available_in(&self, pod: &Value) -> Option<u64> {
        let min_ready = self.set["spec"]["minReadySeconds"].as_u64().unwrap_or(0);
        available_in(pod, min_ready, self.now).filter(|_| !meta::is_deleting(pod))
    }

    fn is_available(&self, pod: &Value) -> bool {
        self.available_in(pod) == Some(0)
    }

    /// Creates the missing pods, in ascending order. Whether the plan goes on.
    fn fill(&self, kept: &BTreeMap<i64, usize>, plan: &mut StatefulPlan) -> bool {
        let room = remaining_capacity(self.pods);
        for ordinal in self.first..self.first.saturating_add(self.wanted) {
            match kept.get(&ordinal).map(|at| (*at, &self.pods[*at])) {
                None if plan.create.len() == room => break,
                None => {
                    let kept_back = self.rolls() && ordinal < self.first.saturating_add(self.partition());
                    let revision = if kept_back { self.names.current } else { self.names.update };
                    plan.create.push((ordinal, revision.to_owned()));
                }
                // It makes room for a new one.
                Some((at, pod)) if is_over(pod) && !meta::is_deleting(pod) => plan.delete.push(at),
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
    fn shrink(
        &self,
        kept: &BTreeMap<i64, usize>,
        condemned: &BTreeMap<i64, usize>,
        plan: &mut StatefulPlan,
    ) -> bool {
        let healthy = |at: usize| is_ready(&self.pods[at]) && !meta::is_deleting(&self.pods[at]);
        let all = kept.iter().chain(condemned);
        let first_unhealthy = all.filter(|(_, at)| !healthy(**at)).map(|(ordinal, _)| *ordinal).min();
        for (ordinal, at) in condemned.iter().rev() {
            let going = meta::is_deleting(&self.pods[*at]);
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
    fn outdated(&self, kept: &BTreeMap<i64, usize>) -> Vec<usize> {
        if !self.rolls() {
            return Vec::new();
        }
        let rolling = &self.set["spec"]["updateStrategy"]["rollingUpdate"];
        let mut budget = share(&rolling["maxUnavailable"], self.wanted, true).unwrap_or(1).max(1);
        let mut outdated = Vec::new();
        for (_, at) in kept.range(self.first.saturating_add(self.partition())..).rev() {
            let pod = &self.pods[*at];
            if revision_of(pod) != Some(self.names.update) && !meta::is_deleting(pod) {
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
        let made: Vec<&Value> = self.pods.iter().filter(|pod| ordinal_of(self.set, pod).is_some()).collect();
        let count = |test: &dyn Fn(&Value) -> bool| made.iter().filter(|pod| test(pod)).count();
        let of = |name: &str| count(&|pod| !meta::is_deleting(pod) && revision_of(pod) == Some(name));
        let ready = count(&|pod| is_ready(pod));
        let (mut current, updated) = (of(self.names.current), of(self.names.update));
        let mut current_name = self.names.current;
        let complete = made.len() == updated && made.len() == ready && ready >= self.goal();
        if complete {
            (current, current_name) = (updated, self.names.update);
        }
        let mut status = json!({
            "observedGeneration": self.set["metadata"]["generation"],
            "replicas": made.len(),
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
        usize::try_from(self.wanted).unwrap_or(0)
    }
}

fn revision_of(pod: &Value) -> Option<&str> {
    pod["metadata"]["labels"][REVISION].as_str()
}

#[cfg(test)]
#[path = "stateful_set_tests.rs"]
mod tests;
