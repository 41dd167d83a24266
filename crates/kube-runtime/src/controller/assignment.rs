//! Which objects of a kind this replica reconciles, where several replicas share the work.

use super::{
    assigned_work::{AssignedWork, RunningWork},
    reconcile::until_revoked,
};
use crate::{delay::until, reflector::ObjectKey, unwind::catch_panic};
use futures::{FutureExt, future::BoxFuture};
use std::{fmt, future::pending, sync::Arc, time::Duration};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep},
};

/// How often an assignment that is not valid is looked at again.
pub(super) const VALIDITY_CHECK: Duration = Duration::from_secs(1);

/// The objects that this replica reconciles: all, none, or those that a function selects.
///
/// ```
/// use kube_runtime::controller::Assignment;
///
/// let of_team_a = Assignment::matching(|namespace, _name| namespace == Some("team-a"));
/// assert!(of_team_a.includes(Some("team-a"), "web"));
/// assert!(!of_team_a.includes(None, "web"));
/// ```
#[derive(Clone)]
pub struct Assignment {
    includes: Arc<Includes>,
    /// Whether it is known to include no object.
    nothing: bool,
    valid: Option<Arc<Check>>,
    may_run: Option<Arc<Check>>,
}

type Check = dyn Fn() -> bool + Send + Sync;
type Includes = dyn Fn(Option<&str>, &str) -> bool + Send + Sync;

impl Assignment {
    /// Every object.
    pub fn all() -> Self {
        Self::matching(|_, _| true)
    }

    /// No object.
    pub fn none() -> Self {
        Self { nothing: true, ..Self::matching(|_, _| false) }
    }

    /// The objects whose namespace and name `includes` accepts.
    ///
    /// It is called before each reconcile, and for each cached object when the assignment changes, so it has to be fast. It must always
    /// return the same for the same object: [assign](Assigner::assign) a new assignment instead. An object for which it panics is not
    /// included, with an error in the log.
    pub fn matching(includes: impl Fn(Option<&str>, &str) -> bool + Send + Sync + 'static) -> Self {
        Self { includes: Arc::new(includes), nothing: false, valid: None, may_run: None }
    }

    /// Starts no reconcile while `valid` returns `false`, and keeps the requests meanwhile.
    ///
    /// If `valid` panics, that counts as `false`, with an error in the log.
    ///
    /// For an assignment that ends with a lease: also a process that did not run for a while starts nothing after the end of its lease.
    #[must_use]
    pub fn valid_while(mut self, valid: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.valid = Some(Arc::new(valid));
        self
    }

    /// Cancels running work as soon as `may_run` returns `false`: it is asked before each poll of a reconcile, so it has to be fast.
    ///
    /// Where [`Assigner::assign_by`] limits the end of the work by a timer, this also holds in a process that did not run for a while: a
    /// reconcile that is polled before the timer has fired does not go on.
    #[must_use]
    pub fn run_while(mut self, may_run: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.may_run = Some(Arc::new(may_run));
        self
    }

    /// Whether the object is part of the assignment. `namespace` is `None` for an object of the whole cluster.
    pub fn includes(&self, namespace: Option<&str>, name: &str) -> bool {
        catch_panic(|| (self.includes)(namespace, name)).unwrap_or_else(|panic| {
            tracing::error!(
                ?namespace,
                name,
                panic,
                "the function of an assignment panicked: the object is not included"
            );
            false
        })
    }

    pub(super) fn includes_key(&self, key: &ObjectKey) -> bool {
        self.includes(key.namespace.as_deref(), &key.name)
    }

    pub(super) fn is_valid(&self) -> bool {
        holds(self.valid.as_deref())
    }
}

/// Whether a condition of an assignment holds. If it panics, it does not.
fn holds(condition: Option<&Check>) -> bool {
    let Some(condition) = condition else { return true };
    catch_panic(condition).unwrap_or_else(|panic| {
        tracing::error!(panic, "a condition of an assignment panicked, which counts as false");
        false
    })
}

impl fmt::Debug for Assignment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Assignment").finish_non_exhaustive()
    }
}

/// Assigns objects to the controllers that were configured with [`Controller::assigned_by`](super::Controller::assigned_by).
///
/// Nothing is assigned at first, and nothing any more after this was dropped.
///
/// ```
/// use kube_runtime::controller::{Assigner, Assignment};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let assigner = Assigner::new();
/// let assignments = assigner.assignments(); // for `Controller::assigned_by`
/// assigner.assign(Assignment::all()).await;
/// # drop(assignments);
/// # });
/// ```
#[derive(Debug)]
pub struct Assigner {
    current: watch::Sender<Current>,
    work: Arc<AssignedWork>,
}

/// What an [`Assigner`] assigns, for any number of controllers.
#[derive(Debug, Clone)]
pub struct Assignments {
    current: watch::Receiver<Current>,
    work: Arc<AssignedWork>,
    /// What counts instead of the keys of all objects.
    instead: Option<Arc<ObjectKey>>,
}

#[derive(Debug, Clone)]
struct Current {
    generation: u64,
    assignment: Assignment,
    /// When reconciles of objects that are not assigned are cancelled.
    cancel_at: Option<Instant>,
}

impl Assigner {
    /// Assigns nothing yet.
    #[expect(clippy::new_without_default, reason = "it makes a new identity, not a value")]
    pub fn new() -> Self {
        let current = Current { generation: 0, assignment: Assignment::none(), cancel_at: None };
        Self { current: watch::Sender::new(current), work: Arc::default() }
    }

    /// For [`Controller::assigned_by`](super::Controller::assigned_by).
    pub fn assignments(&self) -> Assignments {
        Assignments { current: self.current.subscribe(), work: Arc::clone(&self.work), instead: None }
    }

    /// Replaces the assignment. The controllers enqueue the objects that are new in it, with low priority.
    ///
    /// Returns when no controller reconciles an object that is not part of it: from then on another replica may reconcile those. That does
    /// not depend on who polls the outputs of the controllers. There is no limit: a reconcile that does not end is logged every 30 s. The
    /// assignment is replaced by the call; the future only waits.
    pub fn assign(&self, assignment: Assignment) -> impl Future<Output = ()> + Send + use<> {
        self.replace(assignment, None)
    }

    /// Like [`assign`](Self::assign), and cancels the reconciles of objects that are not part of it at `cancel_at`. Each cancelled one is a
    /// [`RunnerError::Revoked`](super::RunnerError) in the output of its controller. The future waits until 0.1 s later at most: what then
    /// still runs blocks its thread, or is work that nobody polls, and is logged.
    pub fn assign_by(
        &self,
        assignment: Assignment,
        cancel_at: Instant,
    ) -> impl Future<Output = ()> + Send + use<> {
        self.replace(assignment, Some(cancel_at))
    }

    /// Completes when all [`Assignments`] are dropped and no controller with them runs.
    pub async fn unused(&self) {
        self.current.closed().await;
    }

    fn replace(
        &self,
        assignment: Assignment,
        cancel_at: Option<Instant>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let kept = assignment.clone();
        self.current.send_modify(|current| {
            let generation = current.generation + 1;
            *current = Current { generation, assignment, cancel_at };
        });
        // Work that begins from now on looks at the new assignment first.
        let (work, mut running) = (Arc::clone(&self.work), self.work.snapshot());
        running.retain(|(_, key)| !kept.includes_key(key));
        async move { work.wait(running, cancel_at).await }
    }
}

impl Drop for Assigner {
    fn drop(&mut self) {
        drop(self.replace(Assignment::none(), None));
    }
}

/// The view of one running controller on its assignments. Without assignments, every object is assigned.
#[derive(Default)]
pub(super) struct AssignedKeys {
    subscription: Option<Subscription>,
}

struct Subscription {
    current: watch::Receiver<Current>,
    generation: u64,
    seen: Seen,
}

/// An assignment as one controller sees it.
#[derive(Clone)]
pub(super) struct Seen {
    assignment: Assignment,
    instead: Option<Arc<ObjectKey>>,
}

impl Seen {
    pub(super) fn includes(&self, key: &ObjectKey) -> bool {
        self.assignment.includes_key(self.instead.as_deref().unwrap_or(key))
    }

    /// Whether it includes no object at all.
    fn is_empty(&self) -> bool {
        let is_assigned = |key: &Arc<ObjectKey>| self.assignment.includes_key(key);
        self.assignment.nothing || self.instead.as_ref().is_some_and(|key| !is_assigned(key))
    }
}

impl AssignedKeys {
    pub(super) fn of(assignments: &Assignments) -> Self {
        let mut current = assignments.current.clone();
        let Current { generation, assignment, .. } = current.borrow_and_update().clone();
        let seen = Seen { assignment, instead: assignments.instead.clone() };
        Self { subscription: Some(Subscription { current, generation, seen }) }
    }

    /// Whether reconciles may start at all now.
    pub(super) fn is_valid(&self) -> bool {
        self.subscription.as_ref().is_none_or(|subscription| subscription.seen.assignment.is_valid())
    }

    /// Whether no reconcile can start, whatever happens to the objects.
    pub(super) fn is_standby(&self) -> bool {
        self.subscription.as_ref().is_some_and(|subscription| subscription.seen.is_empty())
            || !self.is_valid()
    }

    pub(super) fn includes(&self, key: &ObjectKey) -> bool {
        self.subscription.as_ref().is_none_or(|subscription| subscription.seen.includes(key))
    }

    /// Completes when there may be a new assignment; never without assignments.
    pub(super) async fn changed(&mut self) {
        let Some(subscription) = &mut self.subscription else { return pending().await };
        if subscription.current.changed().await.is_err() {
            pending::<()>().await; // the assigner has ended and assigned nothing
        }
    }

    /// Applies the latest assignment. Returns the previous one if there is a new one.
    pub(super) fn update(&mut self) -> Option<Seen> {
        let Subscription { current, generation, seen } = self.subscription.as_mut()?;
        // Not `has_changed`, because `changed` has already marked the value as seen.
        let latest = current.borrow_and_update();
        if latest.generation == *generation {
            return None;
        }
        let Current { assignment, generation: newest, .. } = latest.clone();
        *generation = newest;
        let instead = seen.instead.clone();
        Some(std::mem::replace(seen, Seen { assignment, instead }))
    }
}

impl Assignments {
    /// The same for controllers whose objects are assigned together: as an object of the cluster with this name.
    #[doc(hidden)]
    #[must_use]
    pub fn all_as(&self, name: &str) -> Self {
        let instead = ObjectKey { namespace: None, name: name.into() };
        Self { instead: Some(Arc::new(instead)), ..self.clone() }
    }

    /// Runs other work than reconciles while the name `name` is assigned to this replica, as if it were an object of the cluster: with
    /// leader election in the leader, with sharding in one of the members.
    ///
    /// `work` is called each time that the name is assigned. It has to end soon after the future that it receives completes, and is dropped
    /// when it does not end before another replica may take over. Until then, that replica waits. Returns what `work` returns if it ends by
    /// itself.
    ///
    /// ```
    /// use futures::future::BoxFuture;
    /// use kube_runtime::controller::{Assigner, Assignment};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let assigner = Assigner::new();
    /// assigner.assign(Assignment::all()).await;
    /// let report = |revoked: BoxFuture<'static, ()>| async {
    ///     tokio::select! {
    ///         () = revoked => "another replica goes on",
    ///         () = std::future::ready(()) => "the report is sent",
    ///     }
    /// };
    /// assert_eq!(assigner.assignments().run_while_assigned("nightly-report", report).await, "the report is sent");
    /// # });
    /// ```
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the work.
    pub async fn run_while_assigned<F: Future>(
        &self,
        name: &str,
        mut work: impl FnMut(BoxFuture<'static, ()>) -> F,
    ) -> F::Output {
        let key = ObjectKey { namespace: None, name: name.into() };
        let mut assigned = AssignedKeys::of(self);
        loop {
            assigned.update();
            if !assigned.includes(&key) {
                assigned.changed().await;
                continue;
            }
            if !assigned.is_valid() {
                sleep(VALIDITY_CHECK).await;
                continue;
            }
            let Some(term) = self.begin(key.clone()) else { continue };
            let (revoke, revoked) = oneshot::channel::<()>();
            let mut work = Box::pin(term.run(work(revoked.map(drop).boxed())));
            let mut revoke = Some(revoke);
            loop {
                tokio::select! {
                    biased;
                    output = &mut work => match output {
                        Some(output) if revoke.is_some() => return output,
                        Some(_) => break,
                        None => {
                            tracing::warn!(name, "dropped, because another replica may take over");
                            break;
                        }
                    },
                    () = assigned.changed() => {
                        assigned.update();
                        if !assigned.includes(&key) {
                            drop(revoke.take());
                        }
                    }
                }
            }
        }
    }

    /// Registers work on the object with this key; `None` if it is not assigned now.
    pub(super) fn begin(&self, key: ObjectKey) -> Option<AssignedTerm> {
        let key = self.instead.clone().unwrap_or_else(|| Arc::new(key));
        let running = self.work.begin(Arc::clone(&key));
        // After the registration: an assigner that does not wait for this work has assigned before.
        let latest = self.current.borrow().assignment.clone();
        latest.includes_key(&key).then(|| AssignedTerm { key, current: self.current.clone(), running })
    }
}

/// The time in which an object is assigned to this replica and work on it may run.
pub(super) struct AssignedTerm {
    key: Arc<ObjectKey>,
    current: watch::Receiver<Current>,
    /// Until then, those that take the object away wait.
    running: RunningWork,
}

impl AssignedTerm {
    /// The output of `work`; `None` if it was cancelled.
    pub(super) async fn run<F: Future>(self, work: F) -> Option<F::Output> {
        let Self { key, current, running } = self;
        let latest = current.clone();
        let may_run = move || {
            let may_run = latest.borrow().assignment.may_run.clone(); // not called under the lock: it is the code of users
            holds(may_run.as_deref())
        };
        let output = until_revoked(work, may_run, revocation(key, current)).await;
        drop(running);
        output
    }
}

/// Completes when work on the object has to be cancelled.
async fn revocation(key: Arc<ObjectKey>, mut current: watch::Receiver<Current>) {
    loop {
        let Current { assignment, cancel_at, .. } = current.borrow_and_update().clone();
        let cancel_at = cancel_at.filter(|_| !assignment.includes_key(&key));
        tokio::select! {
            biased; // a limit that has passed counts, even if it was moved since
            () = until(cancel_at) => return,
            changed = current.changed() => if changed.is_err() { return pending().await },
        }
    }
}

#[cfg(test)]
#[path = "assignment_tests.rs"]
mod tests;
