//! The state machine of one candidate: when it reads and writes the Lease, and whether it leads. No I/O.
//!
//! Why two candidates never lead at once: a leader stops leading `renew_deadline` after it *sent* the last write that the server
//! confirmed. The others see that write later than it was sent, and wait for the whole lease duration from then on. All of them measure
//! monotonic time between local events and never compare clocks, so neither a wrong wall clock nor a slow response makes two leaders.
//! What is left is the rate at which clocks run: they may differ by the ratio of lease duration and renew deadline. The instants are those
//! of a [`Clock`](crate::clock::Clock) that goes on while the machine is suspended, so a leader that slept for too long wakes up without
//! the leadership.
//!
//! People who delete the Lease, or change its holder or duration, can make two leaders: until the old one's next renewal, at most until its
//! renew deadline. `docs/design/leases-edited-by-hand.md` says why that is not prevented.

use super::config::{Config, whole_seconds};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use std::time::Duration;
use tokio::time::Instant;

/// A candidate for one Lease.
#[derive(Debug)]
pub(super) struct Machine {
    name: String,
    identity: String,
    lease_duration: Duration,
    lease_seconds: i32,
    renew_deadline: Duration,
    retry_period: Duration,
    observed: Option<Observed>,
    /// When the last confirmed write as the holder was sent. Set while this candidate leads.
    renewed: Option<Instant>,
    /// Whether `observed` may be what the server has. Otherwise the Lease is read before it is written.
    current: bool,
    /// Whether this attempt already read the Lease again after a conflict.
    repeated: bool,
    /// Whether the server may have stored this candidate as the holder, confirmed or not.
    may_hold: bool,
    /// Whether the Lease is to be given up.
    releasing: bool,
}

/// The Lease as this candidate last saw it.
#[derive(Debug)]
struct Observed {
    lease: Lease,
    /// When its spec was first seen: other clocks play no part.
    since: Instant,
}

/// What to send to the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    Read,
    Create(Box<Lease>),
    /// With the resourceVersion of the Lease that was read, so that a concurrent write is a conflict.
    Replace(Box<Lease>),
}

/// What came of a [`Request`].
#[derive(Debug)]
pub(super) enum Response {
    /// The Lease as it was read or written.
    Lease(Box<Lease>),
    NotFound,
    /// The Lease was changed or created by another client.
    Conflict,
    /// Anything else. A write may have been stored.
    Failed,
}

impl Machine {
    /// `config` is valid.
    pub(super) fn new(config: &Config, identity: String) -> Self {
        Self {
            name: config.name.clone(),
            identity,
            lease_duration: config.lease_duration,
            lease_seconds: whole_seconds(config.lease_duration).unwrap_or(i32::MAX),
            renew_deadline: config.renew_deadline,
            retry_period: config.retry_period,
            observed: None,
            renewed: None,
            current: false,
            repeated: false,
            may_hold: false,
            releasing: false,
        }
    }

    /// The first request of an attempt to acquire or renew the Lease. `wall` is stored in the Lease, for people only.
    pub(super) fn attempt(&mut self, wall: Timestamp) -> Request {
        self.repeated = false;
        if self.current && self.renewed.is_some() { self.write(wall) } else { Request::Read }
    }

    /// The first request of giving the Lease up, if this candidate may hold it: then another one need not wait for its expiry. It does not
    /// lead any more from now on.
    pub(super) fn release(&mut self, wall: Timestamp) -> Option<Request> {
        self.renewed = None;
        self.repeated = false;
        self.releasing = true;
        self.may_hold.then(|| if self.current { self.write(wall) } else { Request::Read })
    }

    /// Competes again after it gave the Lease up.
    pub(super) fn campaign_again(&mut self) {
        self.releasing = false;
    }

    /// The next request, or `None` at the end of the attempt. `sent` is when the request was sent.
    pub(super) fn respond(
        &mut self,
        request: &Request,
        response: Response,
        sent: Instant,
        now: Instant,
        wall: Timestamp,
    ) -> Option<Request> {
        match (request, response) {
            (Request::Read, Response::Lease(lease)) => {
                self.observe(*lease, now);
                self.may_write(now).then(|| self.write(wall))
            }
            (Request::Read, Response::NotFound) => {
                // The deletion of a Lease does not stop its holder: `observed` stays.
                self.renewed = None;
                self.current = false;
                self.may_hold = false;
                self.may_write(now).then(|| self.create(wall))
            }
            (Request::Create(_) | Request::Replace(_), Response::Lease(lease)) => {
                self.observed = Some(Observed { lease: *lease, since: now });
                self.current = true;
                if !self.releasing {
                    self.renewed = Some(sent);
                    self.expire(now);
                }
                None
            }
            (Request::Create(_) | Request::Replace(_), Response::Conflict | Response::NotFound) => {
                self.current = false;
                let again = !self.repeated;
                self.repeated = true;
                again.then_some(Request::Read)
            }
            (_, Response::Conflict | Response::Failed) => {
                self.current = false;
                None
            }
        }
    }

    /// Notes that the attempt was abandoned: its last write may have been stored or not.
    pub(super) fn abandon(&mut self) {
        self.current = false;
    }

    /// Requests go to another cluster now, of whose Lease nothing is known: there it does not lead.
    pub(super) fn another_cluster(&mut self) {
        (self.observed, self.renewed) = (None, None);
        (self.current, self.may_hold) = (false, false);
    }

    /// Stops leading if the renew deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.renewed = None;
        }
    }

    /// Until when this candidate leads unless it renews; `None` if it does not lead.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.renewed? + self.renew_deadline)
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// The holder that the Lease names, if it names one.
    pub(super) fn holder(&self) -> Option<&str> {
        self.observed.as_ref().and_then(|observed| holder(&observed.lease))
    }

    /// When to begin the next attempt, after one that began at `began`. A candidate also looks when the Lease of another expires.
    pub(super) fn next_attempt(&self, began: Instant) -> Instant {
        let period = began + self.retry_period;
        match self.other_holder_until() {
            Some(expiry) if expiry > began => period.min(expiry),
            _ => period,
        }
    }

    fn observe(&mut self, lease: Lease, now: Instant) {
        let same = self.observed.as_ref().filter(|observed| observed.lease.spec == lease.spec);
        let since = same.map_or(now, |observed| observed.since);
        if holder(&lease) != Some(self.identity.as_str()) {
            self.renewed = None;
            self.may_hold = false;
        }
        self.observed = Some(Observed { lease, since });
        self.current = true;
    }

    /// Whether this candidate holds the Lease, to give it up, or no other candidate can hold it at `now`.
    fn may_write(&self, now: Instant) -> bool {
        if self.releasing {
            return self.holder() == Some(self.identity.as_str()) && self.current;
        }
        self.other_holder_until().is_none_or(|expiry| expiry <= now)
    }

    /// When the Lease of another candidate expires if it is not renewed.
    fn other_holder_until(&self) -> Option<Instant> {
        let observed = self.observed.as_ref()?;
        holder(&observed.lease).filter(|holder| *holder != self.identity)?;
        let seconds = observed.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let duration = seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
        Some(observed.since + duration.map_or(self.lease_duration, Duration::from_secs))
    }

    /// Replaces the Lease that was read last.
    fn write(&mut self, wall: Timestamp) -> Request {
        let Some(observed) = &self.observed else { return Request::Read };
        let mut lease = observed.lease.clone();
        let spec = lease.spec.get_or_insert_default();
        let transition = i32::from(spec.holder_identity.as_deref() != Some(&self.identity));
        let transitions = spec.lease_transitions.unwrap_or(0).saturating_add(transition);
        if self.releasing {
            released(spec, wall)
        } else {
            self.hold(spec, transitions, wall)
        }
        Request::Replace(Box::new(lease))
    }

    fn create(&mut self, wall: Timestamp) -> Request {
        let mut spec = LeaseSpec::default();
        self.hold(&mut spec, 0, wall);
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        Request::Create(Box::new(Lease { metadata, spec: Some(spec) }))
    }

    /// Names this candidate as the holder.
    fn hold(&mut self, spec: &mut LeaseSpec, transitions: i32, wall: Timestamp) {
        self.may_hold = true;
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            spec.holder_identity = Some(self.identity.clone());
            spec.acquire_time = Some(MicroTime(wall));
            spec.lease_transitions = Some(transitions);
        }
        spec.lease_duration_seconds = Some(self.lease_seconds);
        spec.renew_time = Some(MicroTime(wall));
    }
}

/// No holder, as client-go leaves a Lease that it gives up.
fn released(spec: &mut LeaseSpec, wall: Timestamp) {
    spec.holder_identity = None;
    spec.lease_duration_seconds = Some(1);
    spec.acquire_time = Some(MicroTime(wall));
    spec.renew_time = Some(MicroTime(wall));
}

fn holder(lease: &Lease) -> Option<&str> {
    lease.spec.as_ref()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
