//! The state machine of a member, step by step.

use super::*;

#[path = "simulation_tests.rs"]
mod simulation;

use simulation::Server;

const SECOND: Duration = Duration::from_secs(1);
/// Between the renew deadline and the cancellation of reconciles.
const TO_STOP: Duration = Duration::from_millis(4500);

fn member(identity: &str) -> Machine {
    Machine::new(&leader_election::Config::new("group", "default"), identity.into())
}

/// One attempt in which the server responds at once.
fn attempt(machine: &mut Machine, server: &mut Server, now: Instant) {
    machine.expire(now);
    let mut next = Some(machine.attempt(Timestamp::UNIX_EPOCH));
    while let Some(request) = next {
        let response = server.handle(&request);
        next = machine.respond(request, response, now, now, Timestamp::UNIX_EPOCH);
    }
}

/// Attempts until nothing changes any more; everything stops at once.
fn settle(machines: &mut [&mut Machine], server: &mut Server, now: Instant) {
    for _ in 0..6 {
        for machine in &mut *machines {
            attempt(machine, server, now);
            machine.assign(now);
            machine.stopped();
        }
    }
}

fn count(machine: &Machine) -> usize {
    let claims = machine.claims();
    (0..100).filter(|key| claims.include(*key)).count()
}

#[test]
fn a_member_alone_has_every_key() {
    let (mut a, mut server, now) = (member("a"), Server::default(), Instant::now());
    assert_eq!(count(&a), 0);
    settle(&mut [&mut a], &mut server, now);
    assert_eq!(count(&a), 100);
    assert_eq!(a.members(), ["a"]);
}

#[test]
fn a_member_gives_up_keys_only_after_they_have_stopped() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    attempt(&mut b, &mut server, now);
    attempt(&mut a, &mut server, now);
    let kept = count(&a);
    assert!(kept < 80, "{kept}: it starts nothing that belongs to b");
    for _ in 0..5 {
        attempt(&mut a, &mut server, now);
        attempt(&mut b, &mut server, now);
        b.assign(now);
        b.stopped();
    }
    assert_eq!((count(&a), count(&b)), (kept, 0), "a has not stopped yet");
    a.assign(now);
    assert!(a.stopped());
    settle(&mut [&mut a, &mut b], &mut server, now);
    assert_eq!((count(&a), count(&b)), (kept, 100 - kept));
}

#[test]
fn a_member_that_stopped_with_other_claims_has_not_drained() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    attempt(&mut b, &mut server, now);
    attempt(&mut a, &mut server, now);
    assert!(!a.stopped());
    a.assign(now);
    assert!(a.stopped());
}

#[test]
fn a_crashed_member_has_its_keys_for_a_lease_duration() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
    let share = count(&a);
    for second in 1..15 {
        attempt(&mut a, &mut server, now + second * SECOND);
        assert_eq!(count(&a), share);
    }
    settle(&mut [&mut a], &mut server, now + 15 * SECOND);
    assert_eq!(count(&a), 100);
    b.expire(now + 10 * SECOND);
    assert_eq!(count(&b), 0);
}

#[test]
fn a_member_that_leaves_hands_over_at_once() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
    assert_eq!(b.stop(now), now + 10 * SECOND + TO_STOP);
    let mut next = Some(b.leave(Timestamp::UNIX_EPOCH));
    while let Some(request) = next {
        let response = server.handle(&request);
        next = b.respond(request, response, now, now, Timestamp::UNIX_EPOCH);
    }
    assert_eq!(count(&b), 0);
    settle(&mut [&mut a], &mut server, now);
    assert_eq!(count(&a), 100);
}

#[test]
fn a_lease_that_its_member_left_behind_is_deleted() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
    let leases = |server: &mut Server| match server.handle(&Request::List) {
        Response::Leases(leases) => leases.len(),
        response => panic!("{response:?}"),
    };
    for second in 1..=150 {
        attempt(&mut a, &mut server, now + second * SECOND);
    }
    assert_eq!(leases(&mut server), 2);
    attempt(&mut a, &mut server, now + 151 * SECOND);
    assert_eq!(leases(&mut server), 1);
}

/// Responds to `request` as the server does, with a response that arrives at `now`.
fn respond(
    machine: &mut Machine,
    request: Request,
    server: &mut Server,
    sent: Instant,
    now: Instant,
) -> Option<Request> {
    let response = server.handle(&request);
    machine.respond(request, response, sent, now, Timestamp::UNIX_EPOCH)
}

/// An attempt of which no write is confirmed.
fn failing_attempt(machine: &mut Machine, server: &mut Server, now: Instant) {
    let mut next = Some(machine.attempt(Timestamp::UNIX_EPOCH));
    while let Some(request) = next {
        let response = match &request {
            Request::Create(_) | Request::Replace(_) => Response::Failed,
            _ => server.handle(&request),
        };
        next = machine.respond(request, response, now, now, Timestamp::UNIX_EPOCH);
    }
}

#[test]
fn a_member_whose_lease_was_deleted_stops_and_joins_anew() {
    let (mut a, mut server, now) = (member("a"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    let mut server = Server::default();
    attempt(&mut a, &mut server, now + SECOND);
    let list = a.attempt(Timestamp::UNIX_EPOCH);
    let now = now + 2 * SECOND;
    assert_eq!(
        respond(&mut a, list, &mut server, now, now),
        None,
        "its controllers stop before it joins anew"
    );
    let change = a.assign(now).expect("others may have taken over");
    assert_eq!((change.claims.own, change.cancel_at), (vec![], Some(now + TO_STOP)));
    settle(&mut [&mut a], &mut server, now);
    assert_eq!(count(&a), 100);
}

#[test]
fn a_response_after_the_deadline_ends_the_attempt_and_what_was_assigned() {
    let (mut a, mut server, now) = (member("a"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    // The process is stalled for 16 s with the response to a renewal, or to the list after it.
    for lists in [false, true] {
        let mut renewed = now;
        let mut request = a.attempt(Timestamp::UNIX_EPOCH);
        let sent = now + SECOND;
        if lists {
            request = respond(&mut a, request, &mut server, sent, sent).expect("a list");
            renewed = sent;
        }
        let resumed = sent + 16 * SECOND;
        assert_eq!(respond(&mut a, request, &mut server, sent, resumed), None);
        let change = a.assign(resumed).expect("others have taken over");
        let cancel_at = renewed + 10 * SECOND + TO_STOP;
        assert_eq!((change.claims.own, change.cancel_at), (vec![], Some(cancel_at)));
        // It joins anew before its reconciles have ended: their limit is still the same.
        for _ in 0..2 {
            attempt(&mut a, &mut server, resumed);
        }
        let change = a.assign(resumed).expect("keys");
        assert_eq!((change.claims.own.len(), change.cancel_at), (1, Some(cancel_at)));
        let change = a.assign(resumed + 3600 * SECOND).expect("another loss");
        assert_eq!(change.cancel_at, Some(cancel_at), "reconciles from before the first loss may still run");
        a.stopped();
        assert_eq!(a.cancel_at, None);
        (a, server) = (member("a"), Server::default());
        settle(&mut [&mut a], &mut server, now);
    }
}

#[test]
fn a_member_that_joined_anew_claims_nothing_before_a_list() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
    let later = now + 60 * SECOND;
    a.expire(later);
    let write = respond(&mut a, Request::List, &mut server, later, later).expect("a write");
    let list = respond(&mut a, write, &mut server, later, later).expect("a list");
    assert_eq!(a.respond(list, Response::Failed, later, later, Timestamp::UNIX_EPOCH), None);
    assert_eq!((a.members().len(), count(&a)), (2, 0), "b may have taken over");
    attempt(&mut a, &mut server, later);
    assert!(count(&a) > 20);
}

#[test]
fn a_renewal_counts_from_when_it_was_sent() {
    let (mut a, mut server, now) = (member("a"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    let renewal = a.attempt(Timestamp::UNIX_EPOCH);
    let sent = now + SECOND;
    respond(&mut a, renewal, &mut server, sent, sent + 4 * SECOND);
    assert_eq!(a.deadline(), Some(sent + 10 * SECOND));
    assert_eq!(a.limit(sent + SECOND), sent + 6 * SECOND, "half a renew deadline per request");
    assert_eq!(a.limit(sent + 8 * SECOND), sent + 10 * SECOND, "no request outlasts the deadline");
}

#[test]
fn a_member_that_may_have_renewed_since_a_list_was_sent_is_counted_on() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
    let sent = now + 9 * SECOND;
    let renewal = a.attempt(Timestamp::UNIX_EPOCH);
    let list = respond(&mut a, renewal, &mut server, sent, sent).expect("a list");
    let old = server.handle(&list);
    attempt(&mut b, &mut server, sent + SECOND / 10);
    a.respond(list, old, sent, sent + 9 * SECOND, Timestamp::UNIX_EPOCH);
    assert_eq!(a.next_view, None, "b renewed 0.1 s after the list was sent");
}

#[test]
fn a_view_that_may_have_been_stored_limits_the_claims_until_a_write_is_confirmed() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    attempt(&mut b, &mut server, now);
    attempt(&mut a, &mut server, now);
    a.assign(now);
    assert!(a.stopped());
    let kept = count(&a);
    assert!(kept < 80, "{kept}");
    // The write of the view with b fails, b leaves, and lists go on to work.
    failing_attempt(&mut a, &mut server, now);
    b.stop(now);
    let mut next = Some(b.leave(Timestamp::UNIX_EPOCH));
    while let Some(request) = next {
        next = respond(&mut b, request, &mut server, now, now);
    }
    for second in 1..9 {
        failing_attempt(&mut a, &mut server, now + second * SECOND);
        assert_eq!(count(&a), kept, "b may have claimed the others after it saw the view");
    }
    settle(&mut [&mut a], &mut server, now + 9 * SECOND);
    assert_eq!(count(&a), 100);
}

#[test]
fn a_member_that_lost_its_lease_reads_it_and_publishes_the_view_that_it_acted_on() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    attempt(&mut b, &mut server, now);
    attempt(&mut a, &mut server, now);
    a.assign(now);
    assert!(a.stopped(), "it would publish the view with b");
    let later = now + 3600 * SECOND;
    a.assign(later);
    let list = a.attempt(Timestamp::UNIX_EPOCH);
    assert_eq!(list, Request::List, "another client may have changed its Lease meanwhile");
    let write = respond(&mut a, list, &mut server, later, later);
    let Some(Request::Replace(lease)) = write else { panic!("{write:?}") };
    assert_eq!(view_of(&lease), ["a"].into_iter().collect(), "b may be gone for long");
}

#[test]
fn the_lease_of_another_counts_until_its_expiry_after_it_was_deleted() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
    let share = count(&a);
    server.delete("group-b");
    for second in 1..15 {
        settle(&mut [&mut a], &mut server, now + second * SECOND);
        assert_eq!(count(&a), share, "b may not know yet");
    }
    settle(&mut [&mut a], &mut server, now + 15 * SECOND);
    assert_eq!(count(&a), 100);
}
