//! When a wait for a version is over.

use super::*;
use crate::reflector::store::wait::SharedWatermarks;
use proptest::prelude::*;

fn key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey { namespace: Some(namespace.into()), name: name.into() }
}

fn state(uid: &str, version: &str) -> Awaited {
    Awaited::State { uid: Some(uid.into()), version: version.into(), was_visible: false }
}

fn version_only(version: &str) -> Visible<'_> {
    Visible { uid: None, version: Some(version) }
}

struct Bench(SharedWatermarks);

impl Bench {
    fn wait(&mut self, key: ObjectKey, awaited: Awaited) -> Result<oneshot::Receiver<()>, NoWait> {
        self.0.change(|it| it.wait(key, awaited, |_, awaited| awaited.is_met(None))).map(|(_, done)| done)
    }

    fn number(&mut self, version: &str) -> oneshot::Receiver<()> {
        self.wait(key("x", "a"), state("1", version)).unwrap()
    }

    fn apply(&mut self, version: &str) {
        self.0.change(|it| it.changed(|| key("x", "b"), "x", version_only(version), false));
    }

    fn list(&mut self, version: ListVersion) {
        self.0.change(|it| it.start_list(""));
        self.finish_list(version);
    }

    fn finish_list(&mut self, version: ListVersion) {
        self.0.change(|it| it.list_arrived(""));
        self.0.change(|it| it.finish_list("", version, |_, awaited| awaited.is_met(None)));
    }
}

fn bench() -> Bench {
    Bench(SharedWatermarks::default())
}

fn is_over(done: &mut oneshot::Receiver<()>) -> bool {
    done.try_recv().is_ok()
}

#[test]
fn a_wait_ends_with_its_version_or_a_later_one() {
    let mut bench = bench();
    let (mut five, mut nine) = (bench.number("5"), bench.number("9"));
    bench.apply("4");
    assert!(!is_over(&mut five));
    bench.apply("7");
    assert!(is_over(&mut five) && !is_over(&mut nine));
    bench.0.change(|it| it.progress("x", "9"));
    assert!(is_over(&mut nine) && bench.0.change(|it| it.is_idle()), "a bookmark counts as well");
    assert_eq!(bench.wait(key("x", "a"), state("1", "8")).err(), Some(NoWait::Visible));
}

#[test]
fn the_version_of_a_list_counts_and_not_the_list() {
    let mut bench = bench();
    let (mut five, mut nine) = (bench.number("5"), bench.number("9"));
    bench.list(ListVersion::Known(7));
    bench.list(ListVersion::Known(8));
    assert!(is_over(&mut five) && !is_over(&mut nine), "a server that lags may show an old list many times");
    bench.list(ListVersion::Known(9));
    assert!(is_over(&mut nine));
}

#[test]
fn what_a_restored_storage_lacks_is_not_waited_for() {
    let mut bench = bench();
    bench.list(ListVersion::Known(50));
    let mut lost = bench.number("60");
    bench.0.change(|it| it.start_list(""));
    let mut after = bench.number("60");
    bench.finish_list(ListVersion::Known(20));
    assert!(is_over(&mut lost));
    assert!(!is_over(&mut after), "it may have been written to the restored storage");
    assert!(
        bench.wait(key("x", "a"), state("1", "30")).is_ok(),
        "what the list does not reach has to come again"
    );
}

#[test]
fn a_list_of_unknown_version_counts_by_its_objects_and_for_what_was_written_before_its_request() {
    let mut bench = bench();
    let (mut five, mut nine) = (bench.number("5"), bench.number("9"));
    bench.list(ListVersion::Unknown { highest: Some(7) });
    assert!(is_over(&mut five) && !is_over(&mut nine), "it may have been requested before");
    bench.list(ListVersion::Unknown { highest: Some(7) });
    assert!(is_over(&mut nine));
    bench.0.change(|it| it.start_list(""));
    let mut later = bench.number("19");
    bench.finish_list(ListVersion::Unknown { highest: None });
    assert!(!is_over(&mut later));
    bench.list(ListVersion::Unknown { highest: None });
    assert!(is_over(&mut later), "after one under way, the next was requested later");
}

#[test]
fn versions_that_cannot_be_compared_are_looked_for_in_the_object() {
    let mut bench = bench();
    let mut numbered = bench.number("5");
    bench.list(ListVersion::Opaque);
    let mut other = bench.wait(key("x", "a"), state("1", "6")).unwrap();
    bench.apply("100");
    assert!(!is_over(&mut numbered), "of another object");
    let a = |uid, version| Visible { uid: Some(uid), version: Some(version) };
    bench.0.change(|it| it.changed(|| key("x", "a"), "x", a("1", "5"), false));
    assert!(is_over(&mut numbered) && !is_over(&mut other));
    bench.0.change(|it| it.changed(|| key("x", "a"), "x", a("2", "6"), false));
    assert!(!is_over(&mut other), "of another object of that name");
    bench.0.change(|it| it.changed(|| key("x", "a"), "x", a("1", "9"), true));
    assert!(is_over(&mut other), "it is gone");
    let mut back = bench.number("7");
    bench.list(ListVersion::Known(8));
    assert!(is_over(&mut back) && bench.0.change(|it| it.is_idle()));
    let mut again = bench.number("9");
    bench.0.change(|it| it.progress("x", ""));
    bench.apply("100");
    assert!(!is_over(&mut again), "a bookmark may say so, too");
}

#[test]
fn versions_of_one_object_can_be_compared() {
    let mut bench = bench();
    bench.list(ListVersion::Opaque);
    let a = |uid, version| Visible { uid: Some(uid), version: Some(version) };
    let mut five = bench.number("5");
    let mut hash = bench.wait(key("x", "a"), state("1", "5f")).unwrap();
    for passed in [a("2", "6"), a("1", "4"), a("1", "6f")] {
        bench.0.change(|it| it.changed(|| key("x", "a"), "x", passed, false));
        assert!(!is_over(&mut five), "{passed:?}");
    }
    bench.0.change(|it| it.changed(|| key("x", "a"), "x", a("1", "6"), false));
    assert!(is_over(&mut five) && !is_over(&mut hash), "the store is past it");
    assert!(state("1", "5").is_met(Some(a("1", "10"))) && !state("1", "5").is_met(Some(a("2", "10"))));
}

#[test]
fn the_end_of_an_object_is_waited_for_by_its_uid() {
    let mut bench = bench();
    let end = Awaited::End { uids: vec!["1".into(), "2".into()] };
    let a = |uid| Visible { uid: Some(uid), version: Some("5") };
    let (_, mut done) =
        bench.0.change(|it| it.wait(key("x", "a"), end.clone(), |_, it| it.is_met(Some(a("1"))))).unwrap();
    bench.0.change(|it| it.changed(|| key("x", "a"), "x", a("2"), false));
    assert!(!is_over(&mut done));
    bench.0.change(|it| it.changed(|| key("x", "a"), "x", a("3"), false));
    assert!(is_over(&mut done));
    assert_eq!(bench.wait(key("x", "a"), end.clone()).err(), Some(NoWait::Visible), "it is not there");
    let (_, mut done) =
        bench.0.change(|it| it.wait(key("x", "a"), end, |_, it| it.is_met(Some(a("1"))))).unwrap();
    bench.list(ListVersion::Known(9));
    assert!(is_over(&mut done), "the list lacks it");
}

#[test]
fn each_namespace_counts_alone() {
    let mut bench = bench();
    assert!(!is_over(&mut bench.number("1")));
    bench.0.change(|it| it.split_by_namespace());
    let mut early = bench.wait(key("z", "a"), state("1", "5")).unwrap();
    let mut x = bench.number("5");
    bench.0.change(|it| it.join("x"));
    bench.0.change(|it| it.join("y"));
    bench.0.change(|it| it.settle());
    assert_eq!(early.try_recv(), Err(oneshot::error::TryRecvError::Closed), "now it is known not to come");
    assert_eq!(bench.wait(key("z", "a"), state("1", "5")).err(), Some(NoWait::NotWatched));
    let mut y = bench.wait(key("y", "a"), state("1", "5")).unwrap();
    bench.0.change(|it| it.changed(|| key("x", "b"), "x", version_only("7"), false));
    assert!(is_over(&mut x) && !is_over(&mut y));
    bench.0.change(|it| it.leave("y"));
    assert_eq!(y.try_recv(), Err(oneshot::error::TryRecvError::Closed));
}

#[test]
fn waits_end_with_an_error_when_nothing_comes_any_more() {
    let mut bench = bench();
    let mut done = bench.number("5");
    bench.apply("3");
    bench.0.change(|it| it.close());
    assert_eq!(done.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    assert_eq!(bench.wait(key("x", "a"), state("1", "5")).err(), Some(NoWait::Closed));
    assert_eq!(bench.wait(key("x", "a"), state("1", "3")).err(), Some(NoWait::Visible), "it had come");
}

#[test]
fn a_wait_given_up_leaves_nothing() {
    let bench = bench();
    for awaited in [state("1", "5"), state("1", "x")] {
        let (id, done) = bench.0.change(|it| it.wait(key("x", "a"), awaited, |_, _| false)).unwrap();
        drop(done);
        bench.0.change(|it| it.forget(&id));
        bench.0.change(|it| it.forget(&id));
        assert!(bench.0.change(|it| it.is_idle()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes in whatever order: a wait is over exactly when the naive rule says so.
    #[test]
    fn numbers_agree_with_a_naive_model(deeds in prop::collection::vec((0..5u8, 1..30u128), 0..60)) {
        let mut bench = bench();
        let (mut mark, mut began) = (None, 0);
        let mut waits: Vec<(u128, bool, oneshot::Receiver<()>)> = Vec::new();
        for (what, version) in deeds {
            match what {
                0 => match bench.wait(key("x", "a"), state("1", &version.to_string())) {
                    Ok(done) => waits.push((version, false, done)),
                    Err(_) => prop_assert!(mark.is_some_and(|mark| mark >= version)),
                },
                1 => {
                    let back = mark.is_some_and(|mark| version < mark);
                    bench.list(ListVersion::Known(version));
                    (mark, began) = (Some(version), began + 1);
                    waits.iter_mut().for_each(|wait| wait.1 |= back || wait.0 <= version);
                }
                2 => bench.0.change(|it| it.progress("x", &version.to_string())),
                _ => bench.apply(&version.to_string()),
            }
            if what > 1 {
                mark = mark.max(Some(version));
                waits.iter_mut().for_each(|wait| wait.1 |= wait.0 <= version);
            }
            for (version, over, done) in &mut waits {
                prop_assert_eq!(*over, done.try_recv() != Err(oneshot::error::TryRecvError::Empty), "{} {:?}", version, mark);
            }
        }
        prop_assert!(began < 61);
    }
}
