//! Servers that cannot be reached for a while.

use super::harness::*;
use crate::watcher::{
    Config,
    machine::{Next, Read},
    retry::RetryBackoff,
};
use std::{io, time::Duration};

const PAUSE: Duration = Duration::from_secs(1);

fn refused() -> ClientError {
    ClientError::Service(io::Error::from(io::ErrorKind::ConnectionRefused).into())
}

/// A machine of a controller whose watch from version 10 has just broken.
fn broken() -> Harness {
    let mut harness = Harness::with(Config::default(), RetryBackoff::with_default());
    harness.page(list("10", "", vec![object("a", "7")]));
    harness.watch_started();
    harness.advance(60);
    assert_eq!(harness.read(Read::Failed(connection_reset().into())).len(), 1);
    harness
}

/// Fails for about so many seconds. Returns the number of attempts, and when failures were reported.
fn outage(harness: &mut Harness, seconds: u64) -> (u64, Vec<u64>) {
    let (began, mut attempts, mut reported) = (harness.now, 0, Vec::new());
    while (harness.now - began).as_secs() < seconds {
        harness.now += harness.wait;
        attempts += 1;
        if !harness.version_checked(Err(refused())).is_empty() {
            reported.push((harness.now - began).as_secs());
        }
        assert!((PAUSE..=2 * PAUSE).contains(&harness.wait), "{:?}", harness.wait);
    }
    (attempts, reported)
}

#[test]
fn a_server_that_cannot_be_reached_is_tried_every_second_or_two() {
    for seconds in [10, 45, 600, 86_400] {
        let (attempts, _) = outage(&mut broken(), seconds);
        assert!((seconds / 2..=seconds + 1).contains(&attempts), "{attempts} in {seconds} s");
    }
}

#[test]
fn after_an_outage_of_any_length_the_relist_of_an_expired_version_starts_at_once() {
    for seconds in [0, 10, 45, 600, 86_400] {
        let mut harness = broken();
        outage(&mut harness, seconds);
        assert!(harness.version_checked(Ok("20")).is_empty());
        assert_eq!(harness.wait, Duration::ZERO);
        assert_eq!(harness.watch_refused(api_error(410)).len(), 1);
        assert!((SHORT_WAIT..=2 * SHORT_WAIT).contains(&harness.wait), "{:?}", harness.wait);
        assert_eq!(harness.expect_list().continue_token, None);
        assert_eq!(harness.page(list("20", "", vec![])), ["Init", "Synced"]);
        assert_eq!(harness.wait, Duration::ZERO);
    }
}

#[test]
fn after_an_outage_a_restored_storage_is_listed_at_once() {
    let mut harness = broken();
    outage(&mut harness, 600);
    assert_eq!(harness.version_checked(Ok("9")).len(), 1);
    assert!(harness.wait <= 2 * SHORT_WAIT, "{:?}", harness.wait);
    harness.expect_list();
}

/// The waits spare a server that is loaded, and an outage is no load.
#[test]
fn an_outage_does_not_lengthen_the_waits_for_a_server_that_answers() {
    for refusal in [429, 500, 503] {
        let mut harness = broken();
        outage(&mut harness, 600);
        harness.version_checked(Err(api_error(refusal)));
        // The second delay of the default backoff: the first one followed the broken watch.
        assert!(harness.wait <= Duration::from_millis(3_200), "{refusal}: {:?}", harness.wait);
        let mut longest = harness.wait;
        for _ in 0..10 {
            harness.now += harness.wait;
            if harness.next() == Next::CheckVersion {
                harness.version_checked(Err(api_error(refusal)));
            } else {
                harness.list_error(api_error(refusal));
            }
            longest = longest.max(harness.wait);
        }
        assert_eq!(longest, Duration::from_secs(30), "{refusal}: a server that refuses is spared");
    }
}

#[test]
fn retry_after_is_kept_after_an_outage() {
    let mut harness = broken();
    outage(&mut harness, 600);
    harness.version_checked(Err(ClientError::Api(status(503, 17).boxed())));
    assert_eq!(harness.wait, Duration::from_secs(17));
}

#[test]
fn the_failures_of_a_long_outage_are_reported_at_growing_intervals() {
    let mut harness = broken();
    let (_, reported) = outage(&mut harness, 300);
    assert!((12..=17).contains(&reported.len()), "{reported:?}");
    assert!(reported.windows(2).all(|two| two[1] - two[0] <= 32), "{reported:?}");
    harness.version_checked(Ok("10"));
    harness.watch_started();
    harness.advance(60);
    assert_eq!(harness.read(Read::Failed(connection_reset().into())).len(), 1);
    assert_eq!(harness.version_checked(Err(refused())).len(), 1, "a healthy watch was between them");
}

#[test]
fn a_watcher_without_a_backoff_behind_it_reports_each_failure() {
    let mut harness = watching();
    harness.read(Read::Failed(connection_reset().into()));
    for _ in 0..100 {
        assert_eq!(harness.version_checked(Err(refused())).len(), 1);
        assert_eq!(harness.wait, PAUSE);
    }
}

/// Lists and watches are requests too.
#[test]
fn every_request_that_finds_no_server_is_repeated_after_the_same_pause() {
    let mut harness = Harness::with(Config::default(), RetryBackoff::with_default());
    for _ in 0..20 {
        harness.list_error(refused());
        assert!((PAUSE..=2 * PAUSE).contains(&harness.wait));
    }
    harness.page(list("10", "", vec![]));
    for _ in 0..20 {
        harness.watch_refused(refused());
        assert!((PAUSE..=2 * PAUSE).contains(&harness.wait));
        assert_eq!(harness.expect_watch_after_version_check(), "10");
    }
}

/// A server that breaks down whenever all its clients list.
#[test]
fn outages_between_relists_do_not_make_relists_more_frequent() {
    let mut harness = broken();
    let mut waits = Vec::new();
    for _ in 0..6 {
        outage(&mut harness, 20);
        harness.version_checked(Ok("20"));
        harness.watch_refused(api_error(410));
        waits.push(harness.wait.as_millis());
        harness.page(list("20", "", vec![]));
        harness.watch_started();
        harness.read(Read::Failed(connection_reset().into()));
    }
    assert!(waits[0] <= 200 && waits[1] >= 1_000 && waits[5] >= 16_000, "{waits:?}");
}
