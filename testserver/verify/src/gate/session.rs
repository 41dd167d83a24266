//! The state of a run that the service of the operator and the run share.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    future::pending,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kube_testserver::{ApiServer, User};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until},
};

use super::renewals::Renewals;
use crate::{
    finding::{Finding, Oracle},
    invariant::Invariant,
    kinds::Kinds,
    panics::{TestFailure, gets_no_answer},
    plan::{EditFault, EventFault, EventPlace, Injection, Operation, Place, Plan, RequestFault},
    state::Names,
    trace::{Line, Trace},
    watchdog::beat_once,
};

/// An operator with more requests in a step, or in the still hour at the end, is in a loop.
const MOST_REQUESTS: usize = 20_000;
/// One with so many may be, so that somebody looks.
const MANY_REQUESTS: usize = 500;

/// How often invariants are asked, if something has changed.
const LOOK: Duration = Duration::from_secs(3);

/// The shared state of a run.
pub(crate) struct Session {
    pub(crate) server: ApiServer,
    /// The same for the operator, if it has an account of its own.
    pub(super) account: OnceLock<ApiServer>,
    pub(crate) names: Names,
    pub(crate) kinds: Kinds,
    pub(crate) started: Instant,
    /// Wakes the supervisor of the operator after a crash.
    pub(crate) crashed: Notify,
    /// Wakes who waits for the operator to be quiet, each time that it has sent many requests.
    busy: Notify,
    /// Wakes who waits for a watch that is late.
    caught_up: Notify,
    pub(super) renewals: Renewals,
    /// Whether the operator is to stay down.
    pub(crate) held: watch::Sender<bool>,
    /// Whether what the operator does may come later than the next step.
    pub(crate) may_miss_a_step: bool,
    /// Whether writes of statuses are recorded.
    pub(super) notes_statuses: bool,
    /// Whether the run begins with an old version of the operator.
    begins_with_old: bool,
    /// Processes that start from now on are of the new version.
    upgraded: AtomicBool,
    /// Whether the invariants of the user count.
    judges: AtomicBool,
    pub(super) invariants: Arc<[Invariant]>,
    pub(crate) failure: TestFailure,
    inner: Mutex<Inner>,
}

/// An object that another writer has changed, as it was then.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub(super) resource: String,
    pub(super) object: Value,
    /// The write of the operator that came next.
    pub(super) place: String,
}

/// A watch that is late, until this is dropped: a client that drops the watch lists anew, so that nothing is old any more.
pub(super) struct Lag {
    session: Arc<Session>,
    pub(super) until: Instant,
}

impl Drop for Lag {
    fn drop(&mut self) {
        // A second one may have begun meanwhile.
        self.session.inner.lock().lag_until.take_if(|until| *until == self.until);
        self.session.caught_up.notify_waiters();
    }
}

struct Inner {
    /// The faults that are still to come.
    pending: VecDeque<Injection>,
    /// The steps in which faults have happened.
    fired: Vec<usize>,
    /// Until when a watch is late or an old cache is listed.
    lag_until: Option<Instant>,
    stale: Option<(u64, Instant)>,
    step: usize,
    /// Requests of earlier incarnations of the operator get no answer.
    incarnation: u64,
    /// Those of this step.
    requests: usize,
    operations: HashMap<Operation, usize>,
    events: HashMap<EventPlace, usize>,
    last_write: Option<Instant>,
    /// What another writer has changed.
    touched: Option<Touched>,
    /// Another process leads until then.
    other_leads_until: Option<Instant>,
    trace: Trace,
    broken: Vec<Finding>,
    /// Invariants that the old version has left broken, until they hold again.
    excused: BTreeSet<usize>,
    /// The version of the state that the invariants have judged last.
    judged: u64,
}

impl Inner {
    fn is_in_loop(&self) -> bool {
        self.requests > MOST_REQUESTS
    }
}

impl Session {
    pub(crate) fn new(
        server: ApiServer,
        names: Names,
        kinds: Kinds,
        plan: &Plan,
        invariants: Arc<[Invariant]>,
        failure: TestFailure,
    ) -> Arc<Self> {
        // Faults of steps and of the whole run are the run's own.
        let own = |injection: &&Injection| matches!(injection, Injection::Request(..) | Injection::Event(..));
        let inner = Inner {
            pending: plan.0.iter().filter(own).cloned().collect(),
            fired: Vec::new(),
            lag_until: None,
            stale: None,
            step: 0,
            incarnation: 0,
            requests: 0,
            operations: HashMap::new(),
            events: HashMap::new(),
            last_write: None,
            touched: None,
            other_leads_until: None,
            trace: Trace::default(),
            broken: Vec::new(),
            excused: BTreeSet::new(),
            judged: 0,
        };
        Arc::new(Self {
            server,
            account: OnceLock::new(),
            names,
            kinds,
            started: Instant::now(),
            crashed: Notify::new(),
            busy: Notify::new(),
            caught_up: Notify::new(),
            renewals: Renewals::default(),
            held: watch::Sender::new(false),
            may_miss_a_step: plan.may_miss_a_step(),
            notes_statuses: plan.edit().map_or(plan.0.is_empty(), |edit| edit.fault == EditFault::WipeStatus),
            begins_with_old: plan.upgrades(),
            upgraded: AtomicBool::new(false),
            judges: AtomicBool::new(true),
            invariants,
            failure,
            inner: Mutex::new(inner),
        })
    }

    /// From now on, the operator is this user.
    pub(crate) fn begin_account(&self, user: User) {
        self.account.get_or_init(|| self.server.as_user(user));
    }

    /// The account of the operator may not do something.
    pub(super) fn forbid(&self, why: &str) {
        let finding = Finding::new(Oracle::Forbidden, why);
        let broken = &mut self.inner.lock().broken;
        if !broken.contains(&finding) {
            broken.push(finding);
        }
    }

    /// Adds a line to the timeline.
    pub(crate) fn log(&self, text: impl Into<String>) {
        self.line(text.into(), false);
    }

    /// Adds a line about something that was not known when it happened.
    pub(crate) fn log_past(&self, when: Instant, text: String) {
        let at = when.saturating_duration_since(self.started);
        self.trace(|trace| {
            let place = trace.lines.partition_point(|line| line.at <= at);
            trace.lines.insert(place, Line { at, text, comparable: false });
        });
    }

    /// How long the run has been.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Adds a line that a run without faults has as well.
    pub(crate) fn log_comparable(&self, text: impl Into<String>) {
        self.line(text.into(), true);
    }

    fn line(&self, text: String, comparable: bool) {
        let line = Line { at: self.elapsed(), text, comparable };
        self.inner.lock().trace.lines.push(line);
    }

    /// Reads or changes what was recorded.
    pub(crate) fn trace<T>(&self, with: impl FnOnce(&mut Trace) -> T) -> T {
        with(&mut self.inner.lock().trace)
    }

    /// Takes all that was recorded, at the end of the run.
    pub(crate) fn take_trace(&self) -> Trace {
        std::mem::take(&mut self.inner.lock().trace)
    }

    pub(crate) fn set_step(&self, step: usize) {
        let mut inner = self.inner.lock();
        inner.step = step;
        if !inner.is_in_loop() {
            inner.requests = 0;
        }
    }

    pub(super) fn step(&self) -> usize {
        self.inner.lock().step
    }

    pub(crate) fn incarnation(&self) -> u64 {
        self.inner.lock().incarnation
    }

    /// Whether requests of this incarnation get no answer: it has crashed, or the operator is in a loop.
    fn is_dead(&self, incarnation: u64) -> bool {
        let inner = self.inner.lock();
        inner.incarnation != incarnation || inner.is_in_loop()
    }

    /// Whether the operator has sent so many requests that it gets no more answers.
    pub(crate) fn is_in_loop(&self) -> bool {
        self.inner.lock().is_in_loop()
    }

    /// Waits for ever once this incarnation has crashed.
    pub(super) async fn alive(&self, incarnation: u64) {
        if self.is_dead(incarnation) {
            self.hang(incarnation).await
        }
    }

    /// Waits for ever.
    pub(super) async fn hang<T>(&self, incarnation: u64) -> T {
        if self.incarnation() != incarnation {
            gets_no_answer();
        }
        pending().await
    }

    /// Counts a request of the operator. One beyond the limit is a finding, and the last.
    pub(super) fn count_request(&self, what: &str) {
        beat_once();
        let mut inner = self.inner.lock();
        inner.requests += 1;
        if inner.requests.is_multiple_of(MANY_REQUESTS) {
            self.busy.notify_one();
        }
        if inner.requests == MOST_REQUESTS + 1 {
            let what = format!("more than {MOST_REQUESTS} requests in step {}, the last {what}", inner.step);
            inner.broken.push(Finding::new(Oracle::FixedPoint, what));
        }
    }

    /// Ends this incarnation of the operator: from now on, its requests and watches hang.
    pub(crate) fn crash(&self) {
        self.end_incarnation();
        self.crashed.notify_one();
    }

    /// Ends this incarnation; the next one is of the new version.
    pub(crate) fn upgrade(&self) {
        self.upgraded.store(true, Ordering::Relaxed);
        self.crash();
    }

    pub(crate) fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Relaxed)
    }

    /// Whether what happens is judged: not before the new version has started.
    pub(crate) fn is_judged(&self) -> bool {
        !self.begins_with_old || self.inner.lock().trace.upgrade.is_some()
    }

    /// The new version starts. What the old one did is forgotten, but for what it has left.
    pub(crate) fn begin_new_version(&self, external: Value) {
        self.check_invariants();
        let state = self.state();
        let mut inner = self.inner.lock();
        let step = inner.step;
        inner.trace.upgrades(step, state, external);
        inner.requests = 0;
        inner.broken.clear();
    }

    /// The operator has ended by itself. What it left behind is dead.
    pub(crate) fn end_incarnation(&self) {
        self.inner.lock().incarnation += 1;
    }

    /// The place of a request, and the fault that comes there.
    pub(super) fn place(&self, operation: Operation) -> (Place, Option<RequestFault>) {
        let mut inner = self.inner.lock();
        let count = inner.operations.entry(operation.clone()).or_default();
        *count += 1;
        let place = Place { nth: *count, operation };
        let fault = match inner.pending.front() {
            Some(Injection::Request(fault, at)) if *at == place => Some(*fault),
            _ => None,
        };
        if fault.is_some() {
            inner.pending.pop_front();
            let step = inner.step;
            inner.fired.push(step);
        }
        (place, fault)
    }

    /// Records an event that is sent to the operator; the fault that comes there, and how long its watch is late.
    pub(super) fn event(self: &Arc<Self>, mut place: EventPlace) -> Option<(EventFault, Lag)> {
        let mut inner = self.inner.lock();
        place.nth = 0;
        let count = inner.events.entry(place.clone()).or_default();
        *count += 1;
        place.nth = *count;
        let step = inner.step;
        let fault = match inner.pending.front() {
            Some(Injection::Event(fault, at)) if *at == place => Some(*fault),
            _ => None,
        };
        inner.trace.events.push((place, step));
        let fault = fault?;
        inner.pending.pop_front();
        inner.fired.push(step);
        let until = Instant::now() + fault.lag();
        inner.lag_until = Some(until);
        Some((fault, Lag { session: self.clone(), until }))
    }

    /// Notes that a fault of the run itself has happened.
    pub(crate) fn fire(&self) {
        let mut inner = self.inner.lock();
        let step = inner.step;
        inner.fired.push(step);
    }

    /// The last fault had nothing to change.
    pub(super) fn unfire(&self) {
        self.inner.lock().fired.pop();
    }

    /// The steps in which faults have happened.
    pub(crate) fn fired(&self) -> Vec<usize> {
        self.inner.lock().fired.clone()
    }

    /// Until when a watch is late, if its client keeps it.
    pub(crate) fn lag_until(&self) -> Option<Instant> {
        self.inner.lock().lag_until
    }

    /// Lets time pass until no watch is late. False if none was.
    pub(crate) async fn pass_lag(&self) -> bool {
        let Some(until) = self.lag_until() else { return false };
        tokio::select! {
            biased;
            () = self.caught_up.notified() => {}
            () = self.pass_until(until) => {}
        }
        true
    }

    /// Lists with `resourceVersion=0` show this version, and watches wait, for this long.
    pub(crate) fn show_old_cache(&self, version: u64, time: Duration) {
        self.inner.lock().stale = Some((version, Instant::now() + time));
    }

    pub(super) fn old_cache(&self) -> Option<(u64, Instant)> {
        self.inner.lock().stale.filter(|(_, until)| *until > Instant::now())
    }

    /// Writes renewals of Leases to the server that were answered without it.
    pub(crate) fn write_renewals(&self) {
        self.renewals.write(&self.server);
    }

    /// From now on, the server gets all renewals of Leases at once.
    pub(crate) fn end_renewals(&self) {
        self.renewals.end(&self.server);
    }

    /// Notes a write that changed the state.
    pub(super) fn wrote(&self, what: &str) {
        let mut inner = self.inner.lock();
        inner.last_write = Some(Instant::now());
        if inner.other_leads_until.is_some_and(|until| until > Instant::now()) {
            let what = format!("in step {}, {what} came while another process held the Lease", inner.step);
            inner.broken.push(Finding::new(Oracle::TwoLeaders, what));
        }
        drop(inner);
        self.check_invariants();
    }

    /// From now on, writes of the operator are those of a second leader.
    pub(super) fn another_leads_until(&self, until: Instant) {
        self.inner.lock().other_leads_until = Some(until);
    }

    /// Notes what another writer has changed.
    pub(super) fn touched(&self, touched: Touched) {
        self.inner.lock().touched = Some(touched);
    }

    pub(super) fn last_touched(&self) -> Option<Touched> {
        self.inner.lock().touched.clone()
    }

    pub(super) fn forget_touched(&self) {
        self.inner.lock().touched = None;
    }

    /// The time since the operator last changed the state.
    pub(crate) fn quiet_for(&self) -> Duration {
        self.inner.lock().last_write.map_or(Duration::MAX, |at| at.elapsed())
    }

    /// Lets time pass. Invariants judge what the controllers of the cluster do meanwhile, too.
    pub(crate) async fn pass(&self, time: Duration) {
        self.pass_until(Instant::now() + time).await;
    }

    /// The same, or less if the operator sends many requests meanwhile.
    pub(crate) async fn pass_unless_busy(&self, time: Duration) {
        tokio::select! {
            biased;
            () = self.busy.notified() => {}
            () = self.pass(time) => {}
        }
    }

    pub(crate) async fn pass_until(&self, until: Instant) {
        if self.invariants.is_empty() {
            return sleep_until(until).await;
        }
        while Instant::now() < until {
            sleep_until(until.min(Instant::now() + LOOK)).await;
            self.check_invariants();
        }
    }

    /// From now on invariants do not count.
    pub(crate) fn ignore_invariants(&self) {
        self.judges.store(false, Ordering::Relaxed);
    }

    /// Judges the invariants of the user, if something has changed since the last time; each is told once.
    pub(crate) fn check_invariants(&self) {
        if !self.judges.load(Ordering::Relaxed) {
            return;
        }
        let version = self.server.resource_version();
        if self.invariants.is_empty() || self.inner.lock().judged == version {
            return;
        }
        let state = self.whole_state();
        // Renewals that were written for this look are in it.
        self.inner.lock().judged = self.server.resource_version();
        let is_judged = self.is_judged();
        for (at, invariant) in self.invariants.iter().enumerate() {
            let which = || format!("the invariant {:?}", invariant.name);
            let Some(finding) = self.failure.catch(which, || invariant.judge(&state)) else { return };
            let mut inner = self.inner.lock();
            match finding {
                None => drop(inner.excused.remove(&at)),
                Some(_) if !is_judged => drop(inner.excused.insert(at)),
                Some(finding) => {
                    let is_told = inner.broken.iter().any(|other| other.what == finding.what);
                    if !is_told && !inner.excused.contains(&at) {
                        inner.broken.push(finding);
                    }
                }
            }
        }
    }

    /// The invariants that were broken.
    pub(crate) fn broken(&self) -> Vec<Finding> {
        std::mem::take(&mut self.inner.lock().broken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::state::State;

    #[tokio::test]
    async fn invariants_judge_each_state_once() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = asked.clone();
        let holds = move |state: &State| {
            counter.fetch_add(1, Ordering::Relaxed);
            state.count_of("configmaps") == 0
        };
        let invariant = Invariant { name: "no ConfigMap".to_owned(), holds: Box::new(holds) };
        let (server, plan) = (ApiServer::new(), Plan::default());
        let kinds = Kinds::discover(&server).await;
        let session = Session::new(
            server.clone(),
            Names::default(),
            kinds,
            &plan,
            Arc::from([invariant]),
            TestFailure::default(),
        );
        session.check_invariants();
        session.check_invariants();
        assert_eq!((asked.load(Ordering::Relaxed), session.broken().len()), (1, 0));
        server.load("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
        session.check_invariants();
        session.check_invariants();
        assert_eq!((asked.load(Ordering::Relaxed), session.broken().len()), (2, 1));
    }
}
