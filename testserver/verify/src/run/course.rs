//! One run of the operator with a plan.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use kube_testserver::{ApiServer, Builder, BuiltInController};
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    finding::{Finding, Oracle},
    gate::{Session, call, take_leases},
    kinds::Kinds,
    operator::{Versions, World, supervise},
    oracle,
    outcome::{Known, Outcome, Reached, Reference},
    panics,
    plan::{EventFault, Injection, Plan, RunFault, StepFault},
    scenario::Scenario,
    state::{Difference, Hidden, ObjectName, compare, normalize, paths},
    trace::Trace,
    watchdog::{self, Watchdog},
};

/// Nothing is to do any more when the operator has not changed the state for this long.
const QUIET: Duration = Duration::from_secs(90);
/// How long the operator may take until the state is the one of the reference.
const PATIENCE: Duration = Duration::from_secs(1800);
/// What slow controllers of the cluster need: each looks at a change when its time is over, one after the other. A Deployment has its pods
/// after the third, and their number in its status after the fifth.
const PATIENCE_WITH_SLOW: Duration = SLOW.saturating_mul(8);
/// How often the state is looked at.
const POLL: Duration = Duration::from_secs(20);
/// How long nothing may happen at the end of a run.
const STILL: Duration = Duration::from_secs(300);
/// The same in the reference.
const HOUR: Duration = Duration::from_secs(3600);
/// A run with more effective writes in a step is in a loop.
const MOST_WRITES: usize = 1000;
/// What a slow controller of the cluster takes.
const SLOW: Duration = Duration::from_secs(600);
/// The garbage collector of a cluster is never there at once.
const COLLECTS_AFTER: Duration = Duration::from_secs(4);

/// One run, on a thread of its own runtime with paused time.
pub(crate) fn run(
    scenario: &Scenario,
    plan: &Plan,
    seed: u32,
    known: &Known,
    reference: Option<&Reference>,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let runtime = runtime.expect("a runtime needs an event queue of the operating system");
    panics::collect();
    let text = plan.to_string();
    let watchdog = Watchdog::start(watchdog::PATIENCE, move || watchdog::end_process(&text));
    runtime.spawn(watchdog.beat());
    let mut outcome = runtime.block_on(Run::begin(scenario, plan, seed, known, reference));
    runtime.shutdown_background();
    // Each once: an operator that always panics is started again every second.
    let panics: BTreeSet<String> = panics::take().iter().map(|panic| outcome.hidden.text(panic)).collect();
    outcome.findings.extend(panics.into_iter().map(|panic| Finding::new(Oracle::Panic, panic)));
    outcome.findings.retain(|finding| !scenario.allows.allow(&finding.what));
    outcome
}

/// How the steps have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// In a finding.
    Wrong,
    /// As in the reference, which was still after its last step: to wait would show nothing.
    Joined,
    /// After the last step, in which a fault came or the operator did something else.
    Reached,
}

struct Run<'r> {
    scenario: &'r Scenario,
    plan: &'r Plan,
    known: &'r Known,
    reference: Option<&'r Reference>,
    session: Arc<Session>,
    world: World,
    hidden: Hidden,
    /// The version of the server after each step.
    versions: Vec<u64>,
    /// The time of the server when the run began.
    begun_at: jiff::Timestamp,
    /// The pod that was evicted: whoever made it makes it once more.
    evicted: Option<String>,
    outcome: Outcome,
}

impl<'r> Run<'r> {
    async fn begin(
        scenario: &'r Scenario,
        plan: &'r Plan,
        seed: u32,
        known: &'r Known,
        reference: Option<&'r Reference>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let (server, begun_at) = match server(scenario, plan, seed) {
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
        let session = Session::new(server, known.names.clone(), kinds, plan, scenario.invariants.clone());
        session.trace(|trace| trace.resources = known.resources.clone());
        let world = World::default();
        let old = scenario.old_operator.as_ref().filter(|_| plan.upgrades()).map(|old| old(&world));
        let versions = Versions { old, new: (scenario.operator)(&world) };
        let supervisor = tokio::spawn(supervise(session.clone(), versions));
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

    /// All steps, or those until the run goes on as the reference does.
    async fn steps(&mut self) -> End {
        for at in 0..=self.scenario.steps.len() {
            self.session.set_step(at);
            if let Some((name, step)) = at.checked_sub(1).and_then(|at| self.scenario.steps.get(at)) {
                self.session.log_comparable(format!("--- step {at}: {name}"));
                if let Err(error) = step.perform(&self.session).await {
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
            if let Some(fault) = self.plan.after_step(at)
                && !self.inject(fault, at).await
            {
                return End::Wrong;
            }
            if self.has_joined(at) {
                return End::Joined;
            }
        }
        End::Reached
    }

    /// Waits until the operator has nothing to do.
    async fn settle(&mut self, at: usize) -> bool {
        let begun = Instant::now();
        let before = self.effective();
        loop {
            sleep(Duration::from_secs(3)).await;
            // Also of what the controllers of the cluster have done meanwhile.
            self.session.check_invariants();
            if self.session.is_in_loop() {
                return false;
            }
            if begun.elapsed() >= QUIET && self.session.quiet_for() >= QUIET {
                break;
            }
            let writes = self.effective() - before;
            if begun.elapsed() > PATIENCE || writes > MOST_WRITES {
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
        if let Some(until) = self.session.lag_until().filter(|_| dwells) {
            sleep_until(until + QUIET).await;
        }
        true
    }

    /// Waits until the state is the one of the reference.
    async fn reach(&mut self, at: usize) -> bool {
        let begun = Instant::now();
        let is_last = at == self.scenario.steps.len();
        if self.reference.is_some() && self.plan.upgrades() && !self.session.is_upgraded() {
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
            sleep(POLL).await;
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
        let Some(expected) = reference.steps.get(at) else { return Vec::new() };
        let mut differences = compare(&expected.normal, &reached.normal, &reference.masks, &self.hidden);
        if self.plan.may_miss_a_step() {
            // The operator may never have seen the object whose child the reference leaves over.
            differences.retain(|difference| match difference {
                Difference::Missing(object) => !reference.left.contains(object),
                _ => true,
            });
        }
        paths("", &expected.external, &reached.external, &mut |path, expected, value| {
            let show = |value| self.hidden.value("external", path, value);
            let how = format!("{} instead of {}", show(value), show(expected));
            differences
                .push(Difference::Value { at: format!("external {}", path.trim_start_matches('.')), how });
        });
        differences.retain(|difference| !self.scenario.allows.allow(&difference.to_string()));
        differences
    }

    /// A fault between two steps; false if it ended in a finding.
    async fn inject(&mut self, fault: StepFault, at: usize) -> bool {
        let session = self.session.clone();
        match fault {
            StepFault::Restart => {
                session.fire();
                let before = self.effective();
                session.log("FAULT: the operator is restarted while nothing is to do");
                session.crash();
                sleep(QUIET).await;
                let writes = self.writes_since(before);
                if !writes.is_empty() {
                    let what = format!("a restart after step {at} writes: {}", writes.join(", "));
                    self.outcome.findings.push(Finding::new(Oracle::Restart, what));
                }
            }
            StepFault::Down => {
                session.fire();
                session.log("FAULT: the operator is down until the next step");
                session.held.send_replace(true);
                session.crash();
                sleep(Duration::from_secs(1)).await;
                // Judged after the next step.
                return true;
            }
            StepFault::StaleRestart => {
                session.fire();
                session.log("FAULT: the operator is restarted onto a cache from before the step");
                let version = at.checked_sub(1).and_then(|at| self.versions.get(at)).copied().unwrap_or(1);
                session.show_old_cache(version, Duration::from_secs(60));
                session.crash();
                sleep(Duration::from_secs(61) + QUIET).await;
            }
            StepFault::LostLease => {
                // The next step comes while the other process leads.
                take_leases(&session, self.begun_at).await;
                return true;
            }
            StepFault::Evicted => self.evict_pod().await,
            StepFault::Upgrade => {
                session.fire();
                session.log("FAULT: the new version takes the place of the old one");
                session.upgrade();
                sleep(QUIET).await;
            }
        }
        self.outcome.steps.pop();
        self.reach(at).await
    }

    /// Deletes the first pod that someone makes again, as an eviction does.
    async fn evict_pod(&mut self) {
        let Some(pod) = self.session.evictable_pods().into_iter().next() else { return };
        self.session.fire();
        let path = format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name);
        self.session.log(format!("FAULT: the pod {} is evicted", pod.name));
        call(&self.session.server, "DELETE", &path, "application/json", None).await;
        let name = self.known.names.template("pods", &pod.name);
        self.evicted = Some(ObjectName { name, ..pod }.to_string());
        sleep(QUIET).await;
    }

    /// Whether the run goes on as the reference does: the faults are over, and the operator has since made a whole step as it does there,
    /// with the same result. For later steps a step without a write shows nothing, only faults of requests are gone without a trace, and
    /// what a process remembers shows when objects are deleted.
    fn has_joined(&self, at: usize) -> bool {
        let Some(reference) = self.reference else { return false };
        let later = self.scenario.steps.get(at..).unwrap_or_default();
        let only_requests =
            || self.plan.0.iter().all(|injection| matches!(injection, Injection::Request(..)));
        let is_shown = later.is_empty()
            || !later.iter().any(|(_, step)| step.deletes())
                && only_requests()
                && reference.trace.writes_in(at);
        let fired = self.session.fired();
        let are_over = fired.len() == self.plan.0.len() && fired.last().is_some_and(|step| *step < at);
        is_shown
            && are_over
            && self.session.lag_until().is_none()
            && self.session.trace(|trace| trace.repeats(&reference.trace, at))
    }

    /// Nothing may happen any more.
    async fn stay_still(&mut self) {
        if let Some(until) = self.session.lag_until() {
            sleep_until(until + QUIET).await;
        }
        if self.plan.is_slow() {
            sleep(SLOW).await;
        }
        // An hour of its own for the requests, too.
        self.session.set_step(self.scenario.steps.len());
        let before = self.effective();
        let for_an_hour = self.reference.is_none() && self.known.stays_still_for_an_hour;
        sleep(if for_an_hour { HOUR } else { STILL }).await;
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
        self.outcome.trace = self.session.take_trace();
        self.outcome.time = self.session.elapsed();
        let Some(reference) = self.reference else { return };
        let names = &self.known.names;
        let counts = oracle::counts(&self.outcome.trace, names);
        let mut expected =
            oracle::Expected::of(reference, self.evicted.as_deref(), self.plan.late_object().as_deref());
        if self.plan.upgrades() {
            expected.allow_migration(&counts);
        }
        let findings = oracle::more_often(&counts, &expected.counts, self.plan.may_miss_a_step());
        self.outcome.findings.extend(findings);
        let values = oracle::distinct(&self.outcome.trace, &reference.masks, names);
        self.outcome.findings.extend(oracle::regenerated(&values, &expected.values));
    }

    fn effective(&self) -> usize {
        self.session.trace(|trace| trace.effective().count())
    }

    fn writes_since(&self, before: usize) -> Vec<String> {
        let written = |trace: &mut Trace| -> Vec<String> {
            trace.effective().skip(before).take(4).map(|write| write.place.operation.to_string()).collect()
        };
        self.session.trace(written)
    }

    fn last_write(&self) -> String {
        let last =
            |trace: &mut Trace| trace.effective().next_back().map(|write| write.place.operation.to_string());
        self.session.trace(last).unwrap_or_default()
    }
}

/// A server in the same state for the same seed, at another time for another seed.
fn server(scenario: &Scenario, plan: &Plan, seed: u32) -> Result<(ApiServer, jiff::Timestamp), String> {
    let day = jiff::SignedDuration::from_hours(24 * 37 * i64::from(seed));
    let start = "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().map_err(|error| error.to_string())? + day;
    let builder = ApiServer::builder().seed(u64::from(seed)).start_time(start).history(100_000);
    let mut builder = (scenario.cluster)(builder);
    let collects_after = if plan.has(RunFault::SlowGarbageCollection) { SLOW } else { COLLECTS_AFTER };
    if builder.is_on(BuiltInController::GarbageCollection) {
        builder = builder.with_delay(BuiltInController::GarbageCollection, collects_after);
    }
    if plan.has(RunFault::SlowWorkloads) {
        for controller in slow_controllers(&builder) {
            builder = builder.with_delay(controller, SLOW);
        }
    }
    builder.service().map(|server| (server, start)).map_err(|error| chain(&error))
}

/// The controllers of a cluster that bring pods up.
pub(crate) fn slow_controllers(builder: &Builder) -> Vec<BuiltInController> {
    let both = [BuiltInController::Kubelet, BuiltInController::Workloads];
    both.into_iter().filter(|controller| builder.is_on(*controller)).collect()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
