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
    assert!(bench.message(json!({ "type": "ADDED", "object": spoiled("bad", "7") })).is_empty());
    let end = bench.message(bookmark("8", true));
    assert!(end[0] == "Synced" && end[1].contains("ns/bad"), "{end:?}");
}
