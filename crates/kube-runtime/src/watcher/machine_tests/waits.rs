//! How long the machine waits, and how seldom it lists.

use super::bench::*;
use crate::{
    backoff::{ExponentialBackoff, unlimited},
    watcher::{
        Config,
        machine::{Next, Read},
        retry::RetryBackoff,
    },
};
use serde_json::json;
use std::time::Duration;

#[test]
fn lists_that_do_not_help_become_rare_until_a_watch_lives() {
    let mut bench = listed(Config::default());
    let refused_until_listed = |bench: &mut Bench| {
        let mut refusals = 0;
        while matches!(bench.next(), Next::Watch(..)) {
            bench.refused(api_error(500));
            refusals += 1;
        }
        let wait = bench.wait;
        bench.page(list("10", "", vec![]));
        (refusals, wait.as_millis())
    };
    assert_eq!(refused_until_listed(&mut bench), (3, 400));
    assert_eq!(refused_until_listed(&mut bench), (12, 1000));
    assert_eq!(refused_until_listed(&mut bench), (48, 2000));
    bench.started();
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    bench.probed(Ok("10"));
    assert_eq!(refused_until_listed(&mut bench), (3, 800));
    bench.started();
    bench.pass(60);
    bench.read(Read::Ended);
    bench.probed(Ok("10"));
    bench.refused(api_error(500));
    bench.refused(api_error(500));
    bench.started();
    bench.pass(60);
    bench.read(Read::Ended);
    bench.probed(Ok("10"));
    assert_eq!(refused_until_listed(&mut bench).0, 3, "refusals before a watch that lived do not count");
}

#[test]
fn a_silent_watch_lived_if_anything_was_heard_of_it() {
    let mut bench = watching();
    for (bookmarks, wait) in [(0, OWN), (0, 2 * OWN), (1, OWN), (0, 2 * OWN)] {
        (0..bookmarks).for_each(|_| drop(bench.message(bookmark("10", false))));
        bench.pass(305);
        bench.read(Read::Silent);
        assert_eq!(bench.wait, wait);
        bench.expect_watch_when_vouched();
        bench.started();
    }
}

#[test]
fn versions_that_expire_again_and_again_lead_to_lists_that_become_rare() {
    let mut bench = listed(Config::default());
    let mut waits = Vec::new();
    for _ in 0..7 {
        bench.refused(api_error(410));
        waits.push(bench.wait.as_millis());
        bench.page(list("10", "", vec![]));
    }
    assert_eq!(waits, [100, 1000, 2000, 4000, 8000, 16000, 30000]);
    bench.started();
    bench.pass(60);
    bench.read(error_event(410, 0));
    assert_eq!(bench.wait, OWN, "a watch has lived");
}

/// Also between changes that can be decoded.
#[test]
fn deletions_that_cannot_be_told_lead_to_lists_that_become_rare() {
    let gone = || json!({ "type": "DELETED", "object": spoiled("bad", "12") });
    let mut bench = listed(Config::default());
    bench.machine.relist_undecodable_deletions = true;
    let mut waits = Vec::new();
    for _ in 0..7 {
        bench.started();
        bench.message(added("b", "11"));
        bench.message(gone());
        waits.push(bench.wait.as_millis());
        bench.page(list("10", "", vec![]));
    }
    assert_eq!(waits, [100, 1000, 2000, 4000, 8000, 16000, 30000]);
    bench.started();
    bench.pass(60);
    bench.message(gone());
    assert_eq!(bench.wait, OWN, "a watch has lived");
}

/// A backoff of the user, which is shared with others elsewhere.
fn configured(seconds: u64) -> RetryBackoff {
    let backoff = unlimited(Duration::from_secs(seconds), Duration::from_secs(60 * seconds));
    RetryBackoff::at_least(ExponentialBackoff::from(backoff))
}

#[test]
fn quiet_watches_start_the_users_backoff_over() {
    let mut bench = Bench::with(Config::default(), configured(1));
    bench.page(list("10", "", vec![]));
    for day in 0..20 {
        bench.started();
        if day % 2 == 0 {
            bench.message(bookmark("10", false));
        }
        bench.pass(3600);
        bench.read(Read::Broken(broken()));
        assert_eq!(bench.wait, Duration::from_secs(1), "day {day}");
        bench.expect_watch_when_vouched();
    }
}

#[test]
fn undecodable_objects_cost_no_wait_and_lists_start_nothing_over() {
    let mut bench = Bench::with(Config::default(), configured(1));
    bench.page(list("10", "", vec![spoiled("bad", "1"), spoiled("worse", "2")]));
    assert_eq!(bench.wait, Duration::ZERO);
    let mut waits = Vec::new();
    for _ in 0..3 {
        bench.refused(api_error(410));
        waits.push(bench.wait.as_secs());
        bench.page(list("10", "", vec![spoiled("bad", "1")]));
        bench.started();
        bench.message(json!({ "type": "MODIFIED", "object": spoiled("bad", "10") }));
        assert_eq!(bench.wait, Duration::ZERO);
        bench.read(Read::Ended);
        waits.push(bench.wait.as_secs());
        bench.expect_watch_when_vouched();
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32]);
}

#[test]
fn a_server_that_says_how_long_to_wait_is_not_asked_before_the_users_backoff() {
    let busy = || ClientError::Api(status(429, 5).boxed());
    let mut bench = Bench::with(Config::default(), configured(2));
    bench.list_error(busy());
    assert_eq!(bench.wait, Duration::from_secs(5));
    bench.list_error(busy());
    bench.list_error(busy());
    assert_eq!(bench.wait, Duration::from_secs(8));
}
