//! Streaming lists.

use super::bench::*;
use crate::watcher::{Config, machine::Read};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_streaming_list_goes_over_into_its_watch() {
    let mut bench = streaming();
    assert_eq!(bench.expect_read(), Duration::from_secs(30));
    assert_eq!(bench.message(added("a", "5")), ["InitApply(ns/a)"]);
    assert!(bench.message(bookmark("6", false)).is_empty(), "not every bookmark is the end");
    assert_eq!(bench.message(bookmark("8", true)), ["Synced"]);
    assert_eq!(bench.expect_read(), Duration::from_secs(305));
    assert_eq!(bench.message(added("b", "9")), ["Apply(ns/b)"]);
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch_when_vouched(), "9");
}

#[test]
fn a_streaming_list_may_be_old_if_that_is_good_enough() {
    let mut bench = Bench::new(Config::default().streaming_lists().any_semantic());
    assert_eq!(bench.expect_streaming_list(), "0");
    bench.started();
    bench.message(bookmark("8", true));
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    for _ in 0..3 {
        bench.probed(Err(api_error(500)));
    }
    assert_eq!(bench.expect_streaming_list(), "8", "but not older than what was seen");
    bench.started();
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_streaming_list(), "8");
    bench.refused(api_error(410));
    assert_eq!(bench.expect_streaming_list(), "", "the newest where the server cannot");
}

#[test]
fn a_server_that_refuses_streaming_lists_is_listed_for_good() {
    for code in [422, 400] {
        let mut bench = Bench::new(Config::default().streaming_lists());
        bench.expect_streaming_list();
        assert_eq!(bench.refused(api_error(code)).len(), 1, "surfaced");
        bench.expect_list();
        bench.page(list("10", "", vec![]));
        bench.started();
        bench.read(error_event(410, 0));
        bench.expect_list();
    }
}

#[test]
fn a_streaming_list_without_an_end_falls_back_to_a_list_this_time() {
    for read in [Read::Silent, Read::Ended] {
        let mut bench = streaming();
        bench.message(added("a", "5"));
        assert_eq!(bench.read(read).len(), 1, "surfaced");
        bench.expect_list();
        bench.page(list("10", "", vec![]));
        bench.started();
        bench.read(error_event(410, 0));
        bench.expect_streaming_list();
    }
}

#[test]
fn an_unreadable_line_of_a_streaming_list_leads_to_a_list_this_time() {
    let mut bench = streaming();
    let unreadable = serde_json::from_str::<serde_json::Value>("{").unwrap_err();
    assert_eq!(bench.read(Read::Broken(ClientError::SerdeError(unreadable))).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_list();
}

#[test]
fn a_streaming_list_that_breaks_starts_over() {
    let mut bench = streaming();
    bench.message(added("a", "5"));
    assert_eq!(bench.read(Read::Broken(broken())).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_streaming_list();
    assert_eq!(bench.started(), ["Init"]);
}

#[test]
fn a_busy_server_is_asked_to_stream_again() {
    let mut bench = Bench::new(Config::default().streaming_lists());
    bench.expect_streaming_list();
    bench.refused(ClientError::Api(status(429, 2).boxed()));
    assert_eq!(bench.wait, Duration::from_secs(2));
    bench.expect_streaming_list();
    bench.started();
    bench.read(error_event(503, 5));
    assert_eq!(bench.wait, Duration::from_secs(5));
    bench.expect_streaming_list();
}

#[test]
fn changes_within_a_streaming_list_belong_to_it() {
    let mut bench = streaming();
    assert_eq!(bench.message(json!({ "type": "MODIFIED", "object": object("a", "6") })), ["InitApply(ns/a)"]);
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": object("a", "7") })), ["Delete(ns/a)"]);
    assert_eq!(
        bench.message(json!({ "type": "ADDED", "object": spoiled("bad", "7") })),
        ["Undecodable(ns/bad)"]
    );
    assert_eq!(
        bench.message(json!({ "type": "DELETED", "object": spoiled("bad", "8") })),
        ["UndecodableDelete(ns/bad)"]
    );
    assert_eq!(bench.message(bookmark("8", true)), ["Synced"]);
}

#[test]
fn a_deletion_that_cannot_be_told_starts_the_list_over() {
    let mut bench = streaming();
    let mut nameless = spoiled("bad", "8");
    nameless["metadata"]["name"] = json!(null);
    bench.message(json!({ "type": "DELETED", "object": nameless }));
    assert_eq!((bench.wait, bench.expect_streaming_list().as_str()), (OWN, ""));
    let mut bench = streaming();
    bench.machine.relist_undecodable_deletions = true;
    bench.message(json!({ "type": "DELETED", "object": spoiled("bad", "8") }));
    assert_eq!((bench.wait, bench.expect_streaming_list().as_str()), (OWN, ""));
}
