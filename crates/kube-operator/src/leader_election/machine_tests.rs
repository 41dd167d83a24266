//! The state machine of a candidate, step by step.

use super::*;
use std::collections::BTreeMap;

#[path = "simulation_tests.rs"]
mod simulation;

const SECOND: Duration = Duration::from_secs(1);

fn config() -> Config {
    Config::new("name", "namespace")
}

/// A server with one Lease.
#[derive(Debug, Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
}

impl Server {
    fn handle(&mut self, request: &Request) -> Response {
        match (request, &self.lease) {
            (Request::Read, None) | (Request::Replace(_), None) => Response::NotFound,
            (Request::Read, Some(lease)) => Response::Lease(Box::new(lease.clone())),
            (Request::Create(_), Some(_)) => Response::Conflict,
            (Request::Replace(new), Some(old))
                if new.metadata.resource_version != old.metadata.resource_version =>
            {
                Response::Conflict
            }
            (Request::Create(new) | Request::Replace(new), _) => {
                self.version += 1;
                let mut new = new.clone();
                new.metadata.resource_version = Some(self.version.to_string());
                self.lease = Some((*new).clone());
                Response::Lease(new)
            }
        }
    }

    fn spec(&self) -> &LeaseSpec {
        self.lease.as_ref().and_then(|lease| lease.spec.as_ref()).expect("a Lease with a spec")
    }
}

/// One whole attempt without latency.
fn attempt(machine: &mut Machine, server: &mut Server, now: Instant) {
    let first = machine.attempt(Timestamp::UNIX_EPOCH);
    exchange(machine, server, Some(first), now);
}

fn exchange(machine: &mut Machine, server: &mut Server, mut request: Option<Request>, now: Instant) {
    while let Some(current) = request {
        let response = server.handle(&current);
        request = machine.respond(&current, response, now, now, Timestamp::UNIX_EPOCH);
    }
}

fn candidates() -> (Machine, Machine, Server, Instant) {
    let machine = |identity: &str| Machine::new(&config(), identity.to_owned());
    (machine("a"), machine("b"), Server::default(), Instant::now())
}

#[test]
fn the_first_candidate_creates_the_lease_and_renews_it_without_reading() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    assert_eq!(a.deadline(), Some(t + 10 * SECOND));
    assert_eq!(server.spec().lease_transitions, Some(0));
    assert_eq!(server.spec().lease_duration_seconds, Some(15));
    attempt(&mut b, &mut server, t);
    assert_eq!((b.deadline(), b.holder()), (None, Some("a")));
    assert!(matches!(a.attempt(Timestamp::UNIX_EPOCH), Request::Replace(_)));
}

#[test]
fn a_candidate_takes_over_when_the_lease_did_not_change_for_its_duration() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    attempt(&mut b, &mut server, t + SECOND);
    assert_eq!(b.next_attempt(t + 15 * SECOND), t + 16 * SECOND, "it looks when the Lease expires");
    attempt(&mut b, &mut server, t + 15 * SECOND);
    assert_eq!(b.deadline(), None, "seen at 1 s, for 15 s");
    attempt(&mut b, &mut server, t + 16 * SECOND);
    assert_eq!(b.deadline(), Some(t + 26 * SECOND));
    assert_eq!(server.spec().lease_transitions, Some(1));
    attempt(&mut a, &mut server, t + 17 * SECOND);
    assert_eq!((a.deadline(), a.holder()), (None, Some("b")));
}

#[test]
fn a_leader_ends_at_the_deadline_after_the_last_confirmed_write_was_sent() {
    let (mut a, _, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    let renewal = a.attempt(Timestamp::UNIX_EPOCH);
    let response = server.handle(&renewal);
    a.respond(&renewal, response, t + SECOND, t + 5 * SECOND, Timestamp::UNIX_EPOCH);
    a.expire(t + 11 * SECOND - Duration::from_millis(1));
    assert!(a.deadline().is_some());
    a.expire(t + 11 * SECOND);
    assert_eq!(a.deadline(), None);
}

#[test]
fn a_confirmation_after_the_deadline_is_no_leadership() {
    let (mut a, _, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    let renewal = a.attempt(Timestamp::UNIX_EPOCH);
    let response = server.handle(&renewal);
    a.respond(&renewal, response, t + SECOND, t + 11 * SECOND, Timestamp::UNIX_EPOCH);
    assert_eq!(a.deadline(), None);
}

#[test]
fn a_foreign_edit_of_the_lease_costs_a_read_and_no_leadership() {
    let (mut a, _, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    let lease = server.lease.as_mut().expect("a Lease");
    lease.metadata.resource_version = Some("edited".into());
    lease.metadata.labels = Some(BTreeMap::from([("team".to_owned(), "x".to_owned())]));
    attempt(&mut a, &mut server, t + 2 * SECOND);
    assert_eq!(a.deadline(), Some(t + 12 * SECOND));
    assert!(
        server.lease.as_ref().is_some_and(|lease| lease.metadata.labels.is_some()),
        "what others wrote stays"
    );
}

#[test]
fn a_deleted_lease_is_created_by_others_only_after_its_duration() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    attempt(&mut b, &mut server, t + SECOND);
    server.lease = None;
    attempt(&mut b, &mut server, t + 2 * SECOND);
    assert!(server.lease.is_none(), "its holder may still work");
    attempt(&mut a, &mut server, t + 3 * SECOND);
    assert_eq!(a.deadline(), Some(t + 13 * SECOND), "the holder creates it again");
    server.lease = None;
    attempt(&mut b, &mut server, t + 16 * SECOND);
    assert!(b.deadline().is_some());
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let (mut a, mut b, mut server, t) = candidates();
    attempt(&mut a, &mut server, t);
    attempt(&mut b, &mut server, t);
    let release = a.release(Timestamp::UNIX_EPOCH);
    exchange(&mut a, &mut server, release, t);
    assert_eq!(a.deadline(), None);
    assert_eq!(
        (server.spec().holder_identity.as_deref(), server.spec().lease_duration_seconds),
        (None, Some(1))
    );
    attempt(&mut b, &mut server, t + SECOND);
    assert!(b.deadline().is_some());
    assert_eq!(server.spec().lease_transitions, Some(1));
}

#[test]
fn an_unconfirmed_write_is_released_too_and_a_lease_of_others_is_not() {
    let (mut a, mut b, mut server, t) = candidates();
    let read = a.attempt(Timestamp::UNIX_EPOCH);
    let create = a.respond(&read, Response::NotFound, t, t, Timestamp::UNIX_EPOCH).expect("a create");
    server.handle(&create); // the response is lost
    a.abandon();
    let release = a.release(Timestamp::UNIX_EPOCH);
    assert_eq!(release, Some(Request::Read));
    exchange(&mut a, &mut server, release, t);
    assert_eq!(server.spec().holder_identity, None);
    attempt(&mut b, &mut server, t);
    let release = a.release(Timestamp::UNIX_EPOCH);
    exchange(&mut a, &mut server, release, t);
    assert_eq!(server.spec().holder_identity.as_deref(), Some("b"));
}
