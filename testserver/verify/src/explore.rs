//! Goes through all plans.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Instant,
};

use kube_testserver::ApiServer;

use crate::{
    choose::{Choice, add_edits, add_upgrades, choose, deepen},
    edits::{edits, instead_of},
    family::{Families, Family},
    finding::{Finding, Oracle},
    interrupt::end_on_signals,
    learn::{Learned, learn},
    options::Options,
    outcome::{Edited, Outcome},
    plan::{Plan, RunFault},
    report::{Failure, Report, count},
    run::{run, slow_controllers},
    scenario::Scenario,
    trace::Line,
};

/// The plans of an operator, in the order in which they are tried. The error is of the test.
pub(crate) fn plans(
    scenario: &Scenario,
    families: &Families,
    options: &Options,
) -> Result<(Learned, Choice), String> {
    // Who asks for the plans or for one of them wants no judgement of the hour.
    let mut learned = learn(scenario, !options.list && options.plan.is_none())?;
    let families = options.families.as_ref().unwrap_or(families);
    let mut choice = choose(&learned.reference.trace, scenario.steps.len(), families);
    let has_workloads = !slow_controllers(&(scenario.cluster)(ApiServer::builder())).is_empty();
    if !has_workloads {
        // Nothing would differ from the reference.
        choice.plans.retain(|plan| !plan.has(RunFault::SlowWorkloads));
    }
    let edits = edits(&learned.reference, &learned.definitions, &learned.known, has_workloads);
    choice = add_edits(edits, families, choice);
    let upgrades = scenario.old_operator.is_some() && families.contains(Family::Upgrade);
    if upgrades && learned.complete && options.plan.is_none() {
        let old = run(scenario, &Plan::old_version(), 1, &learned.known, None)?;
        add_upgrades(&old.trace, old.steps.len(), &mut choice);
        choice.old_ended = old_ended(scenario, &old);
    }
    if let Some(most) = scenario.per_family.filter(|_| !options.all) {
        choice.keep_per_family(most);
    }
    if let Some(plan) = &options.plan {
        (choice.plans, choice.not_chosen) = (vec![plan.clone()], 0);
    }
    choice.planned = choice.plans.len();
    learned.known.still_for_an_hour = still_for_an_hour(&choice.plans, scenario, options);
    if let Some((part, of)) = options.shard {
        let mine = choice.plans.into_iter().enumerate().filter(|(at, _)| at % of == part - 1);
        choice.plans = mine.map(|(_, plan)| plan).collect();
    }
    Ok((learned, choice))
}

/// The plans at whose end nothing may happen for an hour: the last of each family where all are tried, and one that is asked for.
fn still_for_an_hour(plans: &[Plan], scenario: &Scenario, options: &Options) -> BTreeSet<Plan> {
    if scenario.per_family.is_some() && !options.all && options.plan.is_none() {
        return BTreeSet::new();
    }
    let last: BTreeMap<_, _> = plans.iter().map(|plan| (plan.families(), plan)).collect();
    last.into_values().cloned().collect()
}

/// `None` if no plan is tried, as after a run without faults that has ended too early.
fn begin_of_plans(planned: usize, complete: bool) -> Option<String> {
    let each = if planned == 1 { " with a fault" } else { ", each with a fault" };
    (complete && planned > 0).then(|| format!("then {}{each}", count(planned, "plan")))
}

/// What is wrong if the old version does not come to the last step: upgrades after it would show nothing.
fn old_ended(scenario: &Scenario, old: &Outcome) -> Option<Finding> {
    let why = old.findings.iter().find(|finding| finding.oracle() == Oracle::Workload);
    let why = why.filter(|_| old.steps.len() <= scenario.steps.len())?;
    let what = format!("the old version cannot go on: {}; no upgrade after it is tried", why.what);
    (!scenario.allows.allow(&what)).then(|| Finding::new(Oracle::Workload, what))
}

/// How much of a run without faults that ended too early is shown.
const ENDED_WITH: usize = 16;

/// Tries all plans.
pub(crate) fn explore(scenario: &Scenario, families: &Families, options: &Options) -> Report {
    let begun = Instant::now();
    end_on_signals();
    options.show_begin("some runs without faults first");
    let (learned, choice) = match plans(scenario, families, options) {
        Ok(both) => both,
        Err(error) => return Report { broken: vec![error], time: begun.elapsed(), ..Report::default() },
    };
    if let Some(text) = begin_of_plans(choice.planned, learned.complete) {
        options.show_begin(&text);
    }
    let mut report = Report {
        reference: learned.findings.clone(),
        not_chosen: choice.not_chosen,
        repeated: choice.repeated,
        without_effect: choice.without_effect,
        not_derived: choice.not_derived,
        not_allowed: choice.not_allowed,
        unrepeatable: learned.unrepeatable.clone(),
        uncovered: uncovered(&learned),
        ..Report::default()
    };
    report.uncovered.extend(choice.not_editable.iter().map(|resource| not_editable(resource)));
    report.reference.extend(choice.old_ended);
    // What is allowed must not hide that nothing is tried.
    if !learned.complete {
        let lines = &learned.reference.trace.lines;
        report.ended_with = lines[lines.len().saturating_sub(ENDED_WITH)..].to_vec();
        let steps = learned.reference.steps.len();
        let what = format!("the run without faults ended in step {steps}, so that no fault is tried");
        report.reference.push(Finding::new(Oracle::Workload, what));
    } else if choice.planned == 0 {
        let what = "no fault can be tried: these families have no place in this workload";
        report.reference.push(Finding::new(Oracle::Workload, what));
    }
    if learned.complete {
        let families = options.families.as_ref().unwrap_or(families);
        try_all(scenario, &learned, choice.plans, families, options, begun, &mut report);
    }
    let chosen = options.plan.is_some() || options.families.is_some();
    if learned.complete && !chosen && report.is_undisturbed() {
        report.unused_allows = scenario.allows.unused();
        report.is_whole = options.shard.is_none();
    }
    report.reference.sort_by_key(importance);
    report.time = begun.elapsed();
    report
}

/// Tries the plans, and at a depth of two then those with a second fault, within the budget. An error of the test ends that, and what was
/// found until then stays.
fn try_all(
    scenario: &Scenario,
    learned: &Learned,
    plans: Vec<Plan>,
    families: &Families,
    options: &Options,
    begun: Instant,
    report: &mut Report,
) {
    let reference = &learned.reference.trace;
    let mut plans = VecDeque::from(plans);
    while let Some(plan) = plans.pop_front() {
        // At least one: what has tried nothing has found nothing.
        if report.tried > 0 && options.budget.is_some_and(|budget| begun.elapsed() > budget) {
            report.left_out = plans.len() + 1;
            break;
        }
        options.note_plan(&plan);
        let outcome = match try_plan(scenario, learned, &plan) {
            Ok(outcome) => outcome,
            Err(error) => {
                report.broken.push(format!("{error}\nnot tried after it: {}", count(plans.len(), "plan")));
                break;
            }
        };
        report.tried += 1;
        options.show_progress(report.tried, report.tried + plans.len(), report.failures.len());
        let has_come = outcome.fired >= plan.0.len();
        if !has_come {
            report.unreached.push(plan.clone());
        }
        let overwritten = plan.overwritten().filter(|_| options.plan.is_none());
        if let (Some(resource), Some(Edited::Refused)) = (overwritten, outcome.edited) {
            match instead_of(&plan, &learned.reference, &learned.known) {
                Some(other) => plans.push_front(other),
                None => report.uncovered.push(not_editable(resource)),
            }
            continue;
        }
        report.note_edit(&plan, outcome.edited);
        if outcome.findings.is_empty() {
            // An operator that one fault breaks is mended first.
            if options.is_deep && options.plan.is_none() && plan.0.len() == 1 && has_come {
                let second = deepen(&plan, &outcome.trace, reference, scenario.steps.len(), families);
                report.repeated += second.repeated;
                plans.extend(second.plans);
            }
            continue;
        }
        let again = try_plan(scenario, learned, &plan);
        let repeats = again.is_ok_and(|again| again.findings == outcome.findings);
        let differs_at = first_difference(&outcome.trace.lines, &reference.lines);
        let lines = outcome.trace.lines;
        options.show_found(&outcome.findings[0], &plan);
        report.failures.push(Failure { plan, findings: outcome.findings, repeats, lines, differs_at });
    }
}

/// One run with this plan; without what the reference complains about as well.
fn try_plan(scenario: &Scenario, learned: &Learned, plan: &Plan) -> Result<Outcome, String> {
    let mut outcome = run(scenario, plan, 1, &learned.known, Some(&learned.reference))?;
    let known = |oracle: Oracle| learned.findings.iter().any(|finding| finding.oracle() == oracle);
    outcome.findings.retain(|finding| match finding.oracle() {
        Oracle::FixedPoint | Oracle::Panic => !known(finding.oracle()),
        _ => !learned.findings.contains(finding),
    });
    outcome.findings.sort_by_key(importance);
    outcome.findings.dedup();
    Ok(outcome)
}

/// What says most about the cause comes first.
fn importance(finding: &Finding) -> (usize, Finding) {
    const ORDER: [Oracle; 16] = [
        Oracle::Panic,
        Oracle::Ended,
        Oracle::Forbidden,
        Oracle::Workload,
        Oracle::Invariant,
        Oracle::TwoLeaders,
        Oracle::LostUpdate,
        Oracle::Regenerated,
        Oracle::Stuck,
        Oracle::LeftOver,
        Oracle::External,
        Oracle::EndState,
        Oracle::Counts,
        Oracle::Restart,
        Oracle::FixedPoint,
        Oracle::StaleStatus,
    ];
    (ORDER.iter().position(|oracle| *oracle == finding.oracle()).unwrap_or(ORDER.len()), finding.clone())
}

/// The first line after the fault at which the run does something else than the reference.
fn first_difference(lines: &[Line], reference: &[Line]) -> Option<usize> {
    let mut expected = reference.iter().filter(|line| line.comparable);
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.comparable) {
        if expected.next().is_none_or(|expected| expected.text != line.text) {
            return Some(at);
        }
    }
    None
}

/// That users cannot change any value of a child.
fn not_editable(resource: &str) -> String {
    format!("no value of {resource} can be edited")
}

/// What the workload never causes, so that no plan can try it.
fn uncovered(learned: &Learned) -> Vec<String> {
    let trace = &learned.reference.trace;
    let mut uncovered = Vec::new();
    let watched = trace.events.iter().map(|(place, _)| place.watch.clone()).collect::<BTreeSet<_>>();
    for watch in watched {
        let deleted = trace.events.iter().any(|(place, _)| place.watch == watch && place.kind == "deleted");
        if !deleted {
            uncovered.push(format!("no object of the watch of {watch} is ever deleted"));
        }
    }
    for webhook in &trace.webhooks_never_called {
        // Its configuration is not in the fixtures, or has another service or port.
        uncovered.push(format!("no webhook at the service {webhook} is ever called"));
    }
    uncovered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plans_that_are_tried_are_announced() {
        let begin = |planned, complete| begin_of_plans(planned, complete);
        assert_eq!(begin(2, true).unwrap(), "then 2 plans, each with a fault");
        assert_eq!(begin(1, true).unwrap(), "then 1 plan with a fault");
        assert_eq!((begin(0, true), begin(3, false)), (None, None));
    }
}
