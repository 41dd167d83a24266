//! Latencies, lost requests and responses, partitions, stalled processes, suspended machines, restarts, clocks that run at different rates,
//! and wall clocks that jump.

use k8s_openapi::jiff::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

const TICK: Duration = Duration::from_millis(100);

/// The time that all share, and the faults.
pub(crate) struct World {
    pub(crate) rng: fastrand::Rng,
    pub(crate) tick: u64,
    start: Instant,
    pub(crate) faults: bool,
    /// Whether the clocks of processes go on while their machines are suspended.
    pub(crate) clocks_count_suspension: bool,
    /// Whether people delete and edit Leases.
    pub(crate) edits: bool,
    /// Until when an edit excuses what must not happen otherwise.
    excused_until: u64,
}

/// A process and its connection: at most one request is in flight.
pub(crate) struct Node<Request, Response> {
    /// Local seconds per true second.
    rate: f64,
    /// When its timer fires.
    pub(crate) next: Instant,
    pub(crate) call: Option<Call<Request, Response>>,
    /// The tick until which the process does not run.
    pub(crate) stalled_until: u64,
    partitioned_until: u64,
    /// When its machine was suspended last.
    suspended_from: u64,
    suspended_until: u64,
    /// For how many ticks before.
    suspended: u64,
}

/// A request in flight.
pub(crate) struct Call<Request, Response> {
    pub(crate) request: Request,
    pub(crate) sent: Instant,
    /// The tick at which the server handles it, unless it is lost.
    pub(crate) arrives: Option<u64>,
    /// The tick at which the response arrives, unless it is lost.
    pub(crate) returns: Option<u64>,
    pub(crate) response: Option<Response>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed),
            tick: 0,
            start: Instant::now(),
            faults: true,
            clocks_count_suspension: true,
            edits: false,
            excused_until: 0,
        }
    }

    pub(crate) fn node<Request, Response>(&mut self) -> Node<Request, Response> {
        Node {
            rate: 0.95 + self.rng.f64() * 0.1,
            next: self.start,
            call: None,
            stalled_until: 0,
            partitioned_until: 0,
            suspended_from: 0,
            suspended_until: 0,
            suspended: 0,
        }
    }

    /// The time that its clock shows.
    pub(crate) fn local<Request, Response>(&self, node: &Node<Request, Response>) -> Instant {
        let last = self.tick.min(node.suspended_until) - node.suspended_from;
        let stood_still = if self.clocks_count_suspension { 0 } else { node.suspended + last };
        self.start + ticks(self.tick - stood_still).mul_f64(node.rate)
    }

    /// Any time at all: nothing may depend on it.
    pub(crate) fn wall(&mut self) -> Timestamp {
        Timestamp::from_second(self.rng.i64(0..4_000_000_000)).expect("in range")
    }

    /// Whether a person edits a Lease now, which excuses overlaps for so many ticks.
    pub(crate) fn is_edited(&mut self, excuse: u64) -> bool {
        let edited = self.faults && self.edits && self.rng.u32(0..600) == 0;
        if edited {
            self.excused_until = self.tick + excuse;
        }
        edited
    }

    pub(crate) fn is_excused(&self) -> bool {
        self.tick <= self.excused_until
    }

    /// Stalls, partitions and suspends the process at random. Returns whether it is restarted: a new process has no memory.
    pub(crate) fn disturb<Request, Response>(&mut self, node: &mut Node<Request, Response>) -> bool {
        if !self.faults {
            return false;
        }
        if self.rng.u32(0..2000) == 0 {
            node.stalled_until = self.tick + self.rng.u64(0..400);
        }
        if self.rng.u32(0..1000) == 0 {
            node.partitioned_until = self.tick + self.rng.u64(0..400);
        }
        if self.tick >= node.stalled_until && self.rng.u32(0..2000) == 0 {
            let length = self.rng.u64(0..400);
            node.stalled_until = self.tick + length;
            node.next += ticks(length).mul_f64(node.rate); // its timers fire later by that, whatever its clock shows
            node.suspended += node.suspended_until - node.suspended_from;
            (node.suspended_from, node.suspended_until) = (self.tick, self.tick + length);
        }
        let restarted = self.rng.u32(0..4000) == 0;
        if restarted {
            node.call = None;
        }
        restarted
    }

    /// Sends a request, which may be lost, as its response.
    pub(crate) fn send<Request, Response>(&mut self, node: &mut Node<Request, Response>, request: Request) {
        let sent = self.local(node);
        let lost = self.faults && (self.tick < node.partitioned_until || self.rng.u32(0..20) == 0);
        let slow = if self.faults && self.rng.u32(0..10) == 0 { 120 } else { 3 };
        let arrives = (!lost).then(|| self.tick + self.rng.u64(0..slow));
        let response_lost = self.faults && self.rng.u32(0..20) == 0;
        let returns = arrives.filter(|_| !response_lost).map(|arrives| arrives + self.rng.u64(1..=slow));
        node.call = Some(Call { request, sent, arrives, returns, response: None });
    }

    /// The server handles the request of the process if it arrives now, whatever the process does meanwhile.
    pub(crate) fn arrive<Request, Response>(
        &self,
        node: &mut Node<Request, Response>,
        handle: impl FnOnce(&Request) -> Response,
    ) {
        if let Some(call) = &mut node.call
            && call.arrives.is_some_and(|arrives| arrives <= self.tick)
        {
            call.arrives = None;
            call.response = Some(handle(&call.request));
        }
    }

    /// Whether the response to this request is there.
    pub(crate) fn has_returned<Request, Response>(&self, call: &Call<Request, Response>) -> bool {
        call.returns.is_some_and(|returns| returns <= self.tick)
    }

    /// From now on everything works.
    pub(crate) fn end_faults<'a, Request: 'a, Response: 'a>(
        &mut self,
        nodes: impl Iterator<Item = &'a mut Node<Request, Response>>,
    ) {
        self.faults = false;
        for node in nodes {
            (node.stalled_until, node.partitioned_until) = (0, 0);
            node.next = node.next.min(self.start + ticks(self.tick));
        }
    }
}

fn ticks(count: u64) -> Duration {
    TICK * u32::try_from(count).expect("few ticks")
}
