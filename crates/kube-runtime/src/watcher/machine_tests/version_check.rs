//! The version check, by which a watcher notices that a storage was restored from a backup.

use super::harness::*;
use crate::watcher::{
    Config,
    machine::{Next, Read},
};
use std::time::Duration;

/// A machine whose watch from version 10 was disconnected after a minute.
fn disconnected() -> Harness {
    let mut harness = watching();
    harness.advance(60);
    assert_eq!(harness.read(Read::Failed(connection_reset().into())).len(), 1);
    assert_eq!((harness.wait, harness.next()), (SHORT_WAIT, Next::CheckVersion));
    harness
}

#[test]
fn an_older_storage_causes_a_relist() {
    let mut harness = disconnected();
    let emitted = harness.version_checked(Ok("9"));
    assert!(emitted[0].starts_with("WatchError"), "{emitted:?}");
    assert_eq!(harness.wait, SHORT_WAIT);
    harness.expect_list();
    assert!(harness.machine.history_lost());
    assert_eq!(harness.page(list("9", "", vec![])), ["Init", "Synced"]);
    assert!(!harness.machine.history_lost());
    assert_eq!(harness.expect_watch(), "9");
}

/// The version of an older storage may have been reached before: what the first list took for known may have another state.
#[test]
fn a_list_that_shows_an_older_storage_is_repeated_without_what_is_known() {
    let mut expired = watching();
    expired.read(error_event(410, 0));
    let mut refused = listed(Config::default());
    refused.watch_refused(api_error(410));
    for mut harness in [expired, refused] {
        harness.expect_list();
        assert!(!harness.machine.history_lost());
        harness.page(list("9", "more", vec![object("a", "7")]));
        let emitted = harness.page(list("9", "", vec![object("b", "8")]));
        assert_eq!(emitted, ["InitApply(ns/b)", "WatchError"]);
        harness.expect_list();
        assert!(harness.machine.history_lost());
        harness.list_error(connection_reset());
        assert!(harness.machine.history_lost(), "until a list is complete");
        assert_eq!(harness.page(list("9", "", vec![])), ["Init", "Synced"]);
        assert!(!harness.machine.history_lost());
        assert_eq!(harness.expect_watch(), "9");
    }
}

#[test]
fn so_is_a_streaming_list() {
    let mut harness = streaming();
    harness.message(bookmark("10", true));
    harness.read(error_event(410, 0));
    harness.expect_streaming_list();
    harness.watch_started();
    assert_eq!(harness.message(bookmark("9", true)), ["WatchError"]);
    harness.expect_streaming_list();
    assert!(harness.machine.history_lost());
    harness.watch_started();
    assert_eq!(harness.message(bookmark("9", true)), ["Synced"]);
    assert!(!harness.machine.history_lost());
}

#[test]
fn a_storage_that_is_not_older_is_watched_from_the_reached_version() {
    for version in ["10", "2000", "", "not-a-number"] {
        let mut harness = disconnected();
        assert!(harness.version_checked(Ok(version)).is_empty());
        assert_eq!((harness.wait, harness.expect_watch().as_str()), (Duration::ZERO, "10"), "{version}");
    }
}

#[test]
fn the_version_check_is_retried_until_the_server_responds() {
    let mut harness = disconnected();
    assert_eq!(harness.version_checked(Err(connection_reset())).len(), 1, "an outage is an item");
    assert_eq!(harness.wait, 2 * SHORT_WAIT);
    assert_eq!(harness.version_checked(Err(ClientError::Api(status(429, 3).boxed()))).len(), 1);
    assert_eq!(harness.wait, Duration::from_secs(3));
    assert_eq!(harness.version_checked(Err(api_error(500))).len(), 1);
    assert_eq!(harness.version_checked(Ok("7")).len(), 1);
    harness.expect_list();
}

#[test]
fn a_version_check_that_keeps_failing_ends_in_a_relist() {
    let mut harness = disconnected();
    for _ in 0..3 {
        harness.version_checked(Err(api_error(500)));
    }
    harness.expect_list();
}

#[test]
fn a_version_check_rejected_as_invalid_is_skipped() {
    for code in [400, 406] {
        let mut harness = disconnected();
        assert!(harness.version_checked(Err(api_error(code))).is_empty(), "{code}");
        assert_eq!((harness.wait, harness.expect_watch().as_str()), (Duration::ZERO, "10"));
    }
}

#[test]
fn a_forbidden_version_check_causes_a_relist() {
    for code in [401, 403] {
        let mut harness = disconnected();
        assert!(harness.version_checked(Err(api_error(code))).is_empty(), "no error is emitted");
        assert_eq!(harness.wait, 2 * SHORT_WAIT);
        harness.expect_list();
        harness.page(list("9", "", vec![])); // the storage is older
        assert_eq!(harness.page(list("9", "", vec![])), ["Init", "Synced"]);
        assert_eq!(harness.expect_watch(), "9", "{code}: the version before is discarded");
    }
}

#[test]
fn a_version_check_of_an_unknown_kind_causes_a_relist() {
    let mut harness = disconnected();
    assert_eq!(harness.version_checked(Err(api_error(404))).len(), 1, "emitted like the error of a watch");
    harness.expect_list();
    harness.page(list("9", "", vec![])); // the storage is older
    assert_eq!(harness.page(list("9", "", vec![])), ["Init", "Synced"]);
    assert_eq!(harness.expect_watch(), "9", "the version before is discarded");
}

#[test]
fn a_watch_without_messages_is_followed_by_a_version_check() {
    let mut idle = watching();
    idle.advance(295);
    assert!(idle.read(Read::Closed).is_empty(), "a timeout is no error");
    assert_eq!((idle.wait, idle.next()), (Duration::ZERO, Next::CheckVersion));

    let mut bookmarked = watching();
    bookmarked.message(bookmark("10", false));
    bookmarked.advance(295);
    bookmarked.read(Read::Closed);
    assert_eq!(bookmarked.expect_watch(), "10");
}

#[test]
fn a_watch_closed_before_its_timeout_is_followed_by_a_version_check() {
    let mut harness = watching();
    harness.message(added("b", "11"));
    harness.advance(200);
    assert!(harness.read(Read::Closed).is_empty());
    assert_eq!(
        (harness.wait, harness.next()),
        (Duration::ZERO, Next::CheckVersion),
        "servers that shut down close watches early"
    );
}

#[test]
fn a_failed_connection_is_followed_by_a_version_check() {
    let mut harness = listed(Config::default());
    assert_eq!(harness.watch_refused(connection_reset()).len(), 1);
    assert_eq!((harness.wait, harness.next()), (SHORT_WAIT, Next::CheckVersion));
}

#[test]
fn a_watch_closed_at_once_is_followed_by_a_version_check() {
    let mut harness = watching();
    assert_eq!(harness.read(Read::Closed).len(), 1);
    assert_eq!(
        (harness.wait, harness.next()),
        (SHORT_WAIT, Next::CheckVersion),
        "the server may be restarting at any time"
    );
}

#[test]
fn non_numeric_versions_are_not_checked() {
    let mut harness = Harness::new(Config::default());
    harness.page(list("abc", "", vec![]));
    harness.watch_started();
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_watch(), "abc");
}
