//! Versions that are counted per object, and those of another cluster.

use super::harness::*;
use crate::watcher::{
    Config,
    machine::{Input, Read, Watching},
};
use std::time::Duration;

/// A machine that has relisted, at version 10, because of a lower version.
fn after_a_regressed_version() -> Harness {
    let mut harness = watching();
    harness.message(added("b", "3"));
    harness.page(list("10", "", vec![]));
    harness.watch_started();
    harness
}

#[test]
fn a_watch_goes_on_from_the_last_version_that_is_not_empty() {
    let (since, progressed, received_any) = (tokio::time::Instant::now(), false, false);
    let mut watching = Watching { version: "7".into(), since, progressed, received_any };
    for (received, version) in [("8", "8"), ("", "8"), ("8", "8"), ("9", "9")] {
        watching.advance(received);
        assert_eq!(watching.version, version);
    }
}

#[test]
fn regressed_versions_not_confirmed_by_a_list_make_versions_opaque() {
    let mut harness = after_a_regressed_version();
    assert_eq!(harness.message(added("b", "4")), ["Apply(ns/b)"]);
    assert_eq!(harness.message(added("c", "1")), ["Apply(ns/c)"]);
    assert!(harness.message(bookmark("2", false)).is_empty());
    assert_eq!(harness.collection_versions, ["10", "10", "", ""], "opaque versions are emitted as empty");
    harness.advance(60);
    harness.read(Read::Failed(connection_reset().into()));
    assert_eq!(harness.expect_watch(), "2", "the last version, without a version check");
    harness.watch_refused(api_error(410));
    harness.page(list("10", "", vec![]));
    assert_eq!(harness.collection_versions.last().unwrap(), "");
}

#[test]
fn regressed_versions_confirmed_by_lists_stay_comparable() {
    let mut harness = watching();
    for version in ["9", "8", "7"] {
        harness.message(added("b", version));
        harness.page(list(version, "", vec![]));
        harness.watch_started();
    }
    assert_eq!(harness.collection_versions.last().unwrap(), "7");
    harness.message(added("b", "6"));
    harness.expect_list();
}

#[test]
fn a_list_older_than_its_objects_makes_versions_opaque() {
    let mut harness = Harness::new(Config::default());
    harness.page(list("10", "more", vec![object("a", "7")]));
    harness.page(list("10", "", vec![object("b", "25")]));
    assert_eq!(harness.collection_versions, [""]);
    harness.watch_started();
    for version in ["26", "8", "27", "9"] {
        assert_eq!(harness.message(added("a", version)), ["Apply(ns/a)"]);
    }
}

/// A lower version is not a storage that went back, and known objects of equal versions are others.
#[test]
fn another_cluster_is_listed_as_at_the_start_from_every_state() {
    let disconnected = {
        let mut harness = watching();
        harness.advance(60);
        harness.read(Read::Failed(connection_reset().into()));
        harness
    };
    for mut harness in [Harness::new(Config::default()), listed(Config::default()), watching(), disconnected]
    {
        assert_eq!(harness.step(Input::AnotherCluster), ["WatchError"]);
        assert_eq!(harness.wait, Duration::ZERO, "nothing has failed");
        assert!(harness.machine.history_lost(), "each object is decoded");
        harness.expect_list();
        assert_eq!(
            harness.page(list("3", "", vec![object("a", "2")])),
            ["Init", "InitApply(ns/a)", "Synced"]
        );
        assert!(!harness.machine.history_lost());
        assert_eq!(harness.expect_watch(), "3");
    }
    let mut harness = streaming();
    harness.message(bookmark("10", true));
    harness.step(Input::AnotherCluster);
    harness.expect_streaming_list();
}
