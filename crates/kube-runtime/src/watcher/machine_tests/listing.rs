//! Paged lists.

use super::harness::*;
use crate::watcher::{Config, ListSemantic, machine::Read};
use kube_core::params::VersionMatch;
use serde_json::json;
use std::time::Duration;

#[test]
fn a_paged_list_is_followed_by_a_watch_from_its_version() {
    let mut harness = Harness::new(Config::default().labels("app=web"));
    let first = harness.expect_list();
    assert_eq!((first.limit, first.continue_token, first.resource_version), (Some(500), None, None));
    assert_eq!(first.label_selector.as_deref(), Some("app=web"));
    assert_eq!(harness.page(list("10", "more", vec![object("a", "1")])), ["Init", "InitApply(ns/a)"]);
    let second = harness.expect_list();
    assert_eq!((second.continue_token.as_deref(), second.resource_version), (Some("more"), None));
    assert_eq!(second.label_selector.as_deref(), Some("app=web"));
    assert_eq!(harness.page(list("10", "", vec![object("b", "2")])), ["InitApply(ns/b)", "Synced"]);
    assert_eq!(harness.expect_watch(), "10");
    assert_eq!(harness.wait, Duration::ZERO);
}

#[test]
fn a_failed_page_is_requested_again() {
    let mut harness = Harness::new(Config::default());
    harness.page(list("10", "more", vec![]));
    assert_eq!(harness.list_error(connection_reset()).len(), 1);
    assert_eq!(harness.wait, SHORT_WAIT);
    assert_eq!(harness.expect_list().continue_token.as_deref(), Some("more"));
    harness.list_error(api_error(500));
    assert_eq!(harness.wait, 2 * SHORT_WAIT, "waits grow");
}

#[test]
fn a_page_that_breaks_off_is_requested_again_and_the_first_one_begins_the_list_again() {
    let mut harness = Harness::new(Config::default());
    assert_eq!(harness.items(vec![decode(object("a", "1"))]), ["Init", "InitApply(ns/a)"]);
    assert_eq!(harness.list_error(connection_reset()).len(), 1);
    assert_eq!((harness.expect_list().continue_token, harness.wait), (None, SHORT_WAIT));
    let first = harness.page(list("10", "more", vec![object("a", "1"), object("b", "2")]));
    assert_eq!(first, ["Init", "InitApply(ns/a)", "InitApply(ns/b)"]);
    assert_eq!(harness.items(vec![decode(object("c", "3"))]), ["InitApply(ns/c)"]);
    assert_eq!(harness.list_error(connection_reset()).len(), 1);
    assert_eq!(harness.expect_list().continue_token.as_deref(), Some("more"));
    let second = harness.page(list("10", "", vec![object("c", "3"), object("d", "4")]));
    assert_eq!(second, ["InitApply(ns/c)", "InitApply(ns/d)", "Synced"]);
    assert_eq!(harness.expect_watch(), "10");
}

#[test]
fn an_expired_continue_token_restarts_the_list_without_pages() {
    let mut harness = Harness::new(Config::default());
    harness.page(list("10", "more", vec![object("a", "1")]));
    assert!(harness.list_error(api_error(410)).is_empty(), "nothing is lost, so no error is emitted");
    let mut unknown_token = Harness::new(Config::default());
    unknown_token.page(list("10", "more", vec![]));
    assert!(
        unknown_token.list_error(api_error(400)).is_empty(),
        "the response of a server that does not know the token"
    );
    assert_eq!(unknown_token.expect_list().limit, None);
    let whole = harness.expect_list();
    assert_eq!((whole.limit, whole.continue_token, whole.resource_version), (None, None, None));
    assert_eq!(harness.page(list("20", "", vec![object("b", "2")])), ["Init", "InitApply(ns/b)", "Synced"]);
    assert_eq!(harness.expect_watch(), "20");
}

#[test]
fn a_throttled_list_waits_for_retry_after() {
    let mut harness = Harness::new(Config::default());
    assert_eq!(harness.list_error(ClientError::Api(status(429, 7).boxed())).len(), 1);
    assert_eq!(harness.wait, Duration::from_secs(7));
    harness.expect_list();
}

#[test]
fn a_permanent_failure_is_retried_with_the_longer_waits() {
    for code in [401, 403, 404, 400] {
        let mut harness = Harness::new(Config::default());
        assert_eq!(harness.list_error(api_error(code)).len(), 1, "{code}");
        assert_eq!(harness.wait, LONG_WAIT, "{code}");
        harness.expect_list();
    }
}

#[test]
fn a_list_without_a_version_is_an_error() {
    let mut harness = Harness::new(Config::default());
    assert_eq!(harness.page(json!({ "metadata": {}, "items": [] })), ["Init", "NoResourceVersion"]);
    assert_eq!(harness.wait, LONG_WAIT);
    harness.expect_list();
}

#[test]
fn undecodable_objects_of_a_list_are_emitted_one_by_one() {
    let mut harness = Harness::new(Config::default());
    assert_eq!(
        harness.page(list("10", "more", vec![undecodable("bad", "1"), object("a", "2")])),
        ["Init", "Undecodable(ns/bad)", "InitApply(ns/a)"]
    );
    assert_eq!(
        harness.page(list("10", "", vec![undecodable("worse", "3")])),
        ["Undecodable(ns/worse)", "Synced"]
    );
    assert_eq!((harness.wait, harness.expect_watch().as_str()), (Duration::ZERO, "10"));
}

#[test]
fn a_relist_with_any_semantic_is_not_older_than_the_seen_version() {
    let mut harness = Harness::new(Config::default().any_semantic());
    let first = harness.expect_list();
    assert_eq!((first.resource_version.as_deref(), first.limit), (Some("0"), None));
    harness.page(list("10", "", vec![]));
    harness.watch_started();
    harness.message(added("a", "15"));
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    for _ in 0..3 {
        harness.version_checked(Err(api_error(500)));
    }
    let relist = harness.expect_list();
    assert_eq!(relist.resource_version.as_deref(), Some("15"));
    assert_eq!(relist.version_match, Some(VersionMatch::NotOlderThan));
    harness.list_error(api_error(500));
    assert_eq!(harness.expect_list().resource_version.as_deref(), Some("15"), "the same after a failure");
    harness.list_error(api_error(410));
    let newest = harness.expect_list();
    assert_eq!((newest.resource_version, newest.version_match), (None, None), "if the version expired");
    assert_eq!(harness.machine.config.list_semantic, ListSemantic::Any);
}

#[test]
fn after_an_expired_version_the_most_recent_state_is_requested() {
    for refused in [true, false] {
        let mut harness = Harness::new(Config::default().any_semantic());
        harness.page(list("10", "", vec![]));
        if refused {
            harness.watch_refused(api_error(410));
        } else {
            harness.watch_started();
            harness.read(error_event(410, 0));
        }
        for _ in 0..3 {
            assert_eq!(harness.expect_list().resource_version, None, "an older state must not be listed");
            harness.list_error(connection_reset());
        }
    }
}

/// A machine with `ListSemantic::Any` and a healthy watch from version 10.
fn any_semantic_after_a_watch() -> Harness {
    let mut harness = Harness::new(Config::default().any_semantic());
    harness.page(list("10", "", vec![]));
    harness.watch_started();
    harness.advance(60);
    harness
}

#[test]
fn after_a_possible_restore_the_most_recent_state_is_requested() {
    let mut regressed = any_semantic_after_a_watch();
    regressed.message(added("a", "9"));
    assert_eq!(regressed.expect_list().resource_version, None);

    let mut forbidden = any_semantic_after_a_watch();
    forbidden.read(Read::Failed(connection_reset().into()));
    forbidden.version_checked(Err(api_error(403)));
    assert_eq!(forbidden.expect_list().resource_version, None);
}

#[test]
fn a_relist_after_an_unidentified_deletion_is_not_older_than_the_deletion() {
    let mut harness = any_semantic_after_a_watch();
    harness.machine.relist_undecodable_deletions = true;
    harness.message(json!({ "type": "DELETED", "object": undecodable("bad", "11") }));
    assert_eq!(harness.expect_list().resource_version.as_deref(), Some("11"));
}
