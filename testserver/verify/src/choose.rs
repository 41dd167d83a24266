//! A plan for each place of the reference.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    family::{Families, Family},
    plan::{EventFault, EventPlace, Injection, Operation, Plan, RequestFault, RunFault, StepFault, Verb},
    trace::Trace,
};

/// Beyond the third write or read of the same kind nothing new is to be expected.
const MOST_OF_A_KIND: usize = 3;

/// The plans for a reference, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) plans: Vec<Plan>,
    /// The number of plans, also of those for other processes.
    pub(crate) planned: usize,
    /// Plans beyond the most of their family.
    pub(crate) not_chosen: usize,
    /// Places beyond the third of their kind.
    pub(crate) repeated: usize,
    /// Writes that changed nothing.
    pub(crate) without_effect: usize,
}

impl Choice {
    /// Leaves out plans, so that each family has at most so many, evenly spread. Where a family begins depends on its position among all,
    /// so that families with the same places try different ones.
    pub(crate) fn keep_per_family(&mut self, most: usize) {
        let mut all: BTreeMap<Vec<Family>, usize> = BTreeMap::new();
        self.plans.iter().for_each(|plan| *all.entry(plan.families()).or_default() += 1);
        let mut seen: BTreeMap<Vec<Family>, usize> = BTreeMap::new();
        let before = self.plans.len();
        self.plans.retain(|plan| {
            let families = plan.families();
            let of = all[&families];
            let begin: usize = families.iter().map(|family| family.position()).sum();
            let seen = seen.entry(families).or_default();
            let at = (*seen + of - begin % of) % of;
            *seen += 1;
            // The first, and each with which the share that is due grows by one.
            let due = |count: usize| (count * most).div_ceil(of);
            of <= most || due(at + 1) > due(at)
        });
        self.not_chosen += before - self.plans.len();
    }
}

/// A plan with one fault for each place and family.
pub(crate) fn choose(trace: &Trace, steps: usize, families: &Families) -> Choice {
    let mut choice = Choice::default();
    writes(trace, steps, &mut choice);
    reads(trace, &mut choice);
    events(trace, &mut choice);
    for step in 0..=steps {
        let mut add = |fault| choice.plans.push(Plan(vec![Injection::Step(fault, step)]));
        if step > 0 {
            add(StepFault::Restart);
            if trace.lists_any_version {
                add(StepFault::StaleRestart);
            }
            if trace.pods_after.contains(&step) {
                add(StepFault::Evicted);
            }
        }
        if step < steps {
            // A step has to come while another process leads.
            if !trace.leases.is_empty() {
                add(StepFault::LostLease);
            }
            add(StepFault::Down);
        }
    }
    choice.plans.push(Plan(vec![Injection::Run(RunFault::SlowGarbageCollection)]));
    if !trace.pods_after.is_empty() {
        choice.plans.push(Plan(vec![Injection::Run(RunFault::SlowWorkloads)]));
    }
    choice.plans.retain(|plan| plan.families().iter().all(|family| families.contains(*family)));
    // What is likely comes first.
    let rank = |plan: &Plan| {
        let family = plan.families().first().copied();
        family.map(|family| (family.likelihood(), family.position()))
    };
    choice.plans.sort_by_key(rank);
    choice
}

fn writes(trace: &Trace, steps: usize, choice: &mut Choice) {
    let mut seen: BTreeMap<&Operation, usize> = BTreeMap::new();
    choice.without_effect = trace.writes.iter().filter(|write| !write.effective).count();
    for write in trace.writes.iter().filter(|write| write.effective) {
        let count = seen.entry(&write.place.operation).or_default();
        *count += 1;
        if *count > MOST_OF_A_KIND {
            choice.repeated += 1;
            continue;
        }
        let verb = write.place.operation.verb;
        let mut faults = vec![
            RequestFault::CrashBefore,
            RequestFault::CrashAfter,
            RequestFault::Lost,
            RequestFault::TooManyRequests,
            RequestFault::Refused,
            RequestFault::Slow,
            RequestFault::Late,
        ];
        if write.step < steps {
            faults.push(RequestFault::CrashDown);
            faults.push(RequestFault::LateByAStep);
        }
        if write.guarded {
            faults.push(RequestFault::Conflict);
        }
        // Only where there is an object before.
        if !write.created && !matches!(verb, Verb::Create | Verb::DeleteCollection) {
            faults.push(RequestFault::OtherWriter);
        }
        let plan = |fault| Plan(vec![Injection::Request(fault, write.place.clone())]);
        choice.plans.extend(faults.into_iter().map(plan));
    }
}

/// The first reads of each kind, and one in each step.
fn reads(trace: &Trace, choice: &mut Choice) {
    let mut seen = BTreeSet::new();
    for (place, step) in &trace.reads {
        let is_new = seen.insert((&place.operation, step));
        if place.nth > MOST_OF_A_KIND && !is_new {
            choice.repeated += 1;
            continue;
        }
        choice.plans.push(Plan(vec![Injection::Request(RequestFault::Refused, place.clone())]));
    }
}

fn events(trace: &Trace, choice: &mut Choice) {
    for (at, (place, step)) in trace.events.iter().enumerate() {
        let mut add = |fault| choice.plans.push(Plan(vec![Injection::Event(fault, place.clone())]));
        add(EventFault::Lag);
        add(EventFault::LongLag);
        add(EventFault::LagDwell);
        // Only if another event of the object comes soon enough to take its place.
        let same =
            |(other, _): &&(EventPlace, usize)| other.watch == place.watch && other.object == place.object;
        let next = trace.events[at + 1..].iter().find(same);
        if next.is_some_and(|(_, next)| *next <= step + 1) {
            add(EventFault::Unseen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Place;

    #[test]
    fn of_each_family_so_many_are_kept_and_the_others_are_counted() {
        let choice = |most: usize| {
            let step = |fault| move |step| Plan(vec![Injection::Step(fault, step)]);
            let plans = (1..=7).map(step(StepFault::Restart)).chain((0..2).map(step(StepFault::Down)));
            let mut choice = Choice { plans: plans.collect(), ..Choice::default() };
            choice.keep_per_family(most);
            let kept: Vec<_> = choice.plans.iter().map(ToString::to_string).collect();
            assert_eq!(kept.len() + choice.not_chosen, 9, "{kept:?}");
            kept.join(", ")
        };
        assert_eq!(choice(1), "restart after step 4, down after step 1");
        let three = "restart after step 1, restart after step 4, restart after step 6";
        assert_eq!(choice(3), format!("{three}, down after step 0, down after step 1"));
        assert_eq!(choice(7).split(", ").count(), 9);
    }

    #[test]
    fn families_of_the_same_places_keep_different_ones() {
        let faults = [RequestFault::CrashBefore, RequestFault::CrashAfter, RequestFault::Lost];
        let faults = faults.into_iter().chain([RequestFault::Conflict]);
        let place = |nth| {
            let operation =
                Operation { verb: Verb::Apply, resource: "configmaps".to_owned(), name: "a".to_owned() };
            Place { operation, nth }
        };
        let plan = |fault, nth| Plan(vec![Injection::Request(fault, place(nth))]);
        let plans = faults.flat_map(|fault| (1..=3).map(move |nth| plan(fault, nth))).collect();
        let mut choice = Choice { plans, ..Choice::default() };
        choice.keep_per_family(1);
        let kept: Vec<_> = choice.plans.iter().map(ToString::to_string).collect();
        assert_eq!(kept.len(), 4, "{kept:?}");
        for nth in 1..=3 {
            let at = format!("#{nth}");
            assert!(kept.iter().any(|plan| plan.ends_with(&at)), "no fault at {at}: {kept:?}");
        }
    }
}
