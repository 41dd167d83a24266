//! Watches.

use super::harness::*;
use crate::watcher::{
    Config,
    machine::{Input, Read},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_client::client::ListPart;
use kube_core::Status;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_watch_refused_as_expired_causes_a_relist() {
    let mut harness = listed(Config::default());
    assert_eq!(harness.watch_refused(api_error(410)).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    harness.expect_list();
}

#[test]
fn a_throttled_watch_resumes_from_the_same_version() {
    for code in [429, 503] {
        let mut harness = listed(Config::default());
        assert_eq!(harness.watch_refused(ClientError::Api(status(code, 3).boxed())).len(), 1);
        assert_eq!(harness.wait, Duration::from_secs(3));
        assert_eq!(harness.expect_watch(), "10");
    }
    let mut harness = listed(Config::default());
    harness.watch_refused(ClientError::Api(Status::failure("storage is (re)initializing", "").boxed()));
    assert_eq!((harness.wait, harness.expect_watch().as_str()), (SHORT_WAIT, "10"));
}

#[test]
fn a_forbidden_watch_does_not_relist() {
    let mut harness = listed(Config::default());
    harness.watch_refused(api_error(403));
    assert_eq!((harness.wait, harness.expect_watch().as_str()), (LONG_WAIT, "10"));
}

#[test]
fn an_unknown_kind_is_listed_again() {
    let mut harness = listed(Config::default());
    harness.watch_refused(api_error(404));
    assert_eq!(harness.wait, LONG_WAIT);
    harness.expect_list();
}

#[test]
fn a_version_that_the_server_keeps_failing_to_serve_causes_a_relist() {
    let mut harness = listed(Config::default());
    for _ in 0..2 {
        harness.watch_refused(api_error(500));
        assert_eq!(harness.expect_watch(), "10");
    }
    harness.watch_refused(api_error(500));
    harness.expect_list();
}

#[test]
fn watch_events_become_watcher_events() {
    let mut harness = watching();
    assert_eq!(harness.message(added("b", "11")), ["Apply(ns/b)"]);
    assert_eq!(harness.message(json!({ "type": "MODIFIED", "object": object("b", "12") })), ["Apply(ns/b)"]);
    assert_eq!(harness.message(json!({ "type": "DELETED", "object": object("b", "13") })), ["Delete(ns/b)"]);
    assert!(harness.message(bookmark("20", false)).is_empty());
    assert_eq!(harness.collection_versions, ["10", "20"]);
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_watch_after_version_check(), "20", "bookmarks advance the version");
}

#[test]
fn a_watch_that_reached_its_timeout_resumes_at_once() {
    let mut harness = watching();
    harness.message(bookmark("10", false));
    harness.advance(295);
    assert!(harness.read(Read::Closed).is_empty());
    assert_eq!((harness.wait, harness.expect_watch().as_str()), (Duration::ZERO, "10"));
}

#[test]
fn a_watch_with_a_short_timeout_may_end_early() {
    let mut harness = listed(Config::default().timeout(1));
    harness.watch_started();
    harness.message(bookmark("10", false));
    harness.advance(1);
    assert!(harness.read(Read::Closed).is_empty());
    assert_eq!((harness.wait, harness.expect_watch().as_str()), (Duration::ZERO, "10"));
    let zero = listed(Config::default().timeout(0));
    assert_eq!(
        zero.machine.config.idle_timeout(),
        Duration::from_secs(305),
        "zero means the default timeout"
    );
}

#[test]
fn watches_closed_at_once_are_failures_with_growing_waits() {
    let mut harness = watching();
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(harness.read(Read::Closed), ["WatchFailed: the server closed the watch at once"]);
        waits.push(harness.wait.as_millis());
        assert_eq!(harness.expect_watch_after_version_check(), "10");
        harness.watch_started();
    }
    assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    harness.message(added("b", "11"));
    assert!(harness.read(Read::Closed).is_empty(), "a change makes the watch healthy");
    harness.expect_watch_after_version_check();
    harness.watch_started();
    harness.read(Read::Closed);
    assert_eq!(harness.wait, SHORT_WAIT, "a healthy watch resets the backoff");
}

#[test]
fn bookmarks_alone_do_not_make_a_watch_healthy() {
    let mut harness = watching();
    harness.message(bookmark("20", false));
    assert_eq!(harness.read(Read::Closed).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
}

#[test]
fn an_idle_watch_is_given_up_after_the_idle_timeout() {
    let mut harness = watching();
    assert_eq!(harness.expect_read(), Duration::from_secs(305));
    harness.advance(305);
    assert_eq!(harness.read(Read::IdleTimeout).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    assert_eq!(harness.expect_watch_after_version_check(), "10");
    let mut harness = listed(Config::default().timeout(20));
    harness.watch_started();
    assert_eq!(harness.expect_read(), Duration::from_secs(30), "10 s more than the timeout");
}

#[test]
fn a_disconnected_watch_resumes_from_the_last_version() {
    let mut harness = watching();
    harness.message(added("b", "11"));
    harness.advance(60);
    assert_eq!(harness.read(Read::Failed(connection_reset().into())).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    assert_eq!(harness.expect_watch_after_version_check(), "11");
}

#[test]
fn an_expired_version_within_a_watch_causes_a_relist() {
    let mut harness = watching();
    assert_eq!(harness.read(error_event(410, 0)).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    harness.expect_list();
}

#[test]
fn throttling_within_a_watch_resumes_from_the_same_version() {
    for code in [429, 503] {
        let mut harness = watching();
        assert_eq!(harness.read(error_event(code, 4)).len(), 1);
        assert_eq!((harness.wait, harness.expect_watch().as_str()), (Duration::from_secs(4), "10"));
    }
}

#[test]
fn a_regressed_version_causes_a_relist() {
    for message in [added("b", "9"), bookmark("9", false)] {
        let mut harness = watching();
        let emitted = harness.message(message);
        assert_eq!(emitted.len(), 1, "the older object is not emitted: {emitted:?}");
        assert!(emitted[0].starts_with("WatchError"), "{emitted:?}");
        harness.expect_list();
    }
}

#[test]
fn a_resource_version_too_large_causes_a_relist_of_the_most_recent_state() {
    let details = json!({ "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }] });
    let too_large = Status::failure("", "Timeout").with_code(504).with_details(decode(details));
    let mut harness = listed(Config::default().any_semantic());
    harness.watch_refused(ClientError::Api(too_large.boxed()));
    assert_eq!(harness.expect_list().resource_version, None);
}

#[test]
fn a_deletion_with_the_old_version_of_its_object_is_no_regression() {
    let mut harness = watching();
    harness.message(added("b", "12"));
    assert_eq!(harness.message(json!({ "type": "DELETED", "object": object("a", "7") })), ["Delete(ns/a)"]);
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_watch_after_version_check(), "12");
}

#[test]
fn an_undecodable_object_is_emitted_and_the_watch_continues() {
    let mut harness = watching();
    let emitted = harness.message(json!({ "type": "MODIFIED", "object": undecodable("bad", "11") }));
    assert_eq!(emitted, ["Undecodable(ns/bad)"]);
    assert_eq!(harness.wait, Duration::ZERO);
    harness.expect_read();
    assert_eq!(harness.message(added("b", "12")), ["Apply(ns/b)"]);
}

#[test]
fn an_undecodable_deletion_relists_only_if_configured() {
    let deleted = || json!({ "type": "DELETED", "object": undecodable("bad", "11") });
    let mut harness = watching();
    assert_eq!(harness.message(deleted()), ["UndecodableDelete(ns/bad)"]);
    assert_eq!(harness.wait, Duration::ZERO);
    harness.expect_read();
    let mut harness = watching();
    harness.machine.relist_undecodable_deletions = true;
    assert_eq!(harness.message(deleted()), ["UndecodableDelete(ns/bad)"]);
    assert_eq!(harness.wait, SHORT_WAIT);
    harness.expect_list();
}

#[test]
fn a_deletion_without_a_name_causes_a_relist() {
    let mut harness = watching();
    let mut nameless = undecodable("bad", "11");
    nameless["metadata"]["name"] = json!(null);
    harness.message(json!({ "type": "DELETED", "object": nameless }));
    harness.expect_list();
}

#[test]
fn an_unreadable_line_is_requested_again_and_then_causes_a_relist() {
    let unreadable =
        || Read::Failed(ClientError::SerdeError(serde_json::from_str::<Value>("{").unwrap_err()).into());
    let mut harness = watching();
    for _ in 0..2 {
        assert_eq!(harness.read(unreadable()).len(), 1);
        assert_eq!(harness.expect_watch_after_version_check(), "10");
        harness.watch_started();
    }
    harness.read(unreadable());
    assert_eq!(harness.wait, 4 * SHORT_WAIT);
    harness.expect_list();
}

#[test]
fn an_input_that_does_not_fit_the_state_is_ignored() {
    let mut harness = watching();
    for part in [ListPart::Items(vec![decode(object("x", "99"))]), ListPart::End(ListMeta::default())] {
        assert!(harness.step(Input::Listed(Ok(part))).is_empty());
        harness.expect_read();
    }
}

#[test]
fn next_is_idempotent() {
    let harness = Harness::new(Config::default());
    assert_eq!(harness.next(), harness.machine.next());
}

#[test]
fn a_healthy_watch_cut_by_the_clients_idle_timeout_resumes_at_once() {
    let timed_out = || Read::Failed(ClientError::ReadEvents(std::io::ErrorKind::TimedOut.into()).into());
    let mut harness = watching();
    harness.advance(55);
    assert!(harness.read(timed_out()).is_empty(), "a healthy watch may be idle");
    assert_eq!((harness.wait, harness.collection_versions.last().unwrap().as_str()), (Duration::ZERO, "10"));
    assert_eq!(harness.expect_watch_after_version_check(), "10");
    harness.watch_started();
    assert_eq!(harness.read(timed_out()).len(), 1, "a watch that was never healthy is a failure");
    assert_eq!(harness.wait, SHORT_WAIT);
}

#[test]
fn a_deletion_advances_the_version() {
    let mut harness = watching();
    harness.message(json!({ "type": "DELETED", "object": object("a", "12") }));
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_watch_after_version_check(), "12");
}

#[test]
fn the_end_of_a_healthy_watch_emits_progress() {
    let mut harness = watching();
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.collection_versions, ["10", "10"]);
    assert_eq!(harness.expect_watch_after_version_check(), "10");
    harness.watch_started();
    harness.read(Read::Closed);
    assert_eq!(harness.collection_versions.len(), 2, "the watch was not healthy");
}
