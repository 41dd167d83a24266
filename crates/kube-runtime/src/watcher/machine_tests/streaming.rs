//! Streaming lists.

use super::harness::*;
use crate::watcher::{
    Config, ListChoice,
    machine::{Input, Machine, Read},
    retry::RetryBackoff,
};
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

/// A machine that streams lists if the server supports that, whatever its configuration says.
fn preferring() -> Harness {
    let mut harness = Harness::new(Config::default());
    harness.machine = harness.machine.listing(ListChoice::StreamedIfSupported);
    assert_eq!(harness.expect_streaming_list(), "");
    harness
}

/// A LIST follows at once, also after the next 410.
fn expect_lists_from_now_on(harness: &mut Harness) {
    assert_eq!(harness.wait, Duration::ZERO);
    harness.expect_list();
    assert!(!harness.machine.take_streaming_unsupported(), "not before a list has succeeded");
    assert_eq!(harness.page(list("10", "", vec![])), ["Init", "Synced"]);
    assert!(harness.machine.take_streaming_unsupported(), "it is to be remembered");
    harness.watch_started();
    harness.read(error_event(410, 0));
    harness.expect_list();
    assert!(!harness.machine.take_streaming_unsupported());
}

#[test]
fn a_server_that_does_not_support_streaming_lists_is_no_error_unless_the_program_chose_them() {
    for code in [400, 405, 406, 415, 422] {
        let mut harness = preferring();
        assert!(harness.watch_refused(api_error(code)).is_empty(), "{code}");
        expect_lists_from_now_on(&mut harness);
        let mut harness = preferring();
        harness.watch_started();
        assert!(harness.read(error_event(code, 0)).is_empty(), "{code}");
        expect_lists_from_now_on(&mut harness);
    }
}

/// As from a server that takes the request for one of a plain watch. A watch could not go on from an empty version.
#[test]
fn another_bookmark_first_is_one_of_a_server_without_streaming_lists() {
    for bookmark in [bookmark("6", false), bookmark("", true)] {
        let mut harness = preferring();
        harness.watch_started();
        harness.message(added("a", "5"));
        assert!(harness.message(bookmark).is_empty());
        expect_lists_from_now_on(&mut harness);
    }
}

/// Once, it may be a dead connection.
#[test]
fn a_server_whose_streaming_lists_are_silent_twice_has_none() {
    let mut harness = preferring();
    let silent = |harness: &mut Harness| {
        harness.watch_started();
        harness.message(added("a", "5"));
        assert!(harness.read(Read::IdleTimeout).is_empty());
    };
    let relisted = |harness: &mut Harness, version| {
        assert_eq!(harness.wait, Duration::ZERO);
        harness.expect_list();
        harness.page(list(version, "", vec![]));
        harness.watch_started();
        harness.read(error_event(410, 0));
        harness.expect_streaming_list();
    };
    silent(&mut harness);
    relisted(&mut harness, "10");
    harness.watch_started();
    assert_eq!(harness.message(bookmark("20", true)), ["Synced"]);
    harness.read(error_event(410, 0));
    harness.expect_streaming_list();
    assert!(!harness.machine.take_streaming_unsupported());
    silent(&mut harness);
    relisted(&mut harness, "30");
    silent(&mut harness);
    harness.expect_list();
    harness.page(list("40", "", vec![]));
    assert!(harness.machine.take_streaming_unsupported(), "it is to be remembered");
}

/// Such as a selector that the kind does not have: one watch must not decide for all others.
#[test]
fn a_refusal_of_each_list_says_nothing_about_streaming_lists() {
    for as_event in [false, true] {
        let mut harness = preferring();
        if as_event {
            harness.watch_started();
            harness.read(error_event(400, 0));
        } else {
            harness.watch_refused(api_error(400));
        }
        for _ in 0..3 {
            harness.expect_list();
            assert_eq!(harness.list_error(api_error(400)), ["InitialListFailed"]);
            assert!(!harness.machine.take_streaming_unsupported());
        }
    }
}

/// As by a proxy with a limit of time: pages pass, and the whole in one response never does.
#[test]
fn a_streaming_list_that_is_cut_is_followed_by_a_paged_one() {
    let failures: [fn() -> ClientError; 2] =
        [connection_reset, || ClientError::ReadEvents(std::io::ErrorKind::TimedOut.into())];
    for failure in failures {
        let mut harness = preferring();
        for version in ["10", "20"] {
            harness.watch_started();
            harness.message(added("a", "5"));
            assert_eq!(harness.read(Read::Failed(failure().into())).len(), 1, "the failure is an item");
            harness.expect_list();
            harness.page(list(version, "", vec![]));
            assert!(!harness.machine.take_streaming_unsupported(), "it proves nothing about the server");
            harness.watch_started();
            harness.read(error_event(410, 0));
            harness.expect_streaming_list();
        }
    }
}

/// As by a proxy that holds a response back until it is complete.
#[test]
fn a_streaming_list_that_does_not_begin_is_followed_by_a_paged_one() {
    let mut harness = preferring();
    assert_eq!(harness.watch_refused(ClientError::Service("no response in time".into())).len(), 1);
    harness.expect_list();
    harness.page(list("10", "", vec![]));
    harness.watch_started();
    harness.read(error_event(410, 0));
    harness.expect_streaming_list();
}

#[test]
fn a_chosen_streaming_list_that_is_cut_twice_in_a_row_is_followed_by_a_paged_one() {
    let mut harness = streaming();
    for version in ["10", "20"] {
        harness.read(Read::Failed(connection_reset().into()));
        harness.expect_streaming_list();
        harness.watch_started();
        harness.read(Read::Failed(connection_reset().into()));
        harness.expect_list();
        harness.page(list(version, "", vec![]));
        harness.watch_started();
        harness.read(error_event(410, 0));
        harness.expect_streaming_list();
        harness.watch_started();
    }
}

/// What the old one does not support says nothing about the new one.
#[test]
fn another_cluster_is_asked_for_a_streaming_list_as_at_the_start() {
    let refused = {
        let mut harness = preferring();
        harness.watch_refused(api_error(422));
        harness.page(list("10", "", vec![]));
        harness
    };
    let silent = || {
        let mut harness = preferring();
        harness.watch_started();
        harness.read(Read::IdleTimeout);
        harness.expect_list();
        harness
    };
    for mut harness in [preferring(), refused, silent()] {
        assert_eq!(harness.step(Input::AnotherCluster), ["WatchError"]);
        harness.expect_streaming_list();
        assert!(!harness.machine.take_streaming_unsupported());
        harness.watch_started();
        harness.read(Read::IdleTimeout);
        harness.page(list("30", "", vec![]));
        assert!(!harness.machine.take_streaming_unsupported(), "silent once");
    }
    let mut harness = silent();
    let step =
        harness.machine.step::<k8s_openapi::api::core::v1::ConfigMap>(Input::AnotherCluster, harness.now);
    assert!(!step.health.proven, "no watch has worked");
}

#[test]
fn a_watch_that_ends_before_the_list_is_complete_proves_nothing_about_the_server() {
    let mut harness = preferring();
    harness.watch_started();
    harness.message(added("a", "5"));
    assert_eq!(harness.read(Read::Closed).len(), 1, "the failure is an item");
    assert_eq!((harness.wait, harness.machine.take_streaming_unsupported()), (SHORT_WAIT, false));
    harness.expect_list();
    harness.page(list("10", "", vec![]));
    harness.watch_started();
    harness.read(error_event(410, 0));
    harness.expect_streaming_list();
}

#[test]
fn a_server_that_fails_at_streaming_lists_is_asked_for_a_paged_one_in_between() {
    let mut harness = preferring();
    assert_eq!(harness.watch_refused(api_error(500)).len(), 1);
    harness.expect_list();
    harness.list_error(api_error(500));
    harness.expect_list();
    harness.page(list("10", "", vec![]));
    harness.watch_started();
    harness.read(error_event(410, 0));
    harness.expect_streaming_list();
    harness.watch_started();
    assert_eq!(harness.read(error_event(500, 0)).len(), 1);
    harness.expect_list();
}

#[test]
fn a_refused_permission_is_an_error_and_proves_nothing_about_the_server() {
    let mut harness = preferring();
    assert_eq!(harness.watch_refused(api_error(403)).len(), 1);
    assert!(!harness.machine.take_streaming_unsupported());
    harness.expect_streaming_list();
}

#[test]
fn a_server_of_which_it_is_known_is_not_asked_for_a_streaming_list() {
    let machine = |config, choice, supported| {
        Machine::new(config, RetryBackoff::without_jitter()).listing(choice).on_server(supported)
    };
    let streams = |machine: Machine| matches!(machine.next(), crate::watcher::machine::Next::Watch(..));
    let streaming = || Config::default().streaming_lists();
    use ListChoice::{Configured, StreamedIfSupported};
    assert!(streams(machine(Config::default(), StreamedIfSupported, true)));
    assert!(!streams(machine(Config::default(), StreamedIfSupported, false)));
    assert!(!streams(machine(streaming(), StreamedIfSupported, false)));
    assert!(!streams(machine(Config::default(), Configured, true)), "a bare watcher lists");
    assert!(streams(machine(streaming(), Configured, false)), "the program wants to see the refusal");
}
