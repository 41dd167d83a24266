//! Versions that count per object.

use super::bench::*;
use crate::watcher::{Config, machine::Read};

/// A machine that has listed again, at version 10, because of a lower version.
fn doubting_versions() -> Bench {
    let mut bench = watching();
    bench.message(added("b", "3"));
    bench.page(list("10", "", vec![]));
    bench.started();
    bench
}

#[test]
fn lower_versions_that_a_list_does_not_explain_count_no_more() {
    let mut bench = doubting_versions();
    assert_eq!(bench.message(added("b", "4")), ["Apply(ns/b)"]);
    assert_eq!(bench.message(added("c", "1")), ["Apply(ns/c)"]);
    assert!(bench.message(bookmark("2", false)).is_empty());
    assert_eq!(bench.reached, ["10", "10", "", ""], "and nobody may rely on them");
    bench.pass(60);
    bench.read(Read::Broken(broken()));
    assert_eq!(bench.expect_watch(), "2", "as the server said last; it is not asked for a version");
    bench.refused(api_error(410));
    bench.page(list("10", "", vec![]));
    assert_eq!(bench.reached.last().unwrap(), "");
}

#[test]
fn lower_versions_that_a_list_explains_go_on_counting() {
    let mut bench = watching();
    for version in ["9", "8", "7"] {
        bench.message(added("b", version));
        bench.page(list(version, "", vec![]));
        bench.started();
    }
    assert_eq!(bench.reached.last().unwrap(), "7");
    bench.message(added("b", "6"));
    bench.expect_list();
}

#[test]
fn a_list_that_is_older_than_its_objects_shows_that_versions_count_per_object() {
    let mut bench = Bench::new(Config::default());
    bench.page(list("10", "more", vec![object("a", "7")]));
    bench.page(list("10", "", vec![object("b", "25")]));
    assert_eq!(bench.reached, [""]);
    bench.started();
    for version in ["26", "8", "27", "9"] {
        assert_eq!(bench.message(added("a", version)), ["Apply(ns/a)"]);
    }
}
