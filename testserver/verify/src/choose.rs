//! A plan for each place of the reference.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    edits::Edits,
    family::{Families, Family},
    finding::Finding,
    plan::{
        EventFault, EventPlace, Injection, Operation, Place, Plan, RequestFault, RunFault, StepFault, Verb,
    },
    trace::{Trace, Write},
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
    /// Why there are upgrades of the first steps only.
    pub(crate) old_ended: Option<Finding>,
    /// Fields of which no other value can be derived.
    pub(crate) not_derived: usize,
    /// Extreme values that the limits of the schemas exclude.
    pub(crate) not_allowed: usize,
    /// Resources of children that have no value that is the same in each run.
    pub(crate) not_editable: Vec<String>,
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
            if trace.webhooks_in.contains(&(step + 1)) {
                add(StepFault::WebhookAway);
            }
            add(StepFault::Down);
        }
    }
    choice.plans.push(Plan(vec![Injection::Run(RunFault::SlowGarbageCollection)]));
    if !trace.pods_after.is_empty() {
        choice.plans.push(Plan(vec![Injection::Run(RunFault::SlowWorkloads)]));
    }
    ordered(choice, families)
}

/// Adds plans for what users do.
pub(crate) fn add_edits(edits: Edits, families: &Families, mut choice: Choice) -> Choice {
    choice.plans.extend(edits.plans);
    choice.not_derived = if families.contains(Family::Change) { edits.not_derived } else { 0 };
    choice.not_allowed = if families.contains(Family::Extreme) { edits.not_allowed } else { 0 };
    if families.contains(Family::ChildEdited) {
        choice.not_editable = edits.not_editable;
    }
    ordered(choice, families)
}

/// Plans with a second fault, at the requests that a run made because of the first: those of an operation that comes more often in a step
/// than in the reference, and the writes that follow a crash in its step. At others, the second would show what it shows alone.
pub(crate) fn deepen(
    first: &Plan,
    run: &Trace,
    reference: &Trace,
    steps: usize,
    families: &Families,
) -> Choice {
    if first.upgrades() || first.edit().is_some() {
        // It writes more often because there are two versions, or two values.
        return Choice::default();
    }
    let mut written = more_often(writes_of(run), writes_of(reference));
    written.extend(after_crash(first, run));
    let read = more_often(reads_of(run), reads_of(reference));
    let because = Trace {
        writes: run.writes.iter().filter(|write| written.contains(&write.place)).cloned().collect(),
        reads: run.reads.iter().filter(|(place, _)| read.contains(place)).cloned().collect(),
        ..Trace::default()
    };
    let mut choice = Choice::default();
    writes(&because, steps, &mut choice);
    reads(&because, &mut choice);
    let mut choice = ordered(choice, families);
    for plan in &mut choice.plans {
        plan.0 = first.0.iter().chain(&plan.0).cloned().collect();
    }
    choice
}

/// The effective writes of the process that follows a crash, in the step in which it starts.
fn after_crash<'t>(first: &Plan, run: &'t Trace) -> Vec<&'t Place> {
    let crashed = match &first.0[..] {
        [Injection::Request(RequestFault::CrashBefore | RequestFault::CrashAfter, place)] => (place, 0),
        [Injection::Request(RequestFault::CrashDown, place)] => (place, 1),
        _ => return Vec::new(),
    };
    let (crashed, until_start) = crashed;
    // Itself, or the next one of its kind if it was not done.
    let is_before = |place: &Place| place.operation != crashed.operation || place.nth < crashed.nth;
    let mut later = writes_of(run).skip_while(|(place, _)| is_before(place)).peekable();
    let Some(last_step) = later.peek().map(|(_, step)| step + until_start) else { return Vec::new() };
    later.filter(|(place, step)| *step <= last_step && *place != crashed).map(|(place, _)| place).collect()
}

/// Of each operation in each step, the places beyond the number of the reference.
fn more_often<'t>(
    run: impl Iterator<Item = (&'t Place, usize)>,
    reference: impl Iterator<Item = (&'t Place, usize)>,
) -> BTreeSet<&'t Place> {
    let mut expected: BTreeMap<(&Operation, usize), usize> = BTreeMap::new();
    for (place, step) in reference {
        *expected.entry((&place.operation, step)).or_default() += 1;
    }
    let mut more = BTreeSet::new();
    for (place, step) in run {
        match expected.get_mut(&(&place.operation, step)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => drop(more.insert(place)),
        }
    }
    more
}

/// The places of effective writes, with their steps.
fn writes_of(trace: &Trace) -> impl Iterator<Item = (&Place, usize)> {
    trace.writes.iter().filter(|write| write.effective).map(|write| (&write.place, write.step))
}

fn reads_of(trace: &Trace) -> impl Iterator<Item = (&Place, usize)> {
    trace.reads.iter().map(|(place, step)| (place, *step))
}

/// Only those of the families. What is likely comes first.
fn ordered(mut choice: Choice, families: &Families) -> Choice {
    choice.plans.retain(|plan| plan.families().iter().all(|family| families.contains(*family)));
    let rank = |plan: &Plan| {
        let family = plan.families().first().copied();
        family.map(|family| (family.likelihood(), family.position()))
    };
    choice.plans.sort_by_key(rank);
    choice
}

/// Upgrades after the writes of the old version, and between so many steps; the most likely fault of all.
pub(crate) fn add_upgrades(old: &Trace, steps: usize, choice: &mut Choice) {
    let after = |write: &Write| Plan(vec![Injection::Request(RequestFault::Upgrade, write.place.clone())]);
    let mut upgrades: Vec<_> = first_of_each(old.effective(), choice).map(after).collect();
    upgrades.extend((0..steps).map(|step| Plan(vec![Injection::Step(StepFault::Upgrade, step)])));
    choice.plans.splice(0..0, upgrades);
}

/// The first writes of each operation. The others are counted.
fn first_of_each<'t>(
    writes: impl Iterator<Item = &'t Write>,
    choice: &mut Choice,
) -> impl Iterator<Item = &'t Write> {
    let mut seen: BTreeMap<&Operation, usize> = BTreeMap::new();
    writes.filter(move |write| {
        let count = seen.entry(&write.place.operation).or_default();
        *count += 1;
        let is_first = *count <= MOST_OF_A_KIND;
        choice.repeated += usize::from(!is_first);
        is_first
    })
}

fn writes(trace: &Trace, steps: usize, choice: &mut Choice) {
    choice.without_effect = trace.writes.iter().filter(|write| !write.effective).count();
    let effective = trace.writes.iter().filter(|write| write.effective);
    let mut plans = Vec::new();
    for write in first_of_each(effective, choice) {
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
        plans.extend(faults.into_iter().map(plan));
    }
    choice.plans.extend(plans);
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
    use crate::state::ObjectName;

    fn place(verb: Verb, resource: &str, nth: usize) -> Place {
        Place { operation: Operation { verb, resource: resource.into(), name: "a".into() }, nth }
    }

    fn write(place: Place, step: usize, effective: bool) -> Write {
        let object = ObjectName {
            resource: place.operation.resource.clone(),
            namespace: "default".into(),
            name: place.operation.name.clone(),
        };
        Write {
            place,
            object,
            effective,
            guarded: false,
            created: true,
            orphan: false,
            step,
            answer: std::sync::Arc::default(),
        }
    }

    fn second_faults(run: &Trace, reference: &Trace, families: &Families) -> Vec<String> {
        let first: Plan = "lost answer of create secrets a #1".parse().unwrap();
        let choice = deepen(&first, run, reference, 2, families);
        let texts = choice.plans.iter().map(ToString::to_string);
        let begin = format!("{first}, then ");
        texts.map(|text| text.strip_prefix(&begin).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_second_fault_comes_at_writes_that_follow_a_crash() {
        let run = Trace {
            writes: vec![
                write(place(Verb::Create, "pods", 1), 1, true),
                write(place(Verb::Create, "secrets", 1), 1, true),
                write(place(Verb::Update, "pages", 2), 1, true),
                write(place(Verb::Update, "pages", 3), 2, true),
            ],
            ..Trace::default()
        };
        let refused = Families::from([Family::Refused]);
        let second = |first: &str| {
            let first: Plan = first.parse().unwrap();
            let choice = deepen(&first, &run, &run, 2, &refused);
            choice.plans.iter().map(|plan| plan.0[1].to_string()).collect::<Vec<_>>()
        };
        let (page, next) = ("500 for update pages a #2", "500 for update pages a #3");
        assert_eq!(second("crash after create secrets a #1"), [page]);
        assert_eq!(second("crash before update pages a #1"), [page], "done by the next process");
        assert_eq!(second("crash and stay down after create secrets a #1"), [page, next]);
        for nothing in [
            "crash after update pages a #2",
            "lost answer of create secrets a #1",
            "crash after delete pods a #1",
        ] {
            assert_eq!(second(nothing), Vec::<String>::new(), "{nothing}");
        }
    }

    #[test]
    fn no_second_fault_comes_beside_an_upgrade() {
        let writes = [1, 2, 3].map(|nth| write(place(Verb::Update, "pages", nth), 1, true)).to_vec();
        let (run, reference) = (Trace { writes, ..Trace::default() }, Trace::default());
        let second = |first: &str| {
            let first: Plan = first.parse().unwrap();
            deepen(&first, &run, &reference, 2, &Family::all()).plans.len()
        };
        assert!(second("restart after step 1") > 0);
        assert_eq!(second("upgrade right after update pages a #1"), 0);
        assert_eq!(second("upgrade after step 1"), 0);
    }

    #[test]
    fn repeated_writes_are_counted_and_are_no_places() {
        let writes = [1, 2, 3, 4, 5].map(|nth| write(place(Verb::Update, "pages", nth), 1, true)).to_vec();
        let trace = Trace { writes, ..Trace::default() };
        let mut choice = Choice::default();
        add_upgrades(&trace, 1, &mut choice);
        assert_eq!((choice.plans.len(), choice.repeated), (4, 2), "three writes and a step");
        writes_only(&trace, &mut choice);
        assert_eq!(choice.repeated, 4);
    }

    fn writes_only(trace: &Trace, choice: &mut Choice) {
        super::writes(trace, 0, choice);
    }

    #[test]
    fn a_second_fault_comes_where_the_first_has_caused_a_request() {
        let reference = Trace {
            writes: vec![
                write(place(Verb::Create, "secrets", 1), 1, true),
                write(place(Verb::Update, "pages", 1), 1, true),
                write(place(Verb::Update, "pages", 2), 2, true),
            ],
            reads: vec![(place(Verb::Get, "secrets", 1), 1), (place(Verb::Get, "secrets", 2), 2)],
            ..Trace::default()
        };
        assert_eq!(second_faults(&reference, &reference, &Family::all()), Vec::<String>::new());
        // It looks again, and replaces what it made. All later requests have other numbers, and are the same.
        let mut run = reference.clone();
        run.writes.insert(1, write(place(Verb::Update, "secrets", 1), 1, true));
        run.writes.insert(1, write(place(Verb::Create, "secrets", 2), 1, false));
        run.reads = vec![
            (place(Verb::Get, "secrets", 1), 1),
            (place(Verb::Get, "secrets", 2), 1),
            (place(Verb::Get, "secrets", 3), 2),
        ];
        let some = Families::from([Family::FailedRead, Family::Lost, Family::CrashBefore]);
        let expected = [
            "crash before update secrets a #1",
            "lost answer of update secrets a #1",
            "500 for get secrets a #2",
        ];
        assert_eq!(second_faults(&run, &reference, &some), expected);
        assert_eq!(second_faults(&run, &reference, &Families::from([Family::Restart])), Vec::<String>::new());
    }

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
