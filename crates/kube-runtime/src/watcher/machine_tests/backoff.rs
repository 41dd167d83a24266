//! Waits between retries, and how often the machine relists.

use super::harness::*;
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
fn relists_without_a_healthy_watch_become_rarer() {
    let mut harness = listed(Config::default());
    let refusals_until_relist = |harness: &mut Harness| {
        let mut refusals = 0;
        while matches!(harness.next(), Next::Watch(..)) {
            harness.watch_refused(api_error(500));
            refusals += 1;
        }
        let wait = harness.wait;
        harness.page(list("10", "", vec![]));
        (refusals, wait.as_millis())
    };
    assert_eq!(refusals_until_relist(&mut harness), (3, 400));
    assert_eq!(refusals_until_relist(&mut harness), (12, 1000));
    assert_eq!(refusals_until_relist(&mut harness), (48, 2000));
    harness.watch_started();
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    harness.version_checked(Ok("10"));
    assert_eq!(refusals_until_relist(&mut harness), (3, 800));
    harness.watch_started();
    harness.advance(60);
    harness.read(Read::Closed);
    harness.version_checked(Ok("10"));
    harness.watch_refused(api_error(500));
    harness.watch_refused(api_error(500));
    harness.watch_started();
    harness.advance(60);
    harness.read(Read::Closed);
    harness.version_checked(Ok("10"));
    assert_eq!(refusals_until_relist(&mut harness).0, 3, "refusals before a healthy watch do not count");
}

#[test]
fn an_idle_watch_is_healthy_if_it_received_anything() {
    let mut harness = watching();
    for (bookmarks, wait) in [(0, SHORT_WAIT), (0, 2 * SHORT_WAIT), (1, SHORT_WAIT), (0, 2 * SHORT_WAIT)] {
        (0..bookmarks).for_each(|_| drop(harness.message(bookmark("10", false))));
        harness.advance(305);
        harness.read(Read::IdleTimeout);
        assert_eq!(harness.wait, wait);
        harness.expect_watch_after_version_check();
        harness.watch_started();
    }
}

#[test]
fn repeatedly_expired_versions_relist_with_growing_waits() {
    let mut harness = listed(Config::default());
    let mut waits = Vec::new();
    for _ in 0..7 {
        harness.watch_refused(api_error(410));
        waits.push(harness.wait.as_millis());
        harness.page(list("10", "", vec![]));
    }
    assert_eq!(waits, [100, 1000, 2000, 4000, 8000, 16000, 30000]);
    harness.watch_started();
    harness.advance(60);
    harness.read(error_event(410, 0));
    assert_eq!(harness.wait, SHORT_WAIT, "the watch was healthy");
}

/// Decodable changes in between do not shorten the waits.
#[test]
fn repeated_unidentified_deletions_relist_with_growing_waits() {
    let deleted = |version: &str| json!({ "type": "DELETED", "object": undecodable("bad", version) });
    let mut harness = listed(Config::default());
    harness.machine.relist_undecodable_deletions = true;
    let mut waits = Vec::new();
    for version in ["11", "12", "13", "14", "15", "16", "17"] {
        harness.watch_started();
        harness.message(added("b", version));
        harness.message(deleted(version));
        waits.push(harness.wait.as_millis());
        harness.page(list(version, "", vec![]));
    }
    assert_eq!(waits, [100, 1000, 2000, 4000, 8000, 16000, 30000]);
    harness.watch_started();
    harness.advance(60);
    harness.message(deleted("18"));
    assert_eq!(harness.wait, SHORT_WAIT, "the watch was healthy");
}

fn configured(seconds: u64) -> RetryBackoff {
    let backoff = unlimited(Duration::from_secs(seconds), Duration::from_secs(60 * seconds));
    RetryBackoff::at_least(ExponentialBackoff::from(backoff))
}

#[test]
fn watches_without_changes_reset_the_configured_backoff() {
    let mut harness = Harness::with(Config::default(), configured(1));
    harness.page(list("10", "", vec![]));
    for day in 0..20 {
        harness.watch_started();
        if day % 2 == 0 {
            harness.message(bookmark("10", false));
        }
        harness.advance(3600);
        harness.read(Read::Failed(connection_reset().into()));
        assert_eq!(harness.wait, Duration::from_secs(1), "day {day}");
        harness.expect_watch_after_version_check();
    }
}

#[test]
fn undecodable_objects_cause_no_wait_and_lists_reset_no_backoff() {
    let mut harness = Harness::with(Config::default(), configured(1));
    harness.page(list("10", "", vec![undecodable("bad", "1"), undecodable("worse", "2")]));
    assert_eq!(harness.wait, Duration::ZERO);
    let mut waits = Vec::new();
    for _ in 0..3 {
        harness.watch_refused(api_error(410));
        waits.push(harness.wait.as_secs());
        harness.page(list("10", "", vec![undecodable("bad", "1")]));
        harness.watch_started();
        harness.message(json!({ "type": "MODIFIED", "object": undecodable("bad", "10") }));
        assert_eq!(harness.wait, Duration::ZERO);
        harness.read(Read::Closed);
        waits.push(harness.wait.as_secs());
        harness.expect_watch_after_version_check();
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32]);
}

#[test]
fn retry_after_does_not_shorten_the_configured_backoff() {
    let throttled = || ClientError::Api(status(429, 5).boxed());
    let mut harness = Harness::with(Config::default(), configured(2));
    harness.list_error(throttled());
    assert_eq!(harness.wait, Duration::from_secs(5));
    harness.list_error(throttled());
    harness.list_error(throttled());
    assert_eq!(harness.wait, Duration::from_secs(8));
}
