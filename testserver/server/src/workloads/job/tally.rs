//! What has become of the pods of a Job so far.
//!
//! A pod that has ended is counted once: it is listed by uid in the status first, then loses its finalizer, and then its uid becomes a
//! number.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    indexes::{Indexes, index_of},
    pod::{failures_before, is_tracked},
    policy::{Failure, judge, met_success_rule},
};
use crate::{
    object::meta,
    workloads::pod::{MAX_PODS, Pod},
};

/// A pod to create: its index in an Indexed Job, and the failures of that index if they have a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewPod {
    pub(crate) index: Option<usize>,
    pub(crate) failures: Option<u64>,
}

/// The pods of a Job, counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The desired number; `None` when the pods agree among themselves.
    pub(super) completions: Option<usize>,
    indexed: bool,
    /// Indexes in the list of pods, those first that go first when there are too many.
    pub(super) active: Vec<usize>,
    /// Indexes of pods in the list that are counted and keep their finalizer.
    pub(super) release: Vec<usize>,
    succeeded: u64,
    failed: u64,
    pub(super) completed: Indexes,
    pub(super) failed_indexes: Indexes,
    /// Why the failure policy fails the Job.
    pub(super) failed_job: Option<String>,
    /// The failures of each index that is tried again.
    failures: BTreeMap<usize, u64>,
    /// The indexes of pods that are not over.
    taken: Indexes,
    /// Active pods, as indexes in the list, that an Indexed Job has no place for.
    strays: BTreeSet<usize>,
    uncounted: [BTreeSet<String>; 2],
    ready: usize,
    terminating: usize,
    restarts: u64,
}

/// Counts the pods of a Job.
pub(super) fn tally(job: &Value, pods: &[Arc<Pod>]) -> Tally {
    let spec = &job["spec"];
    let indexed = spec["completionMode"] == "Indexed";
    let completions = spec["completions"].as_u64().and_then(|n| usize::try_from(n).ok());
    // A Job without both numbers has one pod.
    let completions = completions.or(if spec["parallelism"].is_null() { Some(1) } else { None });
    let status = &job["status"];
    let bound = completions.unwrap_or(0);
    let mut tally = Tally {
        completions,
        indexed,
        succeeded: status["succeeded"].as_u64().unwrap_or(0),
        failed: status["failed"].as_u64().unwrap_or(0),
        completed: Indexes::parse(&status["completedIndexes"], bound),
        failed_indexes: Indexes::parse(&status["failedIndexes"], bound),
        ..Tally::default()
    };
    tally.settle(status, pods);
    for (at, pod) in pods.iter().enumerate() {
        tally.count(job, pod, at);
    }
    // Unready pods go first, then the youngest.
    let created = |at: usize| meta::text(&pods[at].object, "creationTimestamp");
    tally.active.sort_by_key(|at| (pods[*at].is_ready(), Reverse(created(*at))));
    tally.find_strays(pods);
    if indexed {
        tally.succeeded = tally.completed.len() as u64;
    }
    tally
}

impl Tally {
    /// Turns listed pods without finalizer into numbers, and keeps the others listed.
    fn settle(&mut self, status: &Value, pods: &[Arc<Pod>]) {
        let held = pods.iter().map(|pod| &pod.object).filter(|pod| is_tracked(pod));
        let held: BTreeSet<&str> = held.filter_map(|pod| meta::text(pod, "uid")).collect();
        for (at, kind) in ["succeeded", "failed"].into_iter().enumerate() {
            let listed = status["uncountedTerminatedPods"][kind].as_array().into_iter().flatten();
            for uid in listed.filter_map(Value::as_str) {
                if held.contains(uid) {
                    self.uncounted[at].insert(uid.to_owned());
                } else if at == 0 {
                    self.succeeded += 1;
                } else {
                    self.failed += 1;
                }
            }
        }
    }

    fn count(&mut self, job: &Value, states: &Pod, at: usize) {
        let pod = &states.object;
        let uid = meta::text(pod, "uid").unwrap_or_default().to_owned();
        let index = self.index_of(pod);
        // Without an index of the Job, a pod of an Indexed Job does not count.
        let counts = index.is_some() || !self.indexed;
        let tracked = is_tracked(pod);
        let succeeded = pod["status"]["phase"] == "Succeeded";
        let gone = states.is_deleting() && (meta::grace(pod) == 0 || pod["spec"]["nodeName"].is_null());
        if states.is_active() {
            self.active.push(at);
            self.ready += usize::from(states.is_ready());
            self.restarts += restarts(pod);
            self.take(index);
            return;
        }
        if states.is_deleting() && !states.is_over() {
            self.terminating += usize::from(!gone);
            if job["spec"]["podReplacementPolicy"] == "Failed" && !gone {
                self.take(index);
                return;
            }
        }
        if !counts {
            // Only its finalizer goes.
        } else if succeeded {
            match index {
                _ if !tracked => {}
                Some(index) => self.completed.insert(index),
                None => drop(self.uncounted[0].insert(uid)),
            }
        } else {
            self.fail(job, pod, index, tracked.then_some(uid));
        }
        if tracked {
            self.release.push(at);
        }
    }

    /// The index of a pod of an Indexed Job, if it is one of the Job's.
    fn index_of(&self, pod: &Value) -> Option<usize> {
        index_of(pod).filter(|index| self.indexed && *index < self.completions.unwrap_or(0))
    }

    fn take(&mut self, index: Option<usize>) {
        index.into_iter().for_each(|index| self.taken.insert(index));
    }

    /// Finds the active pods of no index of the Job, and all of an index but the one that would go last.
    fn find_strays(&mut self, pods: &[Arc<Pod>]) {
        if !self.indexed {
            return;
        }
        let mut places = BTreeSet::new();
        for at in self.active.iter().rev() {
            if !self.index_of(&pods[*at].object).is_some_and(|index| places.insert(index)) {
                self.strays.insert(*at);
            }
        }
    }

    /// A failed pod, with its uid while it is not counted yet.
    fn fail(&mut self, job: &Value, pod: &Value, index: Option<usize>, uid: Option<String>) {
        let limit = job["spec"]["backoffLimitPerIndex"].as_u64();
        let before = failures_before(pod);
        let mut retry = |index, failures: u64| {
            let most = self.failures.entry(index).or_default();
            *most = failures.max(*most);
        };
        match judge(job, pod) {
            Failure::Ignored => {
                if let Some(index) = index.filter(|_| limit.is_some()) {
                    retry(index, before);
                }
                return;
            }
            Failure::FailsJob(why) => self.failed_job = Some(why),
            Failure::FailsIndex => self.fail_index(index),
            Failure::Counts => match (index, limit) {
                (Some(_), Some(limit)) if before >= limit => self.fail_index(index),
                (Some(index), Some(_)) => retry(index, before + 1),
                _ => {}
            },
        }
        self.uncounted[1].extend(uid);
    }

    fn fail_index(&mut self, index: Option<usize>) {
        if let Some(index) = index.filter(|index| !self.completed.has(*index)) {
            self.failed_indexes.insert(index);
        }
    }

    /// How many pods have failed.
    pub(super) fn all_failed(&self) -> u64 {
        self.failed + self.uncounted[1].len() as u64
    }

    /// How many completions there are.
    pub(super) fn done(&self) -> usize {
        let listed = if self.indexed { 0 } else { self.uncounted[0].len() };
        usize::try_from(self.succeeded).unwrap_or(usize::MAX).saturating_add(listed)
    }

    pub(super) fn met_success_rule(&self, job: &Value) -> Option<usize> {
        met_success_rule(job, &self.completed, self.completions?)
    }

    /// Whether containers that are restarted in place have failed too often.
    pub(super) fn restarts_exceed(&self, job: &Value) -> bool {
        let limit = job["spec"]["backoffLimit"].as_u64().unwrap_or(6);
        job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure" && self.restarts >= limit.max(1)
    }

    /// The pods to create, and those that are too many.
    pub(super) fn changes(&self, job: &Value) -> (Vec<NewPod>, Vec<usize>) {
        let parallelism =
            job["spec"]["parallelism"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
        let desired = match self.completions {
            Some(completions) => {
                parallelism.min(completions.saturating_sub(self.done() + self.failed_indexes.len()))
            }
            // Once one has succeeded, no more are started.
            None if self.done() > 0 => parallelism.min(self.active.len()),
            None => parallelism,
        };
        let waiting = if job["spec"]["podReplacementPolicy"] == "Failed" { self.terminating } else { 0 };
        let (strays, placed): (Vec<usize>, Vec<usize>) =
            self.active.iter().partition(|at| self.strays.contains(at));
        let missing = desired.saturating_sub(placed.len() + waiting).min(MAX_PODS);
        let surplus = placed.iter().take(placed.len().saturating_sub(desired));
        let surplus = strays.iter().chain(surplus).copied().collect();
        if !self.indexed {
            return (vec![NewPod::default(); missing], surplus);
        }
        let limited = job["spec"]["backoffLimitPerIndex"].is_number();
        let mut settled = self.completed.clone();
        settled.extend(&self.failed_indexes);
        settled.extend(&self.taken);
        let new = settled.others(self.completions.unwrap_or(0)).take(missing).map(|index| {
            let failures = limited.then(|| self.failures.get(&index).copied().unwrap_or(0));
            NewPod { index: Some(index), failures }
        });
        (new.collect(), surplus)
    }

    pub(super) fn status(&self, job: &Value) -> Value {
        let mut status = job["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        let mut uncounted = json!({});
        for (kind, uids) in ["succeeded", "failed"].into_iter().zip(&self.uncounted) {
            if !uids.is_empty() {
                uncounted[kind] = uids.iter().map(String::as_str).collect();
            }
        }
        status["uncountedTerminatedPods"] = uncounted;
        status["ready"] = self.ready.into();
        status["terminating"] = self.terminating.into();
        let texts = [("completedIndexes", &self.completed), ("failedIndexes", &self.failed_indexes)];
        let Some(status_fields) = status.as_object_mut() else { return status };
        for (field, count) in
            [("active", self.active.len() as u64), ("succeeded", self.succeeded), ("failed", self.failed)]
        {
            if count == 0 {
                status_fields.remove(field);
            } else {
                status_fields.insert(field.into(), count.into());
            }
        }
        for (field, indexes) in texts {
            let limited = field == "completedIndexes" || job["spec"]["backoffLimitPerIndex"].is_number();
            if self.indexed && (indexes.len() > 0 || field == "failedIndexes" && limited) {
                status_fields.insert(field.into(), indexes.text().into());
            }
        }
        status
    }
}

fn restarts(pod: &Value) -> u64 {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    statuses.filter_map(|status| status["restartCount"].as_u64()).sum()
}
