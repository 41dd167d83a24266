//! Watches.

use super::bench::*;
use crate::watcher::{Config, machine::Read};
use kube_core::Status;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_watch_refused_as_expired_leads_to_a_list() {
    let mut bench = listed(Config::default());
    assert_eq!(bench.refused(api_error(410)).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_list();
}

#[test]
fn a_watch_answered_by_busy_resumes_from_the_same_version() {
    for code in [429, 503] {
        let mut bench = listed(Config::default());
        assert_eq!(bench.refused(ClientError::Api(status(code, 3).boxed())).len(), 1);
        assert_eq!(bench.wait, Duration::from_secs(3));
        assert_eq!(bench.expect_watch(), "10");
    }
    let mut bench = listed(Config::default());
    bench.refused(ClientError::Api(Status::failure("storage is (re)initializing", "").boxed()));
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (OWN, "10"));
}

#[test]
fn a_forbidden_watch_does_not_list_again() {
    let mut bench = listed(Config::default());
    bench.refused(api_error(403));
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (LONG, "10"));
}

#[test]
fn a_kind_that_is_gone_is_listed_when_it_is_back() {
    let mut bench = listed(Config::default());
    bench.refused(api_error(404));
    assert_eq!(bench.wait, LONG);
    bench.expect_list();
}

#[test]
fn a_version_the_server_fails_to_serve_is_given_up_in_the_end() {
    let mut bench = listed(Config::default());
    for _ in 0..2 {
        bench.refused(api_error(500));
        assert_eq!(bench.expect_watch(), "10");
    }
    bench.refused(api_error(500));
    bench.expect_list();
}

// --- watching

#[test]
fn events_become_events() {
    let mut bench = watching();
    assert_eq!(bench.message(added("b", "11")), ["Apply(ns/b)"]);
    assert_eq!(bench.message(json!({ "type": "MODIFIED", "object": object("b", "12") })), ["Apply(ns/b)"]);
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": object("b", "13") })), ["Delete(ns/b)"]);
    assert!(bench.message(bookmark("20", false)).is_empty());
    assert_eq!(bench.reached, ["10", "20"]);
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch_when_vouched(), "20", "bookmarks count");
}

#[test]
fn a_watch_that_ends_by_itself_is_resumed_at_once() {
    let mut bench = watching();
    bench.message(bookmark("10", false));
    bench.pass(295);
    assert!(bench.read(Read::Ended).is_empty());
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::ZERO, "10"));
}

#[test]
fn a_watch_with_a_short_timeout_may_end_soon() {
    let mut bench = listed(Config::default().timeout(1));
    bench.started();
    bench.message(bookmark("10", false));
    bench.pass(1);
    assert!(bench.read(Read::Ended).is_empty());
    assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::ZERO, "10"));
    let endless = listed(Config::default().timeout(0));
    assert_eq!(
        endless.machine.config.silence(),
        Duration::from_secs(305),
        "zero is no timeout a server knows"
    );
}

#[test]
fn a_watch_closed_at_once_is_a_failure_and_waits_grow() {
    let mut bench = watching();
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(bench.read(Read::Ended), ["WatchFailed: the server closed the watch at once"]);
        waits.push(bench.wait.as_millis());
        assert_eq!(bench.expect_watch_when_vouched(), "10");
        bench.started();
    }
    assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    bench.message(added("b", "11"));
    assert!(bench.read(Read::Ended).is_empty(), "news make it a good watch");
    bench.expect_watch_when_vouched();
    bench.started();
    bench.read(Read::Ended);
    assert_eq!(bench.wait, OWN, "and past failures are forgotten");
}

#[test]
fn bookmarks_alone_do_not_make_a_good_watch() {
    let mut bench = watching();
    bench.message(bookmark("20", false));
    assert_eq!(bench.read(Read::Ended).len(), 1);
    assert_eq!(bench.wait, OWN);
}

#[test]
fn a_silent_watch_is_given_up() {
    let mut bench = watching();
    assert_eq!(bench.expect_read(), Duration::from_secs(305));
    bench.pass(305);
    assert_eq!(bench.read(Read::Silent).len(), 1);
    assert_eq!(bench.wait, OWN);
    assert_eq!(bench.expect_watch_when_vouched(), "10");
    let mut bench = listed(Config::default().timeout(20));
    bench.started();
    assert_eq!(bench.expect_read(), Duration::from_secs(30), "10 s more than the server was asked for");
}

#[test]
fn a_broken_watch_resumes_from_the_last_version() {
    let mut bench = watching();
    bench.message(added("b", "11"));
    bench.pass(60);
    assert_eq!(bench.read(Read::Broken(broken())).len(), 1);
    assert_eq!(bench.wait, OWN);
    assert_eq!(bench.expect_watch_when_vouched(), "11");
}

#[test]
fn an_expired_version_within_a_watch_leads_to_a_list() {
    let mut bench = watching();
    assert_eq!(bench.read(error_event(410, 0)).len(), 1);
    assert_eq!(bench.wait, OWN);
    bench.expect_list();
}

#[test]
fn a_busy_server_within_a_watch_resumes_from_the_same_version() {
    for code in [429, 503] {
        let mut bench = watching();
        assert_eq!(bench.read(error_event(code, 4)).len(), 1);
        assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::from_secs(4), "10"));
    }
}

#[test]
fn versions_that_go_back_lead_to_a_list() {
    for message in [added("b", "9"), bookmark("9", false)] {
        let mut bench = watching();
        let reported = bench.message(message);
        assert_eq!(reported.len(), 1, "the object of the past is not delivered: {reported:?}");
        assert!(reported[0].starts_with("WatchError"), "{reported:?}");
        bench.expect_list();
    }
}

#[test]
fn a_server_that_is_behind_our_version_leads_to_a_list() {
    let details = json!({ "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }] });
    let behind = Status::failure("", "Timeout").with_code(504).with_details(decode(details));
    let mut bench = listed(Config::default().any_semantic());
    bench.refused(ClientError::Api(behind.boxed()));
    assert_eq!(bench.expect_list().resource_version, None, "of the newest state");
}

#[test]
fn a_deletion_with_its_objects_old_version_is_a_deletion() {
    let mut bench = watching();
    bench.message(added("b", "12"));
    assert_eq!(bench.message(json!({ "type": "DELETED", "object": object("a", "7") })), ["Delete(ns/a)"]);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch_when_vouched(), "12");
}

#[test]
fn an_undecodable_object_is_named_and_the_watch_goes_on() {
    let mut bench = watching();
    let reported = bench.message(json!({ "type": "MODIFIED", "object": spoiled("bad", "11") }));
    assert_eq!(reported, ["Undecodable(ns/bad)"]);
    assert_eq!(bench.wait, Duration::ZERO);
    bench.expect_read();
    assert_eq!(bench.message(added("b", "12")), ["Apply(ns/b)"]);
}

#[test]
fn an_undecodable_deletion_is_told_by_name() {
    let gone = || json!({ "type": "DELETED", "object": spoiled("bad", "11") });
    let mut bench = watching();
    assert_eq!(bench.message(gone()), ["UndecodableDelete(ns/bad)"]);
    assert_eq!(bench.wait, Duration::ZERO);
    bench.expect_read();
    let mut bench = watching();
    bench.machine.relist_undecodable_deletions = true;
    assert_eq!(bench.message(gone()), ["UndecodableDelete(ns/bad)"]);
    assert_eq!(bench.wait, OWN, "for those who cannot be told by name");
    bench.expect_list();
}

#[test]
fn a_deletion_without_a_name_leads_to_a_list() {
    let mut bench = watching();
    let mut nameless = spoiled("bad", "11");
    nameless["metadata"]["name"] = json!(null);
    bench.message(json!({ "type": "DELETED", "object": nameless }));
    bench.expect_list();
}

#[test]
fn an_unreadable_line_is_asked_for_again_and_then_listed() {
    let unreadable =
        || Read::Broken(ClientError::SerdeError(serde_json::from_str::<Value>("{").unwrap_err()));
    let mut bench = watching();
    for _ in 0..2 {
        assert_eq!(bench.read(unreadable()).len(), 1);
        assert_eq!(bench.expect_watch_when_vouched(), "10");
        bench.started();
    }
    bench.read(unreadable());
    assert_eq!(bench.wait, 4 * OWN);
    bench.expect_list();
}

#[test]
fn an_answer_nobody_asked_for_changes_nothing() {
    let mut bench = watching();
    assert!(bench.page(list("99", "", vec![object("x", "99")])).is_empty());
    bench.expect_read();
}

#[test]
fn asking_twice_gives_the_same_answer() {
    let bench = Bench::new(Config::default());
    assert_eq!(bench.next(), bench.machine.next());
}

#[test]
fn a_watch_that_was_cut_for_its_silence_is_resumed_at_once() {
    let timed_out = || Read::Broken(ClientError::ReadEvents(std::io::ErrorKind::TimedOut.into()));
    let mut bench = watching();
    bench.pass(55);
    assert!(bench.read(timed_out()).is_empty(), "nothing is wrong with that");
    assert_eq!((bench.wait, bench.reached.last().unwrap().as_str()), (Duration::ZERO, "10"));
    assert_eq!(bench.expect_watch_when_vouched(), "10");
    bench.started();
    assert_eq!(bench.read(timed_out()).len(), 1, "but one that never lived failed");
    assert_eq!(bench.wait, OWN);
}

#[test]
fn a_deletion_is_progress() {
    let mut bench = watching();
    bench.message(json!({ "type": "DELETED", "object": object("a", "12") }));
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch_when_vouched(), "12");
}

#[test]
fn progress_is_told_when_a_watch_that_lived_is_over() {
    let mut bench = watching();
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.reached, ["10", "10"]);
    assert_eq!(bench.expect_watch_when_vouched(), "10");
    bench.started();
    bench.read(Read::Ended);
    assert_eq!(bench.reached.len(), 2, "it did not live");
}
