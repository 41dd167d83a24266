//! Paged lists.

use super::bench::*;
use crate::watcher::{Config, ListSemantic, machine::Read};
use kube_core::params::VersionMatch;
use serde_json::json;
use std::time::Duration;

#[test]
fn lists_page_by_page_then_watches_from_the_last_version() {
    let mut bench = Bench::new(Config::default().labels("app=web"));
    let first = bench.expect_list();
    assert_eq!((first.limit, first.continue_token, first.resource_version), (Some(500), None, None));
    assert_eq!(first.label_selector.as_deref(), Some("app=web"));
    assert_eq!(bench.page(list("10", "more", vec![object("a", "1")])), ["Init", "InitApply(ns/a)"]);
    let second = bench.expect_list();
    assert_eq!((second.continue_token.as_deref(), second.resource_version), (Some("more"), None));
    assert_eq!(second.label_selector.as_deref(), Some("app=web"));
    assert_eq!(bench.page(list("10", "", vec![object("b", "2")])), ["InitApply(ns/b)", "Synced"]);
    assert_eq!(bench.expect_watch(), "10");
    assert_eq!(bench.wait, Duration::ZERO);
}

#[test]
fn a_page_that_fails_is_asked_for_again() {
    let mut bench = Bench::new(Config::default());
    bench.page(list("10", "more", vec![]));
    assert_eq!(bench.list_error(broken()).len(), 1);
    assert_eq!(bench.wait, OWN);
    assert_eq!(bench.expect_list().continue_token.as_deref(), Some("more"));
    bench.list_error(api_error(500));
    assert_eq!(bench.wait, 2 * OWN, "waits grow");
}

#[test]
fn an_expired_continue_token_leads_to_one_whole_list() {
    let mut bench = Bench::new(Config::default());
    bench.page(list("10", "more", vec![object("a", "1")]));
    assert!(bench.list_error(api_error(410)).is_empty(), "nothing is lost, so nothing is reported");
    let mut unknown = Bench::new(Config::default());
    unknown.page(list("10", "more", vec![]));
    assert!(unknown.list_error(api_error(400)).is_empty(), "as servers say that do not know the token");
    assert_eq!(unknown.expect_list().limit, None);
    let whole = bench.expect_list();
    assert_eq!((whole.limit, whole.continue_token, whole.resource_version), (None, None, None));
    assert_eq!(bench.page(list("20", "", vec![object("b", "2")])), ["Init", "InitApply(ns/b)", "Synced"]);
    assert_eq!(bench.expect_watch(), "20");
}

#[test]
fn a_list_answered_by_busy_waits_as_asked() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.list_error(ClientError::Api(status(429, 7).boxed())).len(), 1);
    assert_eq!(bench.wait, Duration::from_secs(7));
    bench.expect_list();
}

#[test]
fn what_only_people_can_change_is_tried_less_often() {
    for code in [401, 403, 404, 400] {
        let mut bench = Bench::new(Config::default());
        assert_eq!(bench.list_error(api_error(code)).len(), 1, "{code}");
        assert_eq!(bench.wait, LONG, "{code}");
        bench.expect_list();
    }
}

#[test]
fn a_list_without_a_version_cannot_be_watched() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(bench.page(json!({ "metadata": {}, "items": [] })), ["Init", "NoResourceVersion"]);
    assert_eq!(bench.wait, LONG);
    bench.expect_list();
}

#[test]
fn undecodable_objects_of_a_list_are_told_one_by_one_and_the_rest_flows() {
    let mut bench = Bench::new(Config::default());
    assert_eq!(
        bench.page(list("10", "more", vec![spoiled("bad", "1"), object("a", "2")])),
        ["Init", "Undecodable(ns/bad)", "InitApply(ns/a)"]
    );
    assert_eq!(bench.page(list("10", "", vec![spoiled("worse", "3")])), ["Undecodable(ns/worse)", "Synced"]);
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::ZERO, "10"));
}

#[test]
fn a_list_that_may_be_old_is_never_older_than_what_was_seen() {
    let mut bench = Bench::new(Config::default().any_semantic());
    let first = bench.expect_list();
    assert_eq!((first.resource_version.as_deref(), first.limit), (Some("0"), None));
    bench.page(list("10", "", vec![]));
    bench.started();
    bench.message(added("a", "15"));
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    for _ in 0..3 {
        bench.probed(Err(api_error(500)));
    }
    let relist = bench.expect_list();
    assert_eq!(relist.resource_version.as_deref(), Some("15"));
    assert_eq!(relist.version_match, Some(VersionMatch::NotOlderThan));
    bench.list_error(api_error(500));
    assert_eq!(bench.expect_list().resource_version.as_deref(), Some("15"), "of whatever server");
    bench.list_error(api_error(410));
    let newest = bench.expect_list();
    assert_eq!((newest.resource_version, newest.version_match), (None, None), "where the server cannot");
    assert_eq!(bench.machine.config.list_semantic, ListSemantic::Any);
}

#[test]
fn after_an_expired_version_the_newest_state_is_asked_for() {
    for refused in [true, false] {
        let mut bench = Bench::new(Config::default().any_semantic());
        bench.page(list("10", "", vec![]));
        if refused {
            bench.refused(api_error(410));
        } else {
            bench.started();
            bench.read(error_event(410, 0));
        }
        for _ in 0..3 {
            assert_eq!(bench.expect_list().resource_version, None, "no server may answer from the past");
            bench.list_error(broken());
        }
    }
}

/// A machine that may be shown old states, whose watch from version 10 has lived and is over.
fn any_after_a_watch() -> Bench {
    let mut bench = Bench::new(Config::default().any_semantic());
    bench.page(list("10", "", vec![]));
    bench.started();
    bench.pass(60);
    bench
}

#[test]
fn where_the_storage_may_be_another_one_the_newest_state_is_asked_for() {
    let mut rewound = any_after_a_watch();
    rewound.message(added("a", "9"));
    assert_eq!(rewound.expect_list().resource_version, None);

    let mut refused = any_after_a_watch();
    refused.read(Read::Broken(broken()));
    refused.probed(Err(api_error(403)));
    assert_eq!(refused.expect_list().resource_version, None);
}

#[test]
fn a_list_for_a_deletion_that_cannot_be_told_is_no_older_than_it() {
    let mut bench = any_after_a_watch();
    bench.machine.relist_undecodable_deletions = true;
    bench.message(json!({ "type": "DELETED", "object": spoiled("bad", "11") }));
    assert_eq!(bench.expect_list().resource_version.as_deref(), Some("11"));
}
