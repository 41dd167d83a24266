use super::*;

#[path = "simulation_tests.rs"]
mod simulation;

use simulation::Server;

const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

fn member(identity: &str) -> Machine {
    Machine::new("group".into(), identity.into(), 15, RENEW_DEADLINE)
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
            let claims = machine.claims();
            machine.drained(&claims);
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
        let claims = b.claims();
        b.drained(&claims);
    }
    assert_eq!((count(&a), count(&b)), (kept, 0), "a has not stopped yet");
    let claims = a.claims();
    assert!(a.drained(&claims));
    settle(&mut [&mut a, &mut b], &mut server, now);
    assert_eq!((count(&a), count(&b)), (kept, 100 - kept));
}

#[test]
fn a_member_that_stopped_with_other_claims_has_not_drained() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    let before = a.claims();
    attempt(&mut b, &mut server, now);
    attempt(&mut a, &mut server, now);
    assert!(!a.drained(&before));
    let claims = a.claims();
    assert!(a.drained(&claims));
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
    b.expire(now + RENEW_DEADLINE);
    assert_eq!(count(&b), 0);
}

#[test]
fn a_member_that_leaves_hands_over_at_once() {
    let (mut a, mut b, mut server, now) = (member("a"), member("b"), Server::default(), Instant::now());
    settle(&mut [&mut a, &mut b], &mut server, now);
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

#[test]
fn a_member_whose_lease_was_deleted_joins_anew() {
    let (mut a, mut server, now) = (member("a"), Server::default(), Instant::now());
    settle(&mut [&mut a], &mut server, now);
    let mut server = Server::default();
    let replace = a.attempt(Timestamp::UNIX_EPOCH);
    let response = server.handle(&replace);
    assert_eq!(a.respond(replace, response, now, now, Timestamp::UNIX_EPOCH), None);
    let list = a.attempt(Timestamp::UNIX_EPOCH);
    let response = server.handle(&list);
    let create = a.respond(list, response, now, now, Timestamp::UNIX_EPOCH);
    assert!(matches!(create, Some(Request::Create(_))), "{create:?}");
    assert_eq!(count(&a), 0, "others may have taken over");
    settle(&mut [&mut a], &mut server, now);
    assert_eq!(count(&a), 100);
}
