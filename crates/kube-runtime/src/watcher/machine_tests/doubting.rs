//! Storages that were replaced by older ones, and how a watcher notices.

use super::bench::*;
use crate::watcher::{
    Config,
    machine::{Next, Read},
};
use std::time::Duration;

/// A machine whose watch from version 10 was cut after a minute.
fn cut() -> Bench {
    let mut bench = watching();
    bench.pass(60);
    assert_eq!(bench.read(Read::Broken(broken())).len(), 1);
    assert_eq!((bench.wait, bench.next()), (OWN, Next::Probe));
    bench
}

#[test]
fn a_storage_that_is_older_is_listed_again() {
    let mut bench = cut();
    let reported = bench.probed(Ok("9"));
    assert!(reported[0].starts_with("WatchError"), "{reported:?}");
    assert_eq!(bench.wait, 2 * OWN);
    bench.expect_list();
    assert_eq!(bench.page(list("9", "", vec![])), ["Init", "Synced"]);
    assert_eq!(bench.expect_watch(), "9");
}

#[test]
fn a_storage_that_is_not_older_is_watched_from_where_we_were() {
    for version in ["10", "2000", "", "not-a-number"] {
        let mut bench = cut();
        assert!(bench.probed(Ok(version)).is_empty());
        assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::ZERO, "10"), "{version}");
    }
}

#[test]
fn doubts_last_until_the_server_has_answered() {
    let mut bench = cut();
    assert_eq!(bench.probed(Err(broken())).len(), 1, "an outage is reported");
    assert_eq!(bench.wait, 2 * OWN);
    assert_eq!(bench.probed(Err(ClientError::Api(status(429, 3).boxed()))).len(), 1);
    assert_eq!(bench.wait, Duration::from_secs(3));
    assert_eq!(bench.probed(Err(api_error(500))).len(), 1);
    assert_eq!(bench.probed(Ok("7")).len(), 1);
    bench.expect_list();
}

#[test]
fn a_server_that_fails_to_tell_its_version_is_listed_in_the_end() {
    let mut bench = cut();
    for _ in 0..3 {
        bench.probed(Err(api_error(500)));
    }
    bench.expect_list();
}

#[test]
fn a_server_that_will_not_tell_is_watched_and_the_watch_tells_what_is_wrong() {
    for code in [400, 406] {
        let mut bench = cut();
        assert!(bench.probed(Err(api_error(code))).is_empty(), "{code}");
        assert_eq!((bench.wait, bench.expect_watch().as_str()), (Duration::ZERO, "10"));
    }
}

#[test]
fn a_server_that_refuses_to_tell_is_listed() {
    for code in [401, 403] {
        let mut bench = cut();
        assert!(bench.probed(Err(api_error(code))).is_empty(), "nothing is wrong yet");
        assert_eq!(bench.wait, 2 * OWN);
        bench.expect_list();
        assert_eq!(bench.page(list("9", "", vec![])), ["Init", "Synced"]);
        assert_eq!(bench.expect_watch(), "9", "{code}: nothing of before counts");
    }
}

#[test]
fn a_server_that_does_not_know_the_kind_yet_is_listed_once_it_does() {
    let mut bench = cut();
    assert_eq!(bench.probed(Err(api_error(404))).len(), 1, "reported as a watch would report it");
    bench.expect_list();
    assert_eq!(bench.page(list("9", "", vec![])), ["Init", "Synced"]);
    assert_eq!(bench.expect_watch(), "9", "nothing of before counts");
}

#[test]
fn a_quiet_watch_is_followed_by_the_question_one_that_brought_something_is_not() {
    let mut quiet = watching();
    quiet.pass(295);
    assert!(quiet.read(Read::Ended).is_empty(), "nothing is wrong with that");
    assert_eq!((quiet.wait, quiet.next()), (Duration::ZERO, Next::Probe));

    let mut bookmarked = watching();
    bookmarked.message(bookmark("10", false));
    bookmarked.pass(295);
    bookmarked.read(Read::Ended);
    assert_eq!(bookmarked.expect_watch(), "10");
}

#[test]
fn a_watch_that_ended_before_its_time_is_followed_by_the_question() {
    let mut bench = watching();
    bench.message(added("b", "11"));
    bench.pass(200);
    assert!(bench.read(Read::Ended).is_empty());
    assert_eq!(
        (bench.wait, bench.next()),
        (Duration::ZERO, Next::Probe),
        "as servers do when they are stopped"
    );
}

#[test]
fn a_connection_that_cannot_be_made_is_followed_by_the_question() {
    let mut bench = listed(Config::default());
    assert_eq!(bench.refused(broken()).len(), 1);
    assert_eq!((bench.wait, bench.next()), (OWN, Next::Probe));
}

#[test]
fn a_watch_closed_at_once_is_followed_by_the_question_too() {
    let mut bench = watching();
    assert_eq!(bench.read(Read::Ended).len(), 1);
    assert_eq!((bench.wait, bench.next()), (OWN, Next::Probe), "a restart can come at any moment");
}

#[test]
fn versions_that_are_no_numbers_are_never_doubted() {
    let mut bench = Bench::new(Config::default());
    bench.page(list("abc", "", vec![]));
    bench.started();
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch(), "abc");
}
