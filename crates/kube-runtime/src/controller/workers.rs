//! [`Workers`]: how many reconciles of several controllers run at once, in fair lanes.

use super::{
    lanes::LaneName,
    observe::{ControllerName, SharedNames},
};
use crate::{
    capacity::release,
    queue::{Priority, Queue},
};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use tokio::time::Instant;

/// How many reconciles of several controllers run at once: one limit for all, and one for each lane, such as a cluster.
///
/// A controller [that shares them](crate::Controller::share_workers) asks for a worker for each reconcile, besides the limits of its own
/// [`Config`](super::Config). Lanes that want one are served in turn, by deficit round robin over worker time: one whose reconciles run
/// long does not get more workers than one whose reconciles run briefly, and one that is at its limit delays no other.
///
/// # Cost
///
/// An uncontended lock and O(log lanes) for each start and end of a reconcile, and while the reserve is in use, O(lanes that wait and have
/// workers). A lane without work takes no memory.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_runtime::{Controller, controller::Workers, watcher};
///
/// fn controllers(clusters: Vec<(String, Client)>) -> Vec<Controller<ConfigMap>> {
///     let workers = Workers::new(64, 8);
///     let controller = |(name, client): (String, Client)| {
///         Controller::new(Api::all(client), watcher::Config::default()).share_workers(workers.lane(&name))
///     };
///     clusters.into_iter().map(controller).collect()
/// }
/// ```
#[derive(Clone)]
pub struct Workers {
    tickets: Arc<Mutex<Tickets>>,
    names: SharedNames,
    limit: u16,
}

/// The place of a controller among those that share [`Workers`]: from [`Workers::lane`].
#[derive(Clone)]
pub struct WorkerLane {
    name: LaneName,
    workers: Workers,
}

impl Workers {
    /// At most `limit` running reconciles in all, of which `lane_limit` are of one lane; 0 means no limit.
    #[must_use]
    pub fn new(limit: u16, lane_limit: u16) -> Self {
        let queue = Queue::fair(limit, lane_limit);
        let tickets = Tickets { queue, waiting: HashMap::new(), issued: 0 };
        Self { tickets: Arc::new(Mutex::new(tickets)), names: SharedNames::default(), limit }
    }

    /// Keeps workers for so many lanes, those that have some and those that have none yet, and a quarter of that always for the latter:
    /// a lane gets a second one only while more are free. Fewer lanes than that in which everything hangs leave workers to all others, and
    /// in a lane in which one reconcile hangs, others run.
    ///
    /// ```
    /// use kube_runtime::controller::Workers;
    ///
    /// // Up to 31 lanes may hang. One that works has 8, eight have 40 together, and 24 or more have 56.
    /// let workers = Workers::new(64, 8).with_reserve(32);
    /// # drop(workers);
    /// ```
    #[must_use]
    pub fn with_reserve(self, workers: u16) -> Self {
        let mut tickets = self.tickets.lock();
        let queue = std::mem::replace(&mut tickets.queue, Queue::new(0));
        tickets.queue = queue.with_reserve(workers);
        drop(tickets);
        self
    }

    /// The lane of this name. Controllers of the same lane are served in the order in which they ask.
    #[must_use]
    pub fn lane(&self, name: &str) -> WorkerLane {
        WorkerLane { name: LaneName::new(Some(name)), workers: self.clone() }
    }
}

impl WorkerLane {
    /// The name of a controller, which it has together with all of these workers that want it.
    pub(super) fn controller_name(&self, wanted: &str) -> ControllerName {
        self.workers.names.name(wanted)
    }

    /// How many reconciles run at once in all; 0 means no limit.
    pub(super) fn limit_of_all(&self) -> u16 {
        self.workers.limit
    }
}

/// Who runs and who waits. A controller has at most one ticket that waits.
struct Tickets {
    /// Tickets, which run until their controller gives them back.
    queue: Queue<u64, (), LaneName>,
    /// Whom to wake when a ticket may run. One that is in the queue and not here belongs to nobody any more.
    waiting: HashMap<u64, Option<Waker>>,
    issued: u64,
}

impl Tickets {
    /// A new ticket, which waits.
    fn issue(&mut self, lane: &LaneName, now: Instant) -> u64 {
        self.issued += 1;
        let ticket = self.issued;
        self.queue.push_in(|_| lane.clone(), ticket, (), now, Priority::Change, now);
        self.waiting.insert(ticket, None);
        ticket
    }

    /// Lets tickets run while there is room. Returns whom to wake.
    fn dispatch(&mut self, now: Instant) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some((ticket, ())) = self.queue.start(now) {
            match self.waiting.remove(&ticket) {
                Some(waker) => wakers.extend(waker),
                None => self.queue.finish(&ticket, now),
            }
        }
        release(&mut self.waiting);
        wakers
    }
}

/// The workers of one controller. Without a lane there are as many as it wants.
pub(crate) struct OwnWorkers {
    lane: Option<WorkerLane>,
    /// The ticket that was asked for; it may run meanwhile.
    asked: Option<u64>,
    /// Those of its running reconciles, and perhaps more.
    running: Vec<u64>,
}

impl OwnWorkers {
    pub(crate) fn new(lane: Option<WorkerLane>) -> Self {
        Self { lane, asked: None, running: Vec::new() }
    }

    /// Whether reconciles need a worker at all. If not, none of the other methods has to be called.
    pub(crate) fn are_shared(&self) -> bool {
        self.lane.is_some()
    }

    /// Whether one more reconcile may start. If not, [`poll_granted`](Self::poll_granted) says when.
    pub(crate) fn acquire(&mut self, now: Instant) -> bool {
        let Some(WorkerLane { name, workers }) = &self.lane else { return true };
        let mut tickets = workers.tickets.lock();
        let ticket = self.asked.unwrap_or_else(|| tickets.issue(name, now));
        let wakers = tickets.dispatch(now);
        let granted = !tickets.waiting.contains_key(&ticket);
        drop(tickets);
        wakers.into_iter().for_each(Waker::wake);
        self.asked = (!granted).then_some(ticket);
        if granted {
            self.running.push(ticket);
        }
        granted
    }

    /// Gives back what more than so many reconciles have.
    pub(crate) fn keep(&mut self, reconciles: usize) {
        if self.running.len() > reconciles {
            let unused = self.running.split_off(reconciles);
            self.give_back(&unused, Instant::now());
        }
    }

    /// Asks for no worker any more.
    pub(crate) fn withdraw(&mut self) {
        if let (Some(ticket), Some(lane)) = (self.asked.take(), &self.lane) {
            let waited = lane.workers.tickets.lock().waiting.remove(&ticket).is_some();
            if !waited {
                self.give_back(&[ticket], Instant::now());
            }
        }
    }

    /// Ready if a worker that was asked for is there.
    pub(crate) fn poll_granted(&self, cx: &Context<'_>) -> Poll<()> {
        let (Some(ticket), Some(lane)) = (self.asked, &self.lane) else { return Poll::Pending };
        match lane.workers.tickets.lock().waiting.get_mut(&ticket) {
            None => Poll::Ready(()),
            Some(waker) => {
                *waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn give_back(&self, unused: &[u64], now: Instant) {
        let Some(lane) = &self.lane else { return };
        let mut tickets = lane.workers.tickets.lock();
        unused.iter().for_each(|ticket| tickets.queue.finish(ticket, now));
        let wakers = tickets.dispatch(now);
        drop(tickets);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Drop for OwnWorkers {
    fn drop(&mut self) {
        if self.lane.is_some() {
            self.withdraw();
            self.keep(0);
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("waiting", &self.tickets.lock().waiting.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for WorkerLane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLane").field("name", &self.name.as_str()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::task::{ArcWake, waker};
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        time::Duration,
    };
    use tokio::time::advance;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl ArcWake for Woken {
        fn wake_by_ref(arc_self: &Arc<Self>) {
            arc_self.0.store(true, Ordering::Relaxed);
        }
    }

    fn now() -> Instant {
        Instant::now()
    }

    fn of(workers: &Workers, lane: &str) -> OwnWorkers {
        OwnWorkers::new(Some(workers.lane(lane)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_lane_at_its_limit_delays_no_other_and_the_limit_of_all_holds() {
        let workers = Workers::new(3, 2);
        let (mut hanging, mut other) = (of(&workers, "hanging"), of(&workers, "other"));
        assert!(hanging.acquire(now()) && hanging.acquire(now()) && !hanging.acquire(now()));
        assert!(other.acquire(now()) && !other.acquire(now()), "the limit of all");
        let woken = Arc::new(Woken::default());
        let waker = waker(Arc::clone(&woken));
        assert!(other.poll_granted(&Context::from_waker(&waker)).is_pending());
        hanging.keep(1);
        assert!(woken.0.load(Ordering::Relaxed));
        assert!(other.poll_granted(&Context::from_waker(&waker)).is_ready());
        assert!(other.acquire(now()) && !other.acquire(now()));
    }

    /// Whatever they ask for, and in whatever order they come.
    #[tokio::test(start_paused = true)]
    async fn lanes_that_hang_leave_a_worker_to_others() {
        for count in [1_usize, 8, 20, 31] {
            for at_once in [false, true] {
                let workers = Workers::new(64, 8).with_reserve(32);
                let lane = |number| of(&workers, &format!("h{number}"));
                let mut hanging: Vec<_> = (0..count).map(lane).collect();
                for _ in 0..if at_once { 1 } else { 8 } {
                    hanging.iter_mut().for_each(|lane| while lane.acquire(now()) && at_once {});
                }
                let taken: usize = hanging.iter().map(|lane| lane.running.len()).sum();
                assert!(taken >= 32.min(count * 8), "{count} have {taken}: the others are for all");
                let mut healthy = of(&workers, "healthy");
                for _ in 0..3 {
                    assert!(healthy.acquire(now()), "{count} hang and have {taken}");
                    healthy.keep(0);
                }
            }
        }
        let workers = Workers::new(2, 0).with_reserve(1);
        let (mut long, mut other) = (of(&workers, "long"), of(&workers, "other"));
        assert!(long.acquire(now()) && !long.acquire(now()), "the last is for another");
        assert!(other.acquire(now()));
        long.keep(0);
        assert!(long.acquire(now()));
    }

    /// The same program runs everywhere, so the same kind of object may hang everywhere.
    #[tokio::test(start_paused = true)]
    async fn one_that_hangs_in_each_of_many_lanes_does_not_stop_the_others_of_its_lane() {
        let workers = Workers::new(64, 8).with_reserve(32);
        let mut lanes: Vec<_> = (0..40).map(|number| of(&workers, &format!("l{number}"))).collect();
        for lane in &mut lanes {
            assert!(lane.acquire(now()));
        }
        for lane in &mut lanes {
            for _ in 0..3 {
                assert!(lane.acquire(now()));
                lane.keep(1);
            }
        }
        lanes.iter_mut().for_each(|lane| while lane.acquire(now()) {});
        assert!(of(&workers, "another").acquire(now()));

        for (lanes, expected) in [(1, 8), (8, 40), (24, 56)] {
            let workers = Workers::new(64, 8).with_reserve(32);
            let mut lanes: Vec<_> = (0..lanes).map(|number| of(&workers, &format!("l{number}"))).collect();
            lanes.iter_mut().for_each(|lane| while lane.acquire(now()) {});
            lanes.iter_mut().for_each(|lane| while lane.acquire(now()) {});
            assert_eq!(lanes.iter().map(|lane| lane.running.len()).sum::<usize>(), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn long_reconciles_do_not_get_more_workers_than_brief_ones() {
        let workers = Workers::new(1, 0);
        let (mut long, mut brief) = (of(&workers, "long"), of(&workers, "brief"));
        let mut time = [Duration::ZERO; 2];
        for _ in 0..2_000 {
            // Each runs what it can and asks for more, as a controller with a backlog does.
            while long.acquire(now()) {}
            while brief.acquire(now()) {}
            let runs_long = !long.running.is_empty();
            let took = Duration::from_millis(if runs_long { 400 } else { 20 });
            advance(took).await;
            time[usize::from(runs_long)] += took;
            long.keep(0);
            brief.keep(0);
        }
        let share = time[1].as_secs_f64() / (time[0] + time[1]).as_secs_f64();
        assert!((0.4..0.6).contains(&share), "{share}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_dropped_or_withdrawn_is_free_again_and_leaves_nothing() {
        let workers = Workers::new(1, 0);
        let (mut first, mut second, mut third) = (of(&workers, "a"), of(&workers, "b"), of(&workers, "c"));
        assert!(first.acquire(now()) && !second.acquire(now()) && !third.acquire(now()));
        drop(second); // before its turn
        drop(first);
        assert!(third.acquire(now()), "the turn passes over what was dropped");
        let mut fourth = of(&workers, "d");
        assert!(!fourth.acquire(now()));
        drop(third);
        fourth.withdraw(); // it was granted meanwhile
        assert!(of(&workers, "e").acquire(now()));
        let tickets = workers.tickets.lock();
        assert!(tickets.queue.is_empty() && tickets.waiting.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_lane_there_is_no_limit() {
        let mut own = OwnWorkers::new(None);
        assert!((0..1_000).all(|_| own.acquire(now())));
        assert!(own.running.is_empty(), "and nothing is counted");
    }
}
