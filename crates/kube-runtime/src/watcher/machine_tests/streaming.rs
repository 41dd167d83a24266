//! Streaming lists.

use super::harness::*;
use crate::watcher::{Config, machine::Read};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_completed_streaming_list_continues_as_a_watch() {
    let mut harness = streaming();
    assert_eq!(harness.expect_read(), Duration::from_secs(30));
    assert_eq!(harness.message(added("a", "5")), ["InitApply(ns/a)"]);
    assert!(
        harness.message(bookmark("6", false)).is_empty(),
        "an ordinary bookmark does not complete the list"
    );
    assert_eq!(harness.message(bookmark("8", true)), ["Synced"]);
    assert_eq!(harness.expect_read(), Duration::from_secs(305));
    assert_eq!(harness.message(added("b", "9")), ["Apply(ns/b)"]);
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_watch_after_version_check(), "9");
}

#[test]
fn a_streaming_list_with_any_semantic_is_not_older_than_the_seen_version() {
    let mut harness = Harness::new(Config::default().streaming_lists().any_semantic());
    assert_eq!(harness.expect_streaming_list(), "0");
    harness.watch_started();
    harness.message(bookmark("8", true));
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    for _ in 0..3 {
        harness.version_checked(Err(api_error(500)));
    }
    assert_eq!(harness.expect_streaming_list(), "8", "not older than the seen version");
    harness.watch_started();
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_streaming_list(), "8");
    harness.watch_refused(api_error(410));
    assert_eq!(harness.expect_streaming_list(), "", "the most recent state if the version expired");
}

#[test]
fn a_refused_streaming_list_falls_back_to_paged_lists_for_good() {
    for code in [422, 400] {
        let mut harness = Harness::new(Config::default().streaming_lists());
        harness.expect_streaming_list();
        assert_eq!(harness.watch_refused(api_error(code)).len(), 1, "the refusal is an item");
        harness.expect_list();
        harness.page(list("10", "", vec![]));
        harness.watch_started();
        harness.read(error_event(410, 0));
        harness.expect_list();
    }
}

#[test]
fn an_incomplete_streaming_list_falls_back_to_one_paged_list() {
    for read in [Read::IdleTimeout, Read::Closed] {
        let mut harness = streaming();
        harness.message(added("a", "5"));
        assert_eq!(harness.read(read).len(), 1, "the failure is an item");
        harness.expect_list();
        harness.page(list("10", "", vec![]));
        harness.watch_started();
        harness.read(error_event(410, 0));
        harness.expect_streaming_list();
    }
}

#[test]
fn an_unreadable_line_of_a_streaming_list_falls_back_to_one_paged_list() {
    let mut harness = streaming();
    let unreadable = serde_json::from_str::<serde_json::Value>("{").unwrap_err();
    assert_eq!(harness.read(Read::Failed(ClientError::SerdeError(unreadable).into())).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    harness.expect_list();
}

#[test]
fn a_disconnected_streaming_list_starts_over() {
    let mut harness = streaming();
    harness.message(added("a", "5"));
    assert_eq!(harness.read(Read::Failed(connection_reset().into())).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    harness.expect_streaming_list();
    assert_eq!(harness.watch_started(), ["Init"]);
}

#[test]
fn a_throttled_streaming_list_is_retried_after_retry_after() {
    let mut harness = Harness::new(Config::default().streaming_lists());
    harness.expect_streaming_list();
    harness.watch_refused(ClientError::Api(status(429, 2).boxed()));
    assert_eq!(harness.wait, Duration::from_secs(2));
    harness.expect_streaming_list();
    harness.watch_started();
    harness.read(error_event(503, 5));
    assert_eq!(harness.wait, Duration::from_secs(5));
    harness.expect_streaming_list();
}

#[test]
fn changes_within_a_streaming_list_are_part_of_it() {
    let mut harness = streaming();
    assert_eq!(
        harness.message(json!({ "type": "MODIFIED", "object": object("a", "6") })),
        ["InitApply(ns/a)"]
    );
    assert_eq!(harness.message(json!({ "type": "DELETED", "object": object("a", "7") })), ["Delete(ns/a)"]);
    assert_eq!(
        harness.message(json!({ "type": "ADDED", "object": undecodable("bad", "7") })),
        ["Undecodable(ns/bad)"]
    );
    assert_eq!(
        harness.message(json!({ "type": "DELETED", "object": undecodable("bad", "8") })),
        ["UndecodableDelete(ns/bad)"]
    );
    assert_eq!(harness.message(bookmark("8", true)), ["Synced"]);
}

#[test]
fn an_unidentified_deletion_restarts_the_streaming_list() {
    let mut harness = streaming();
    let mut nameless = undecodable("bad", "8");
    nameless["metadata"]["name"] = json!(null);
    harness.message(json!({ "type": "DELETED", "object": nameless }));
    assert_eq!((harness.wait, harness.expect_streaming_list().as_str()), (SHORT_WAIT, ""));
    let mut harness = streaming();
    harness.machine.relist_undecodable_deletions = true;
    harness.message(json!({ "type": "DELETED", "object": undecodable("bad", "8") }));
    assert_eq!((harness.wait, harness.expect_streaming_list().as_str()), (SHORT_WAIT, ""));
}
