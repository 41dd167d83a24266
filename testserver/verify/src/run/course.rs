//! The course of a run: its steps, and what is judged after each.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    cluster,
    times::{QUIET, SLOW},
};
use crate::{
    finding::{Finding, Oracle},
    gate::Session,
    kinds::Kinds,
    operator::{Versions, World, supervise},
    oracle,
    outcome::{Known, Outcome, Reached, Reference},
    panics::{self, TestFailure},
    plan::{EventFault, Injection, Plan},
    scenario::Scenario,
    state::{Difference, Hidden, Normal, compare, normalize, paths},
    trace::Trace,
};

/// How long the operator may take until the state is the one of the reference.
pub(super) const PATIENCE: Duration = Duration::from_secs(1800);
/// What slow controllers of the cluster need: each looks at a change when its time is over, one after the other. A Deployment has its pods
/// after the third, and their number in its status after the fifth.
const PATIENCE_WITH_SLOW: Duration = SLOW.saturating_mul(8);
/// How often somebody looks whether the operator is quiet.
const LOOK: Duration = Duration::from_secs(15);
/// The shortest time that is waited.
const MOMENT: Duration = Duration::from_millis(100);
/// How often the state is looked at.
pub(super) const POLL: Duration = Duration::from_secs(20);
/// How long nothing may happen at the end of a run.
const STILL: Duration = Duration::from_secs(300);
/// The same in the reference, and in some plans.
const HOUR: Duration = Duration::from_secs(3600);
/// A run with more effective writes in a step is in a loop.
pub(super) const MOST_WRITES: usize = 1000;

/// How the steps have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// In a finding.
    Wrong,
    /// After an edit of a user, with which a run ends.
    Edited,
    /// After the last step.
    Reached,
}

pub(super) struct Run<'r> {
    pub(super) scenario: &'r Scenario,
    pub(super) plan: &'r Plan,
    pub(super) known: &'r Known,
    pub(super) reference: Option<&'r Reference>,
    pub(super) session: Arc<Session>,
    pub(super) world: Arc<World>,
    pub(super) hidden: Hidden,
    /// The version of the server after each step.
    pub(super) versions: Vec<u64>,
    /// The time of the server when the run began.
    pub(super) begun_at: jiff::Timestamp,
    /// The pod that was evicted: whoever made it makes it once more.
    pub(super) evicted: Option<String>,
    pub(super) outcome: Outcome,
}

impl<'r> Run<'r> {
    pub(super) async fn begin(
        scenario: &'r Scenario,
        plan: &'r Plan,
        seed: u32,
        known: &'r Known,
        reference: Option<&'r Reference>,
        failure: TestFailure,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let (server, begun_at) = match cluster::server(scenario, plan, seed, &failure) {
            Ok(server) => server,
            Err(error) => {
                outcome.findings.push(Finding::new(Oracle::Workload, error));
                return outcome;
            }
        };
        let kinds = match &known.kinds {
            Some(kinds) => kinds.clone(),
            None => Kinds::discover(&server).await,
        };
        let world = Arc::new(World::new(Some(server.clone()), failure.clone()));
        let names = known.names.clone();
        let session = Session::new(server, names, kinds, plan, scenario.invariants.clone(), failure.clone());
        session.trace(|trace| trace.resources = known.resources.clone());
        scenario.account.iter().for_each(|account| session.begin_account(account.clone()));
        let Some(versions) = failure.catch(
            || "the function that makes the operator".to_owned(),
            || {
                let old = scenario.old_operator.as_ref().filter(|_| plan.upgrades()).map(|old| old(&world));
                Versions { old, new: (scenario.operator)(&world) }
            },
        ) else {
            return outcome;
        };
        let supervisor = tokio::spawn(supervise(session.clone(), versions, world.clone()));
        let (hidden, versions, evicted) = (known.hidden.clone(), Vec::new(), None);
        let mut run = Self {
            scenario,
            plan,
            known,
            reference,
            session,
            world,
            hidden,
            versions,
            begun_at,
            evicted,
            outcome,
        };
        // The operator starts before anything happens.
        sleep(Duration::from_secs(5)).await;
        if run.steps().await == End::Reached {
            run.stay_still().await;
        }
        supervisor.abort();
        run.judge_whole();
        run.outcome
    }

    /// All steps, also if the run goes on as the reference does: what the fault has begun may show later.
    async fn steps(&mut self) -> End {
        for at in 0..=self.scenario.steps.len() {
            self.session.set_step(at);
            if let Some((name, step)) = at.checked_sub(1).and_then(|at| self.scenario.steps.get(at)) {
                self.session.log_comparable(format!("--- step {at}: {name}"));
                let which = || format!("the step {name:?}");
                let webhooks = self.world.webhooks();
                let performing = step.perform(&self.session, &webhooks);
                let performed = self.session.failure.catch_future(which, performing).await;
                if let Some(Err(error)) = performed {
                    let what = format!("step {at}, {name}: {error}");
                    self.outcome.findings.push(Finding::new(Oracle::Workload, what));
                    return End::Wrong;
                }
                if self.session.held.send_replace(false) {
                    self.session.log("the operator starts again");
                }
            }
            if !self.settle(at).await || !self.reach(at).await {
                return End::Wrong;
            }
            self.versions.push(self.session.server.resource_version());
            self.note_webhooks(at);
            if let Some(edit) = self.plan.edit().filter(|edit| edit.step == at) {
                return self.edit(edit, at).await;
            }
            if let Some(fault) = self.plan.after_step(at)
                && !self.inject(fault, at).await
            {
                return End::Wrong;
            }
        }
        End::Reached
    }

    /// Waits until the operator has nothing to do.
    pub(super) async fn settle(&mut self, at: usize) -> bool {
        let (mut begun, mut before) = (Instant::now(), self.effective());
        let mut is_judged = self.session.is_judged();
        loop {
            self.pass_until_quiet(begun).await;
            if self.session.failure.has_come() {
                return false;
            }
            if self.session.is_judged() != is_judged {
                // An upgrade: the new version has the whole time.
                (begun, before, is_judged) = (Instant::now(), self.effective(), true);
            }
            if self.session.is_in_loop() {
                return !is_judged;
            }
            if begun.elapsed() >= QUIET && self.session.quiet_for() >= QUIET {
                break;
            }
            let writes = self.effective() - before;
            if begun.elapsed() > PATIENCE || writes > MOST_WRITES {
                if !is_judged {
                    break;
                }
                let last = self.last_write();
                let what = format!(
                    "step {at} never settles: {writes} writes in {} s, the last {last}",
                    begun.elapsed().as_secs()
                );
                self.outcome.findings.push(Finding::new(Oracle::FixedPoint, what));
                return false;
            }
        }
        // The next step comes when the watch is up to date.
        let dwells = self
            .plan
            .0
            .iter()
            .any(|injection| matches!(injection, Injection::Event(EventFault::LagDwell, _)));
        if dwells && self.session.pass_lag().await {
            self.pass(QUIET).await;
        }
        true
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.session.pass(time).await;
    }

    /// Lets time pass until the operator may have been quiet for long enough since then, at most some seconds.
    pub(super) async fn pass_until_quiet(&self, since: Instant) {
        let quiet = since.elapsed().min(self.session.quiet_for());
        self.session.pass_unless_busy(QUIET.saturating_sub(quiet).clamp(MOMENT, LOOK)).await;
    }

    /// Waits until the state is the one of the reference.
    pub(super) async fn reach(&mut self, at: usize) -> bool {
        let begun = Instant::now();
        let is_last = at == self.scenario.steps.len();
        if !self.session.is_judged() {
            // The old version may lead to another state.
            let reached = self.look();
            self.outcome.steps.push(reached);
            return true;
        }
        loop {
            let reached = self.look();
            let Some(reference) = self.reference else {
                self.outcome.steps.push(reached);
                return true;
            };
            let differences = self.differences(at, reference, &reached);
            // An operator that is down, or cannot see what happened, is judged after the next step.
            let excused = *self.session.held.borrow() || (self.session.lag_until().is_some() && !is_last);
            let patience = if self.plan.is_slow() { PATIENCE_WITH_SLOW } else { PATIENCE };
            let waited = begun.elapsed() > patience;
            if differences.is_empty() || excused || waited {
                let finding = oracle::of_differences(at, &differences).filter(|_| waited && !excused);
                let lost = self.session.lost_update(at);
                self.outcome.steps.push(reached);
                let is_wrong = finding.is_some() || lost.is_some();
                self.outcome.findings.extend(finding.into_iter().chain(lost));
                return !is_wrong;
            }
            self.pass(POLL).await;
        }
    }

    fn look(&mut self) -> Reached {
        let state = self.session.state();
        self.session.note_pods();
        self.hidden.learn(&state);
        let normal = normalize(&state, &self.known.names);
        Reached { normal, external: self.world.state(), state }
    }

    fn differences(&self, at: usize, reference: &Reference, reached: &Reached) -> Vec<Difference> {
        let differences = |at: usize, normal: &Normal, external: &Value| {
            let expected = reference.steps.get(at);
            expected
                .map_or_else(Vec::new, |expected| self.all_differences(expected, reference, normal, external))
        };
        let mut differing = differences(at, &reached.normal, &reached.external);
        if let Some(upgrade) = self.session.trace(|trace| trace.upgrade.clone()).filter(|was| was.all_gone) {
            // The new version cannot know what the old one has left when nothing was wanted any more.
            let left = normalize(&upgrade.state, &self.known.names);
            let left = differences(upgrade.step, &left, &upgrade.external);
            differing.retain(|difference| !left.contains(difference));
        }
        differing.retain(|difference| !self.scenario.allows.allow(&difference.to_string()));
        differing
    }

    /// What differs from a state of the reference, whether or not that is excused.
    pub(super) fn all_differences(
        &self,
        expected: &Reached,
        reference: &Reference,
        normal: &Normal,
        external: &Value,
    ) -> Vec<Difference> {
        let mut differences = compare(&expected.normal, normal, &reference.masks, &self.hidden);
        if self.plan.may_miss_a_step() {
            // The operator may never have seen the object whose child the reference leaves over.
            differences.retain(|difference| match difference {
                Difference::Missing(object) => !reference.left.contains(object),
                _ => true,
            });
        }
        paths("", &expected.external, external, &mut |path, expected, value| {
            let show = |value| self.hidden.value("external", path, value);
            let how = format!("{} instead of {}", show(value), show(expected));
            differences
                .push(Difference::Value { at: format!("external {}", path.trim_start_matches('.')), how });
        });
        differences
    }

    /// Nothing may happen any more.
    async fn stay_still(&mut self) {
        if self.session.pass_lag().await {
            self.pass(QUIET).await;
        }
        if self.plan.is_slow() {
            self.pass(SLOW).await;
        }
        let for_an_hour = match self.reference {
            Some(_) => self.known.still_for_an_hour.contains(self.plan),
            // The old version has places where it has them in the runs with an upgrade.
            None => !self.plan.upgrades() && self.known.stays_still_for_an_hour,
        };
        let last = self.scenario.steps.len();
        let before = loop {
            // An hour of its own for the requests, too.
            self.session.set_step(last);
            let (before, is_judged) = (self.effective(), self.session.is_judged());
            self.pass(if for_an_hour { HOUR } else { STILL }).await;
            if self.session.is_judged() == is_judged {
                break before;
            }
            // An upgrade: the new version begins to be judged, and has its own still time.
            self.outcome.steps.pop();
            if !self.settle(last).await || !self.reach(last).await {
                return;
            }
        };
        let writes = self.writes_since(before);
        if !writes.is_empty() {
            let what = format!(
                "{} writes without a cause at the end: {}",
                self.effective() - before,
                writes.join(", ")
            );
            self.outcome.findings.push(Finding::new(Oracle::FixedPoint, what));
        }
    }

    /// What the whole run has shown, beside the states.
    fn judge_whole(&mut self) {
        self.note_all_webhooks(self.versions.len());
        if self.session.failure.has_come() {
            // Its text may have values that no look has seen.
            self.hidden.learn(&self.session.whole_state());
        }
        self.outcome.is_old = !self.session.is_judged();
        self.judge_trace();
        self.hide();
    }

    /// Removes values of Secrets from all that is told.
    fn hide(&mut self) {
        let Outcome { trace, findings, .. } = &mut self.outcome;
        let secrets = trace.writes.iter().filter(|write| write.object.resource == "secrets");
        secrets.for_each(|write| self.hidden.learn_secret(&write.answer));
        trace.lines.iter_mut().for_each(|line| line.text = self.hidden.text(&line.text));
        findings.iter_mut().for_each(|finding| finding.what = self.hidden.text(&finding.what));
        self.outcome.hidden = self.hidden.clone();
    }

    fn judge_trace(&mut self) {
        self.outcome.kinds = Some(self.session.kinds.clone());
        self.outcome.findings.extend(self.session.broken());
        self.outcome.fired = self.session.fired().len()
            + self.plan.0.iter().filter(|i| matches!(i, Injection::Run(_))).count();
        panics::take_excused().into_iter().for_each(|(when, text)| self.session.log_past(when, text));
        self.outcome.trace = self.session.take_trace();
        self.outcome.time = self.session.elapsed();
        let Some(reference) = self.reference else {
            self.outcome.definitions = self.session.definitions();
            return;
        };
        // For another value something else may be made, and again for the first.
        if self.plan.families().iter().any(|family| family.edits_values()) {
            return;
        }
        let names = &self.known.names;
        let trace = &self.outcome.trace;
        let counts = oracle::counts(trace.effective_of_judged(), names);
        let mut expected =
            oracle::Expected::of(reference, self.evicted.as_deref(), self.plan.late_object().as_deref());
        if let Some(upgrade) = &trace.upgrade {
            let until = reference.trace.effective().filter(|write| write.step <= upgrade.step);
            let old = oracle::left_by_old(trace, &upgrade.state, names);
            expected.after_upgrade(&oracle::counts(until, names), &old, &counts);
        }
        let findings = oracle::more_often(&counts, &expected.counts, self.plan.may_miss_a_step());
        self.outcome.findings.extend(findings);
        let values = oracle::distinct(&self.outcome.trace, &reference.masks, names);
        self.outcome.findings.extend(oracle::regenerated(&values, &expected.values));
    }

    pub(super) fn effective(&self) -> usize {
        self.session.trace(|trace| trace.effective().count())
    }

    pub(super) fn writes_since(&self, before: usize) -> Vec<String> {
        let written = |trace: &mut Trace| -> Vec<String> {
            trace.effective().skip(before).take(4).map(|write| write.place.operation.to_string()).collect()
        };
        self.session.trace(written)
    }

    pub(super) fn last_write(&self) -> String {
        let last =
            |trace: &mut Trace| trace.effective().next_back().map(|write| write.place.operation.to_string());
        self.session.trace(last).unwrap_or_default()
    }
}
