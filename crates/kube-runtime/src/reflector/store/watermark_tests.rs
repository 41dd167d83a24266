//! When a wait for a version ends.

use super::*;
use crate::reflector::store::shared::SharedWatermarks;
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

struct WatermarkHarness(SharedWatermarks);

impl WatermarkHarness {
    fn wait(&mut self, key: ObjectKey, awaited: Awaited) -> Result<oneshot::Receiver<()>, NoWait> {
        self.0.change(|it| it.wait(key, awaited, |_, awaited| awaited.is_met(None))).map(|(_, done)| done)
    }

    fn number(&mut self, version: &str) -> oneshot::Receiver<()> {
        self.wait(key("x", "a"), state("1", version)).unwrap()
    }

    fn apply(&mut self, version: &str) {
        self.0.change(|it| it.object_changed(|| key("x", "b"), "x", version_only(version), false));
    }

    fn list(&mut self, version: ListVersion) {
        self.0.change(|it| it.start_list(""));
        self.finish_list(version);
    }

    fn finish_list(&mut self, version: ListVersion) {
        self.0.change(|it| it.complete_list(""));
        self.0.change(|it| it.show_list("", version, |_, awaited| awaited.is_met(None)));
    }
}

fn harness() -> WatermarkHarness {
    WatermarkHarness(SharedWatermarks::default())
}

fn is_over(done: &mut oneshot::Receiver<()>) -> bool {
    done.try_recv().is_ok()
}

#[test]
fn a_wait_ends_with_its_version_or_a_later_one() {
    let mut harness = harness();
    let (mut five, mut nine) = (harness.number("5"), harness.number("9"));
    harness.apply("4");
    assert!(!is_over(&mut five));
    harness.apply("7");
    assert!(is_over(&mut five) && !is_over(&mut nine));
    harness.0.change(|it| it.progress("x", "9"));
    assert!(
        is_over(&mut nine) && harness.0.change(|it| it.has_no_waiters()),
        "a bookmark ends waits as well"
    );
    assert_eq!(harness.wait(key("x", "a"), state("1", "8")).err(), Some(NoWait::AlreadyMet));
}

#[test]
fn a_list_of_known_version_ends_waits_up_to_that_version_only() {
    let mut harness = harness();
    let (mut five, mut nine) = (harness.number("5"), harness.number("9"));
    harness.list(ListVersion::Known(7));
    harness.list(ListVersion::Known(8));
    assert!(
        is_over(&mut five) && !is_over(&mut nine),
        "a lagging server may return the same old list many times"
    );
    harness.list(ListVersion::Known(9));
    assert!(is_over(&mut nine));
}

#[test]
fn a_list_of_a_restored_storage_ends_earlier_waits() {
    let mut harness = harness();
    harness.list(ListVersion::Known(50));
    let mut lost = harness.number("60");
    harness.0.change(|it| it.start_list(""));
    let mut after = harness.number("60");
    harness.finish_list(ListVersion::Known(20));
    assert!(is_over(&mut lost));
    assert!(!is_over(&mut after), "it may have been written to the restored storage");
    assert!(
        harness.wait(key("x", "a"), state("1", "30")).is_ok(),
        "versions above the list's are awaited again"
    );
}

#[test]
fn a_list_of_unknown_version_ends_waits_by_its_objects_and_waits_that_began_before_its_request() {
    let mut harness = harness();
    let (mut five, mut nine) = (harness.number("5"), harness.number("9"));
    harness.list(ListVersion::Unknown { highest: Some(7) });
    assert!(is_over(&mut five) && !is_over(&mut nine), "the list may have been requested before");
    harness.list(ListVersion::Unknown { highest: Some(7) });
    assert!(is_over(&mut nine));
    harness.0.change(|it| it.start_list(""));
    let mut later = harness.number("19");
    harness.finish_list(ListVersion::Unknown { highest: None });
    assert!(!is_over(&mut later));
    harness.list(ListVersion::Unknown { highest: None });
    assert!(is_over(&mut later), "the list after a running one was requested later");
}

#[test]
fn opaque_versions_are_awaited_in_the_object() {
    let mut harness = harness();
    let mut numbered = harness.number("5");
    harness.list(ListVersion::Opaque);
    let mut other = harness.wait(key("x", "a"), state("1", "6")).unwrap();
    harness.apply("100");
    assert!(!is_over(&mut numbered), "the change is of another object");
    let a = |uid, version| Visible { uid: Some(uid), version: Some(version) };
    harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", a("1", "5"), false));
    assert!(is_over(&mut numbered) && !is_over(&mut other));
    harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", a("2", "6"), false));
    assert!(!is_over(&mut other), "the change is of another object with that name");
    harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", a("1", "9"), true));
    assert!(is_over(&mut other), "the object was deleted");
    let mut back = harness.number("7");
    harness.list(ListVersion::Known(8));
    assert!(is_over(&mut back) && harness.0.change(|it| it.has_no_waiters()));
    let mut again = harness.number("9");
    harness.0.change(|it| it.progress("x", ""));
    harness.apply("100");
    assert!(!is_over(&mut again), "an empty version in a bookmark makes versions opaque");
}

#[test]
fn a_watermark_is_forgotten_when_versions_become_opaque() {
    let mut harness = harness();
    harness.list(ListVersion::Known(8));
    harness.0.change(|it| it.progress("x", ""));
    let mut waiting = harness.number("7");
    harness.list(ListVersion::Known(5));
    assert!(!is_over(&mut waiting), "this list is not older than one whose version counts");
    harness.apply("7");
    assert!(is_over(&mut waiting));
}

#[test]
fn numeric_versions_of_one_object_are_compared() {
    let mut harness = harness();
    harness.list(ListVersion::Opaque);
    let a = |uid, version| Visible { uid: Some(uid), version: Some(version) };
    let mut five = harness.number("5");
    let mut hash = harness.wait(key("x", "a"), state("1", "5f")).unwrap();
    for passed in [a("2", "6"), a("1", "4"), a("1", "6f")] {
        harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", passed, false));
        assert!(!is_over(&mut five), "{passed:?}");
    }
    harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", a("1", "6"), false));
    assert!(is_over(&mut five) && !is_over(&mut hash), "the store has a later state");
    assert!(state("1", "5").is_met(Some(a("1", "10"))) && !state("1", "5").is_met(Some(a("2", "10"))));
}

#[test]
fn a_deletion_is_awaited_by_uid() {
    let mut harness = harness();
    let end = Awaited::End { uids: vec!["1".into(), "2".into()] };
    let a = |uid| Visible { uid: Some(uid), version: Some("5") };
    let (_, mut done) =
        harness.0.change(|it| it.wait(key("x", "a"), end.clone(), |_, it| it.is_met(Some(a("1"))))).unwrap();
    harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", a("2"), false));
    assert!(!is_over(&mut done));
    harness.0.change(|it| it.object_changed(|| key("x", "a"), "x", a("3"), false));
    assert!(is_over(&mut done));
    assert_eq!(harness.wait(key("x", "a"), end.clone()).err(), Some(NoWait::AlreadyMet), "it does not exist");
    let (_, mut done) =
        harness.0.change(|it| it.wait(key("x", "a"), end, |_, it| it.is_met(Some(a("1"))))).unwrap();
    harness.list(ListVersion::Known(9));
    assert!(is_over(&mut done), "the list does not contain it");
}

#[test]
fn each_namespace_has_its_own_watermark() {
    let mut harness = harness();
    assert!(!is_over(&mut harness.number("1")));
    harness.0.change(|it| it.split_by_namespace());
    let mut early = harness.wait(key("z", "a"), state("1", "5")).unwrap();
    let mut x = harness.number("5");
    harness.0.change(|it| it.add_namespace("x"));
    harness.0.change(|it| it.add_namespace("y"));
    harness.0.change(|it| it.set_namespaces_known());
    assert_eq!(early.try_recv(), Err(oneshot::error::TryRecvError::Closed), "its namespace is not watched");
    assert_eq!(harness.wait(key("z", "a"), state("1", "5")).err(), Some(NoWait::NotWatched));
    let mut y = harness.wait(key("y", "a"), state("1", "5")).unwrap();
    harness.0.change(|it| it.object_changed(|| key("x", "b"), "x", version_only("7"), false));
    assert!(is_over(&mut x) && !is_over(&mut y));
    harness.0.change(|it| it.remove_namespace("y"));
    assert_eq!(y.try_recv(), Err(oneshot::error::TryRecvError::Closed));
}

#[test]
fn waits_fail_when_the_writer_is_dropped() {
    let mut harness = harness();
    let mut done = harness.number("5");
    harness.apply("3");
    harness.0.change(|it| it.close());
    assert_eq!(done.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    assert_eq!(harness.wait(key("x", "a"), state("1", "5")).err(), Some(NoWait::Closed));
    assert_eq!(
        harness.wait(key("x", "a"), state("1", "3")).err(),
        Some(NoWait::AlreadyMet),
        "that version was reached before"
    );
}

#[test]
fn a_removed_wait_leaves_nothing() {
    let harness = harness();
    for awaited in [state("1", "5"), state("1", "x")] {
        let (id, done) = harness.0.change(|it| it.wait(key("x", "a"), awaited, |_, _| false)).unwrap();
        drop(done);
        harness.0.change(|it| it.remove_waiter(&id));
        harness.0.change(|it| it.remove_waiter(&id));
        assert!(harness.0.change(|it| it.has_no_waiters()));
    }
}

#[test]
fn waits_that_are_given_up_do_not_accumulate() {
    let mut watermarks = HighWatermarks::default();
    let wait = |it: &mut HighWatermarks, version: u128| {
        it.wait(key("x", "a"), state("1", &version.to_string()), |_, _| false).unwrap().0
    };
    let kept: Vec<_> = (0..10).map(|version| wait(&mut watermarks, 1000 + version)).collect();
    for version in 0..100_000 {
        let given_up = wait(&mut watermarks, 2000 + version);
        watermarks.remove_waiter(&given_up);
        drop(watermarks.take_ended());
    }
    assert!(watermarks.collections[""].by_version.len() <= 22);
    watermarks.progress("x", "1004");
    assert_eq!(watermarks.take_ended().completed.len(), 5);
    kept.iter().for_each(|id| watermarks.remove_waiter(id));
    assert!(watermarks.has_no_waiters());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// After any sequence of events, a wait has ended exactly if the reference model says so.
    #[test]
    fn numeric_versions_agree_with_a_reference_model(actions in prop::collection::vec((0..5u8, 1..30u128), 0..60)) {
        let mut harness = harness();
        let (mut mark, mut began) = (None, 0);
        let mut waits: Vec<(u128, bool, oneshot::Receiver<()>)> = Vec::new();
        for (what, version) in actions {
            match what {
                0 => match harness.wait(key("x", "a"), state("1", &version.to_string())) {
                    Ok(done) => waits.push((version, false, done)),
                    Err(_) => prop_assert!(mark.is_some_and(|mark| mark >= version)),
                },
                1 => {
                    let back = mark.is_some_and(|mark| version < mark);
                    harness.list(ListVersion::Known(version));
                    (mark, began) = (Some(version), began + 1);
                    waits.iter_mut().for_each(|wait| wait.1 |= back || wait.0 <= version);
                }
                2 => harness.0.change(|it| it.progress("x", &version.to_string())),
                _ => harness.apply(&version.to_string()),
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
