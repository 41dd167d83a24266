//! The decisions of one member: which Leases it reads and writes, and which keys it may reconcile. No I/O.
//!
//! Each member has a Lease that it renews, with the *view* that it acts on: the members that it counts on. A view gives each key one owner
//! (see [`super::rendezvous`]); publishing a view claims the keys that its publisher owns in it. Why two members never reconcile one key:
//!
//! - A member reconciles a key only if its own published view gives it the key, and no other live member has published a view that claims it,
//!   as told by a list that was sent after its own view was stored. Of two members that claim a key, at least one sees the other's claim.
//! - Before it publishes a view in which it has fewer keys, it stops what it loses.
//! - A member that could not renew for the renew deadline stops everything, and joins anew; the others count on it until a whole lease
//!   duration after they saw its last renewal. Each measures with its own monotonic clock, as in [`crate::leader_election`].
//!
//! Why no key is left out: all members see the same Leases after one list each, so their views become equal, and then each key has one
//! claim.

use super::{claims::Claims, rendezvous::View};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The label of the Leases of a group, with its name.
pub(super) const GROUP_LABEL: &str = "sharding-group";
/// The annotation with the published view: the identities of its members, separated by commas.
const VIEW_ANNOTATION: &str = "sharding-view";
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
    /// The own Lease as last stored; `None` where that is not known.
    own: Option<Lease>,
    /// The view of the last confirmed write.
    view: View,
    /// Views of writes that failed: each may be stored, or be stored later, until another write is confirmed.
    unconfirmed: Vec<View>,
    /// When the last confirmed write was sent.
    renewed: Option<Instant>,
    /// Whether a list was sent since this member renews.
    listed: bool,
    /// The views between the last list and `view`.
    unlisted: Vec<View>,
    others: BTreeMap<String, Other>,
    /// The view to publish as soon as what it takes away has stopped.
    next_view: Option<View>,
    /// Whether what `next_view` takes away has stopped.
    drained: bool,
    leaving: bool,
}

/// The Lease of another member as this one last saw it.
#[derive(Debug)]
struct Other {
    lease: Lease,
    identity: Arc<str>,
    view: View,
    /// When this content was first seen: other clocks play no part.
    since: Instant,
    expires: Instant,
    /// Whether its member claims what it owns in `view`.
    live: bool,
}

/// What to send to the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Request {
    /// The Leases of the group, consistent with all writes before (no resourceVersion).
    List,
    Create(Box<Lease>),
    /// With the resourceVersion of the own Lease.
    Replace(Box<Lease>),
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
    pub(super) fn new(group: String, identity: String, lease_seconds: i32, renew_deadline: Duration) -> Self {
        Self {
            group,
            identity: identity.into(),
            lease_duration: Duration::from_secs(u64::try_from(lease_seconds).unwrap_or(0)),
            lease_seconds,
            renew_deadline,
            own: None,
            view: View::default(),
            unconfirmed: Vec::new(),
            renewed: None,
            listed: false,
            unlisted: Vec::new(),
            others: BTreeMap::new(),
            next_view: None,
            drained: false,
            leaving: false,
        }
    }

    /// The first request of an attempt to renew the own Lease and to read those of the others. `wall` is stored, for people only.
    pub(super) fn attempt(&mut self, wall: Timestamp) -> Request {
        match self.own.clone() {
            Some(own) => self.write(own, wall),
            None => Request::List,
        }
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
        match (request, response) {
            (Request::List, Response::Leases(leases)) => {
                let own = self.observe(leases, now);
                if self.own.is_none() {
                    if own.is_none() {
                        self.lose(); // another client deleted it, so that others may count on this member no more
                    }
                    return match own {
                        None if self.leaving => None,
                        own => Some(self.write(own.unwrap_or_else(|| self.new_lease()), wall)),
                    };
                }
                self.listed = true;
                self.unlisted.clear();
                self.plan(now);
                self.abandoned(now)
            }
            (Request::Create(written) | Request::Replace(written), Response::Lease(stored)) => {
                self.written(&written, *stored, sent, now);
                (!self.leaving).then_some(Request::List)
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
    pub(super) fn abandon(&mut self, request: Request) {
        if let Request::Create(written) | Request::Replace(written) = request {
            self.unconfirmed.push(view_of(&written));
            self.own = None;
        }
    }

    /// Stops everything if the renew deadline has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.lose();
        }
    }

    /// Until when this member may reconcile unless it renews.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.renewed? + self.renew_deadline)
    }

    /// What this member may reconcile until its deadline.
    pub(super) fn claims(&self) -> Claims {
        let mut claims = Claims { member: Arc::clone(&self.identity), ..Claims::default() };
        if self.renewed.is_none() || !self.listed || self.leaving {
            return claims;
        }
        claims.own.push(self.view.clone());
        let more = self.unlisted.iter().chain(&self.unconfirmed).chain(&self.next_view);
        claims.own.extend(more.filter(|view| **view != self.view).cloned());
        for other in self.others.values().filter(|other| other.live) {
            claims.add_other(&other.view, Arc::clone(&other.identity));
        }
        claims
    }

    /// Notes that no key outside of `claims` is being reconciled. Returns whether a view can be published now.
    pub(super) fn drained(&mut self, claims: &Claims) -> bool {
        self.drained |= self.next_view.is_some() && *claims == self.claims();
        self.drained
    }

    /// The identities that this member counts on.
    pub(super) fn members(&self) -> Vec<String> {
        self.view.names().map(|name| name.to_string()).collect()
    }

    /// The first request of leaving the group, after everything has stopped: the others need not wait for the expiry.
    pub(super) fn leave(&mut self, wall: Timestamp) -> Request {
        self.leaving = true;
        self.own = None; // the last write may have been abandoned
        self.attempt(wall)
    }

    fn lose(&mut self) {
        self.renewed = None;
        self.listed = false;
        self.own = None;
        self.next_view = None;
        self.drained = false;
    }

    /// Returns the own Lease if it is among `leases`.
    fn observe(&mut self, leases: Vec<Lease>, now: Instant) -> Option<Lease> {
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
            seen.insert(name, Other::new(lease, since, self.lease_duration));
        }
        // A Lease that was deleted counts until its expiry: its member may not know yet.
        self.others.retain(|_, other| !other.is_released() && other.expires > now);
        self.others.append(&mut seen);
        own
    }

    /// Decides on the members to count on.
    fn plan(&mut self, now: Instant) {
        for other in self.others.values_mut() {
            other.live = !other.is_released() && other.expires > now;
        }
        let live = self.others.values().filter(|other| other.live);
        let members: View = live.map(|other| &other.identity).chain([&self.identity]).cloned().collect();
        if self.next_view.as_ref() != Some(&members) {
            self.drained = false;
            self.next_view = (members != self.view).then_some(members);
        }
    }

    /// A request that deletes a Lease which its member has left behind.
    fn abandoned(&self, now: Instant) -> Option<Request> {
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

    fn written(&mut self, written: &Lease, stored: Lease, sent: Instant, now: Instant) {
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
        self.unconfirmed.clear();
        self.own = Some(stored);
        self.renewed = Some(sent);
        self.expire(now);
    }

    fn new_lease(&self) -> Lease {
        let metadata = ObjectMeta { name: Some(self.lease_name()), ..ObjectMeta::default() };
        Lease { metadata, spec: Some(LeaseSpec::default()) }
    }

    /// The identity is part of it, so that members do not share a Lease.
    fn lease_name(&self) -> String {
        format!("{}-{}", self.group, self.identity)
    }
}

impl Other {
    fn new(lease: Lease, since: Instant, default_duration: Duration) -> Self {
        let spec = lease.spec.as_ref();
        let seconds =
            spec.and_then(|spec| spec.lease_duration_seconds).and_then(|seconds| u64::try_from(seconds).ok());
        let duration = seconds.filter(|seconds| *seconds > 0).map_or(default_duration, Duration::from_secs);
        Self {
            identity: spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default().into(),
            view: view_of(&lease),
            since,
            expires: since + duration,
            live: true,
            lease,
        }
    }

    fn is_released(&self) -> bool {
        self.identity.is_empty()
    }
}

/// The view that `lease` publishes.
fn view_of(lease: &Lease) -> View {
    let annotation =
        lease.metadata.annotations.as_ref().and_then(|annotations| annotations.get(VIEW_ANNOTATION));
    annotation.map(String::as_str).unwrap_or_default().split(',').filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
