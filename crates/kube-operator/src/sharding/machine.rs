//! The state machine of one member: which Leases it reads and writes, and which keys it may reconcile. No I/O.
//!
//! Each member has a Lease. When it renews the Lease, it also publishes its *view* there: the list of the members that it knows. A view
//! assigns each key to one of its members, the owner (see [`super::rendezvous`]). A member that publishes a view *claims* the keys that it
//! owns in it.
//!
//! Why two members never reconcile one key at the same time:
//!
//! - A member publishes its view, then lists the Leases of the group. It reconciles a key only if it claims the key and no view in that
//!   list claims the key for another live member. If two members claim a key, the one that published its view later finds the claim of the
//!   other in its list, and does not reconcile the key.
//! - A member that is to lose keys stops their reconciles first, and then publishes the view without these keys.
//! - A member that could not renew its Lease within the renew deadline stops all reconciles and joins again. The others keep it in their
//!   views for a whole lease duration, which is longer, after they saw its last renewal. Each member measures these times with its own
//!   monotonic clock, as in [`crate::leader_election`].
//! - A member whose Lease was deleted, or lost the label of the group, stops everything and joins again. The others count on it until the
//!   Lease would have expired. Where a Lease with its name exists without the label, it takes that over, unless another program holds it.
//! - A response that arrives after the renew deadline counts as a failure: the process may have been suspended, and others may have taken
//!   its keys. A member that lost its Lease ends its attempt, so that its controllers stop before it joins again.
//!
//! Why each key has an owner after a change: after one list each, all members know the same Leases, so their views are equal, and in equal
//! views exactly one member claims a key.

use super::{
    claims::Claims,
    other_member::{OtherMember, VIEW_ANNOTATION, view_of},
    rendezvous::View,
};
use crate::leader_election::{self, time_to_stop, whole_seconds};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The label of the Leases of a group, with its name.
pub(super) const GROUP_LABEL: &str = "sharding-group";
/// A Lease that was not renewed for this many lease durations is deleted.
const DELETE_AFTER: u32 = 10;

/// A member of a group.
#[derive(Debug)]
pub(super) struct Machine {
    group: String,
    identity: Arc<str>,
    lease_duration: Duration,
    lease_seconds: i32,
    renew_deadline: Duration,
    request_timeout: Duration,
    time_to_stop: Duration,
    /// The own Lease as last stored; `None` where that is not known.
    own: Option<Lease>,
    /// The view of the last confirmed write.
    view: View,
    /// When the last confirmed write was sent.
    renewed: Option<Instant>,
    /// Whether a list was received that was sent after this member published its first view.
    listed: bool,
    /// The own views that were published after the last list, without `view`.
    unlisted: Vec<View>,
    others: BTreeMap<String, OtherMember>,
    /// The view to publish next. It is published when this member has stopped the reconciles of the keys that it does not own there. It is
    /// kept until a write is confirmed, or until this member stops everything: a write that failed may have reached the server, or reach it
    /// later.
    next_view: Option<View>,
    /// Whether the reconciles of keys that `next_view` takes away have stopped.
    drained: bool,
    /// The claims that were last assigned to the controllers.
    assigned: Claims,
    /// Set when this member stops everything, until its reconciles have ended: when those that still run have to be cancelled, because
    /// others may take over.
    cancel_at: Option<Instant>,
    leaving: bool,
    /// Who holds the Lease with the name of this member's, if that is somebody else's.
    occupied_by: Option<String>,
}

/// What the controllers are to reconcile from now on.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) claims: Claims,
    /// When reconciles of other keys are to be cancelled.
    pub(super) cancel_at: Option<Instant>,
}

/// What to send to the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// The Leases of the group, consistent with all writes before (no resourceVersion).
    List,
    Create(Box<Lease>),
    /// With the resourceVersion of the own Lease.
    Replace(Box<Lease>),
    /// The Lease of this name, whatever its labels.
    Find(String),
    /// An abandoned Lease, in this resourceVersion.
    Delete(String, String),
}

/// What came of a [`Request`].
#[derive(Debug)]
pub(super) enum Response {
    Leases(Vec<Lease>),
    Lease(Box<Lease>),
    Deleted,
    /// The Lease does not exist, or is not the one that was replaced.
    Conflict,
    /// Anything else. A write may have been stored, or may be stored later.
    Failed,
}

impl Machine {
    /// `config` is valid; its name is that of the group.
    pub(super) fn new(config: &leader_election::Config, identity: String) -> Self {
        let identity: Arc<str> = identity.into();
        Self {
            group: config.name.clone(),
            lease_duration: config.lease_duration,
            lease_seconds: whole_seconds(config.lease_duration).unwrap_or(i32::MAX),
            renew_deadline: config.renew_deadline,
            request_timeout: config.renew_deadline / 2,
            time_to_stop: time_to_stop(config),
            assigned: Claims { member: Arc::clone(&identity), ..Claims::default() },
            cancel_at: None,
            identity,
            own: None,
            view: View::default(),
            renewed: None,
            listed: false,
            unlisted: Vec::new(),
            others: BTreeMap::new(),
            next_view: None,
            drained: false,
            leaving: false,
            occupied_by: None,
        }
    }

    /// The first request of an attempt to renew the own Lease and to read those of the others. `wall` is stored, for people only.
    pub(super) fn attempt(&mut self, wall: Timestamp) -> Request {
        match self.own.clone() {
            Some(own) => self.write(own, wall),
            None => Request::List,
        }
    }

    /// Until when to wait for the response of a request that is sent at `sent`.
    pub(super) fn limit(&self, sent: Instant) -> Instant {
        let timeout = sent + self.request_timeout;
        self.deadline().map_or(timeout, |deadline| deadline.min(timeout))
    }

    /// The next request, or `None` at the end of the attempt. `sent` is when the request was sent.
    pub(super) fn respond(
        &mut self,
        request: Request,
        response: Response,
        sent: Instant,
        now: Instant,
        wall: Timestamp,
    ) -> Option<Request> {
        if self.expire(now) {
            self.abandon(request);
            return None;
        }
        match (request, response) {
            (Request::List, Response::Leases(leases)) => {
                let own = self.observe(leases, sent, now);
                if self.own.is_none() {
                    let as_written = own.as_ref().is_some_and(|own| self.has_written(own));
                    if self.renewed.is_some() && !as_written {
                        self.lose(now); // another client deleted or changed it: others may count on this member no more
                        return None;
                    }
                    return match own {
                        None if self.leaving => None,
                        own => Some(self.write(own.unwrap_or_else(|| self.new_lease()), wall)),
                    };
                }
                self.listed = true;
                self.unlisted.clear();
                self.plan(sent);
                self.next_deletion(now)
            }
            (Request::Create(written) | Request::Replace(written), Response::Lease(stored)) => {
                if self.leaving {
                    return None;
                }
                self.written(&written, *stored, sent);
                (!self.expire(now)).then_some(Request::List)
            }
            // It exists without the label of the group, so that it was not in the list.
            (Request::Create(_), Response::Conflict) => Some(Request::Find(self.lease_name())),
            (Request::Find(_), Response::Leases(mut leases)) => {
                let lease = leases.pop()?;
                self.occupied_by = self.other_holder(&lease);
                self.occupied_by.is_none().then(|| self.write(lease, wall))
            }
            (request @ (Request::Create(_) | Request::Replace(_)), _) => {
                self.abandon(request);
                None
            }
            (Request::Delete(name, _), Response::Deleted | Response::Conflict) => {
                self.others.remove(&name);
                None
            }
            _ => None,
        }
    }

    /// Notes that `request` failed or was abandoned: a write may have been stored, or may be stored later.
    fn abandon(&mut self, request: Request) {
        if matches!(request, Request::Create(_) | Request::Replace(_)) {
            self.own = None;
        }
    }

    /// Stops everything if the renew deadline has passed. Returns whether it has.
    fn expire(&mut self, now: Instant) -> bool {
        let passed = self.deadline().filter(|deadline| *deadline <= now);
        if let Some(deadline) = passed {
            self.lose(deadline);
        }
        passed.is_some()
    }

    /// What to assign to the controllers, if that has changed. To be called at the end of an attempt, and at the deadline.
    pub(super) fn assign(&mut self, now: Instant) -> Option<Change> {
        self.expire(now);
        let claims = self.claims();
        if claims == self.assigned {
            return None;
        }
        self.assigned = claims.clone();
        Some(Change { claims, cancel_at: self.cancel_at })
    }

    /// Notes that no key outside of what was last assigned is being reconciled. Returns whether a view can be published now.
    pub(super) fn stopped(&mut self) -> bool {
        self.cancel_at = None;
        self.drained |= self.next_view.is_some() && self.assigned == self.claims();
        self.drained
    }

    /// Until when this member may reconcile unless it renews.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.renewed? + self.renew_deadline)
    }

    /// What this member may reconcile until its deadline.
    fn claims(&self) -> Claims {
        let mut claims = Claims { member: Arc::clone(&self.identity), ..Claims::default() };
        if self.renewed.is_none() || !self.listed || self.leaving {
            return claims;
        }
        claims.own.push(self.view.clone());
        let more = self.unlisted.iter().chain(&self.next_view);
        claims.own.extend(more.filter(|view| **view != self.view).cloned());
        for other in self.others.values().filter(|other| other.live) {
            claims.add_other(&other.view, Arc::clone(&other.identity));
        }
        claims
    }

    /// Whether the Lease says what this member wrote last, confirmed or not.
    fn has_written(&self, lease: &Lease) -> bool {
        let (view, spec) = (view_of(lease), lease.spec.as_ref());
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref());
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        holder == Some(&*self.identity)
            && seconds == Some(self.lease_seconds)
            && (view == self.view || self.next_view.as_ref() == Some(&view))
    }

    /// The holder of a Lease with the name of this member's, if it is another program's.
    fn other_holder(&self, lease: &Lease) -> Option<String> {
        let holder = lease.spec.as_ref()?.holder_identity.clone()?;
        (!holder.is_empty() && *holder != *self.identity).then_some(holder)
    }

    /// Who keeps this member out of the group, because it holds the Lease with the name of this member's.
    pub(super) fn occupied_by(&self) -> Option<&str> {
        self.occupied_by.as_deref()
    }

    /// The identities of the members in the current view. None while this member holds no Lease.
    pub(super) fn members(&self) -> Vec<String> {
        if self.renewed.is_none() {
            return Vec::new();
        }
        self.view.names().map(|name| name.to_string()).collect()
    }

    /// Claims nothing any more. Returns when the reconciles that still run then have to be cancelled.
    pub(super) fn stop(&mut self, now: Instant) -> Instant {
        self.leaving = true;
        self.lose(self.deadline().unwrap_or(now))
    }

    /// The first request of leaving the group, after everything has stopped: the others need not wait for the expiry.
    pub(super) fn leave(&mut self, wall: Timestamp) -> Request {
        self.own = None; // the last write may have been abandoned
        self.attempt(wall)
    }

    /// Stops everything. Returns when what still runs then has to be cancelled, after a time to stop that began at `since`.
    fn lose(&mut self, since: Instant) -> Instant {
        self.renewed = None;
        self.listed = false;
        self.own = None;
        self.next_view = None;
        self.drained = false;
        // An earlier loss counts until what it takes away has stopped, even if this member has joined anew meanwhile.
        *self.cancel_at.get_or_insert(since + self.time_to_stop)
    }

    /// Returns the own Lease if it is among `leases`, the response at `now` to a list that was sent at `sent`.
    fn observe(&mut self, leases: Vec<Lease>, sent: Instant, now: Instant) -> Option<Lease> {
        let mut own = None;
        let mut seen = BTreeMap::new();
        for lease in leases {
            let name = lease.metadata.name.clone().unwrap_or_default();
            if name == self.lease_name() {
                own = Some(lease);
                continue;
            }
            let known = self
                .others
                .remove(&name)
                .filter(|known| known.lease.spec == lease.spec && known.view == view_of(&lease));
            let since = known.map_or(now, |known| known.since);
            seen.insert(name, OtherMember::new(lease, since, self.lease_duration));
        }
        // A Lease that was deleted counts until its expiry: its member may not know yet.
        self.others.retain(|_, other| !other.is_released() && other.expires > sent);
        self.others.append(&mut seen);
        own
    }

    /// Computes the next view by a list that was sent at `sent`: the members whose Leases were valid then, because they may have renewed
    /// them since.
    fn plan(&mut self, sent: Instant) {
        for other in self.others.values_mut() {
            other.live = !other.is_released() && other.expires > sent;
        }
        let live = self.others.values().filter(|other| other.live);
        let members: View = live.map(|other| &other.identity).chain([&self.identity]).cloned().collect();
        if self.next_view.as_ref() != Some(&members) {
            self.drained = false;
            self.next_view = (members != self.view).then_some(members);
        }
    }

    /// The deletion of a Lease whose member stopped long ago without deleting it.
    fn next_deletion(&self, now: Instant) -> Option<Request> {
        let limit = self.lease_duration.saturating_mul(DELETE_AFTER);
        let (name, other) = self.others.iter().find(|(_, other)| now.duration_since(other.since) > limit)?;
        let version = other.lease.metadata.resource_version.clone()?;
        Some(Request::Delete(name.clone(), version))
    }

    /// Stores the own Lease: with the next view if what it takes away has stopped, with the current one otherwise.
    fn write(&self, mut lease: Lease, wall: Timestamp) -> Request {
        // After a loss, the current view may claim keys that others have taken over. It is acted on only after a list.
        let view = match &self.next_view {
            _ if self.leaving => &View::default(),
            Some(next) if self.drained => next,
            _ => &self.view,
        };
        let spec = lease.spec.get_or_insert_default();
        spec.renew_time = Some(MicroTime(wall));
        spec.lease_duration_seconds = Some(self.lease_seconds);
        spec.holder_identity = (!self.leaving).then(|| self.identity.to_string());
        let names: Vec<&str> = view.names().map(|name| &**name).collect();
        lease.metadata.annotations.get_or_insert_default().insert(VIEW_ANNOTATION.into(), names.join(","));
        lease.metadata.labels.get_or_insert_default().insert(GROUP_LABEL.into(), self.group.clone());
        match lease.metadata.resource_version {
            Some(_) => Request::Replace(Box::new(lease)),
            None => Request::Create(Box::new(lease)),
        }
    }

    fn written(&mut self, written: &Lease, stored: Lease, sent: Instant) {
        let view = view_of(written);
        if self.renewed.is_none() {
            self.listed = false;
            self.unlisted.clear();
        } else if view != self.view {
            self.unlisted.push(self.view.clone());
        }
        if self.next_view.as_ref() == Some(&view) {
            self.next_view = None;
            self.drained = false;
        }
        self.view = view;
        self.occupied_by = None;
        self.own = Some(stored);
        self.renewed = Some(sent);
    }

    fn new_lease(&self) -> Lease {
        let metadata = ObjectMeta { name: Some(self.lease_name()), ..ObjectMeta::default() };
        Lease { metadata, spec: Some(LeaseSpec::default()) }
    }

    /// The identity is part of it, so that members do not share a Lease.
    pub(super) fn lease_name(&self) -> String {
        format!("{}-{}", self.group, self.identity)
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
