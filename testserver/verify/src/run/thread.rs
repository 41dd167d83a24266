//! The thread of a run: its runtime with paused time, its random numbers, its panics.

use std::collections::BTreeSet;

use kube_core::reconcile::observe_thread;

use super::course::Run;
use crate::{
    finding::{Finding, Oracle},
    outcome::{Known, Outcome, Reference},
    panics::{self, Panic, TestFailure},
    plan::Plan,
    scenario::Scenario,
    watchdog::{self, Watchdog},
};

/// One run, on a thread of its own runtime with paused time. The error is a panic of the test: what it would have judged is not known.
pub(crate) fn run(
    scenario: &Scenario,
    plan: &Plan,
    seed: u32,
    known: &Known,
    reference: Option<&Reference>,
) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime needs an event queue of the operating system");
    panics::collect();
    let text = plan.to_string();
    let watchdog = Watchdog::start(watchdog::PATIENCE, move || watchdog::end_process(&text));
    runtime.spawn(watchdog.beat());
    let failure = TestFailure::default();
    let begun = Run::begin(scenario, plan, seed, known, reference, failure.clone());
    let (observer, random) = (observe_thread(None), fastrand::u64(..));
    // The jitter of back-offs is that of the seed, and later random again.
    fastrand::seed(u64::from(seed));
    let mut outcome = runtime.block_on(begun);
    fastrand::seed(random);
    drop(observe_thread(observer));
    runtime.shutdown_background();
    // Each once: an operator that always panics is started again every second.
    let panics = told(scenario, &outcome, panics::take());
    // What the operator has left with its panic, such as a poisoned lock, is its own fault.
    let is_error = outcome.is_old || panics.is_empty() || !failure.follows_panic();
    let failure = failure.text().map(|failure| outcome.hidden.text(&failure));
    if let Some(failure) = failure.as_ref().filter(|_| is_error) {
        return Err(format!("in the run with the plan `{plan}`, {failure}"));
    }
    let then = failure.map(|failure| format!("; then {failure}")).unwrap_or_default();
    let told = |panic| Finding::new(Oracle::Panic, format!("{panic}{then}"));
    outcome.findings.extend(panics.into_iter().map(told));
    if let Some(how) = outcome.trace.ended.as_ref().filter(|_| plan.0.is_empty()) {
        let what = format!("the operator ended without a fault: {}", outcome.hidden.text(how));
        outcome.findings.push(Finding::new(Oracle::Ended, what));
    }
    if outcome.is_old {
        // The plan never came to the version that is tried. That the workload failed is why.
        outcome.findings.retain(|finding| finding.oracle() == Oracle::Workload);
    }
    outcome.findings.retain(|finding| !scenario.allows.allow(&finding.what));
    Ok(outcome)
}

/// The texts of panics.
fn told(scenario: &Scenario, outcome: &Outcome, panics: Vec<Panic>) -> BTreeSet<String> {
    let text = |panic: &Panic| outcome.hidden.text(&panic.text);
    let (doubtful, certain): (Vec<_>, Vec<_>) = panics.iter().partition(|panic| panic.is_perhaps_of_dead);
    let mut texts: BTreeSet<String> = certain.into_iter().map(text).collect();
    for text in doubtful.into_iter().map(text) {
        if !texts.contains(&text) && !scenario.allows.allow(&text) {
            texts.insert(format!("{text} (perhaps of a process that had ended)"));
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{ApiService, Verify};

    #[test]
    fn jitter_is_that_of_the_seed_of_a_run() {
        let drawn = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let draws = drawn.clone();
        let draws = move |_: ApiService| {
            draws.lock().push(fastrand::u64(..));
            std::future::pending::<()>()
        };
        let verify = Verify::new(move |_| draws.clone()).step("nothing", |step| step);
        drop(verify.families([crate::Family::Down]).report());
        let drawn = drawn.lock();
        // Two runs of the first seed, with one of another between them.
        assert!(drawn[0] == drawn[2] && drawn[0] != drawn[1], "{drawn:?}");
    }
}
