//! Examples of what the queue does.

use super::{Priority::*, Queue, QueueNumbers};
use std::time::Duration;
use tokio::time::Instant;

fn at(base: Instant, millis: u64) -> Instant {
    base + Duration::from_millis(millis)
}

#[test]
fn several_pushes_of_a_waiting_key_are_one_run() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("a", 1, t, Change, t);
    queue.push("a", 2, t, Change, t);
    assert_eq!(queue.start(t), Some(("a", 1)));
    assert_eq!(queue.start(t), None);
    queue.finish(&"a", t);
    assert!(queue.is_empty());
}

#[test]
fn the_earliest_due_time_applies_in_either_push_order() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("a", "late", at(t, 50), Change, t);
    queue.push("a", "early", at(t, 20), Change, t);
    queue.push("b", "early", at(t, 30), Change, t);
    queue.push("b", "late", at(t, 60), Change, t);
    assert_eq!(queue.next_due(), Some(at(t, 20)));
    assert_eq!(queue.start(at(t, 19)), None);
    assert_eq!(queue.start(at(t, 30)), Some(("a", "early")));
    assert_eq!(queue.start(at(t, 30)), Some(("b", "early")));
    assert_eq!(queue.next_due(), None);
}

#[test]
fn a_push_for_the_same_due_time_keeps_position_and_payload() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("a", 1, at(t, 10), Change, t);
    queue.push("b", 2, at(t, 10), Change, t);
    queue.push("a", 3, at(t, 10), Change, t);
    assert_eq!(queue.start(at(t, 10)), Some(("a", 1)));
    assert_eq!(queue.start(at(t, 10)), Some(("b", 2)));
    assert_eq!(queue.start(at(t, 10)), None);
}

#[test]
fn keys_start_in_the_order_in_which_they_became_due() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("third", (), at(t, 30), Change, t);
    queue.push("first", (), at(t, 10), Change, t);
    queue.push("second", (), at(t, 20), Change, t);
    queue.push("last", (), at(t, 40), Change, at(t, 40));
    let order: Vec<_> = std::iter::from_fn(|| queue.start(at(t, 40))).map(|(key, ())| key).collect();
    assert_eq!(order, ["first", "second", "third", "last"]);
}

#[test]
fn a_push_during_a_run_makes_the_key_run_again() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("a", 1, t, Change, t);
    queue.start(t);
    queue.push("a", 2, t, Change, t);
    assert_eq!(queue.start(t), None, "never two runs of one key at once");
    queue.finish(&"a", t);
    assert_eq!(queue.start(t), Some(("a", 2)));
    queue.finish(&"a", t);
    assert_eq!(queue.start(t), None);
    assert!(queue.is_empty(), "a finished key uses no memory");
}

#[test]
fn a_push_during_a_run_keeps_its_due_time() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("a", 1, t, Change, t);
    queue.start(t);
    queue.push("a", 2, at(t, 50), Change, t);
    queue.finish(&"a", at(t, 10));
    assert_eq!(queue.start(at(t, 10)), None);
    assert_eq!(queue.next_due(), Some(at(t, 50)));
    assert_eq!(queue.start(at(t, 50)), Some(("a", 2)));
}

#[test]
fn the_limit_bounds_running_keys() {
    let t = Instant::now();
    let mut queue = Queue::new(2);
    for key in ["a", "b", "c"] {
        queue.push(key, (), t, Change, t);
    }
    assert!(queue.start(t).is_some());
    assert!(queue.start(t).is_some());
    assert_eq!(queue.running(), 2);
    assert_eq!(queue.start(t), None);
    queue.finish(&"b", t);
    assert_eq!(queue.start(t), Some(("c", ())));
}

#[test]
fn a_skipped_key_keeps_its_position() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    for key in ["a", "b"] {
        queue.push(key, key, t, Change, t);
    }
    assert_eq!(queue.start_where(t, |key| *key != "a"), Some(("b", "b")));
    assert_eq!(queue.start_where(t, |key| *key != "a"), None);
    assert_eq!(queue.start_where(t, |_| true), Some(("a", "a")));
}

#[test]
fn a_queue_at_its_limit_needs_no_timer() {
    let t = Instant::now();
    let mut queue = Queue::new(1);
    queue.push("a", (), t, Change, t);
    queue.push("b", (), at(t, 10), Change, t);
    queue.start(t);
    assert_eq!(queue.start(at(t, 20)), None);
    assert_eq!(queue.next_due(), None, "b is due and waits for a to finish");
    queue.finish(&"a", at(t, 20));
    assert_eq!(queue.start(at(t, 20)), Some(("b", ())));
}

#[test]
fn retain_waiting_removes_delayed_keys() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("now", "keep", t, Change, t);
    queue.push("later", "keep", at(t, 10), Change, t);
    queue.push("never", "drop", at(t, 10), Change, t);
    queue.retain_waiting(|payload, _| *payload == "keep");
    assert_eq!(queue.start(at(t, 10)), Some(("now", "keep")));
    assert_eq!(queue.start(at(t, 10)), Some(("later", "keep")));
    queue.finish(&"now", at(t, 10));
    queue.finish(&"later", at(t, 10));
    assert!(queue.is_empty());
}

#[test]
fn finishing_a_key_that_does_not_run_changes_nothing() {
    let t = Instant::now();
    let mut queue = Queue::new(1);
    queue.push("a", (), t, Change, t);
    queue.finish(&"a", t);
    queue.finish(&"unknown", t);
    assert_eq!(queue.start(t), Some(("a", ())));
}

fn start_all(queue: &mut Queue<&'static str, ()>, now: Instant) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.start(now)).map(|(key, ())| key).collect()
}

#[test]
fn changes_start_before_background_keys() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    queue.push("old-1", (), t, Background, t);
    queue.push("old-2", (), t, Background, t);
    queue.push("new-1", (), t, Change, t);
    queue.push("new-2", (), t, Change, t);
    assert_eq!(start_all(&mut queue, t), ["new-1", "new-2", "old-1", "old-2"]);
}

#[test]
fn a_change_raises_the_priority_of_a_background_key() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    for key in ["old", "ready", "timed"] {
        queue.push(key, (), if key == "timed" { at(t, 5) } else { t }, Background, t);
    }
    queue.push("new", (), t, Change, t);
    queue.push("ready", (), at(t, 50), Change, t);
    queue.push("timed", (), at(t, 50), Change, t);
    assert_eq!(start_all(&mut queue, at(t, 5)), ["new", "ready", "timed", "old"]);
}

#[test]
fn a_change_during_a_run_keeps_its_priority() {
    let t = Instant::now();
    let mut queue = Queue::new(1);
    queue.push("a", (), t, Background, t);
    queue.start(t);
    queue.push("b", (), t, Background, t);
    queue.push("a", (), t, Change, t);
    queue.push("a", (), t, Background, t);
    queue.finish(&"a", t);
    assert_eq!(queue.start(t), Some(("a", ())));
}

#[test]
fn every_eighth_start_is_a_background_key_under_constant_changes() {
    let t = Instant::now();
    let mut queue = Queue::new(1);
    queue.push(1000, (), t, Background, t);
    let starts = (0..20).map(|change| {
        queue.push(change, (), t, Change, t);
        let (started, ()) = queue.start(t).unwrap();
        queue.finish(&started, t);
        started
    });
    let expected = (0..7).chain([1000]).chain(7..19);
    assert!(starts.eq(expected));
}

#[test]
fn the_numbers_of_a_queue_are_those_of_its_pending_keys() {
    let (mut queue, t) = (Queue::new(1), Instant::now());
    assert_eq!(queue.numbers(), QueueNumbers::default());
    queue.push("late", 0, at(t, 50), Background, t);
    assert_eq!(queue.numbers().oldest_due, Some(at(t, 50)), "the time at which the first one becomes due");
    queue.push("a", 1, at(t, 10), Change, t);
    queue.push("b", 2, t, Background, t);
    queue.push("b", 3, at(t, 5), Background, t);
    let numbers =
        QueueNumbers { changes: 0, background: 1, delayed: 2, oldest_due: Some(t), adds: 3, lanes: 0 };
    assert_eq!(queue.numbers(), numbers, "a push of a pending key adds none");
    assert_eq!(queue.start(at(t, 7)), Some(("b", 2)));
    assert_eq!(queue.last_wait(), Duration::from_millis(7));
    queue.push("b", 4, at(t, 8), Change, at(t, 8));
    assert_eq!(queue.numbers().adds, 4, "it is to run again");
    assert_eq!(queue.start(at(t, 20)), None, "at the limit");
    let numbers = QueueNumbers {
        changes: 1,
        background: 0,
        delayed: 1,
        oldest_due: Some(at(t, 10)),
        adds: 4,
        lanes: 0,
    };
    assert_eq!(queue.numbers(), numbers);
}

#[test]
fn a_raised_key_has_been_due_since_it_became_due() {
    let (mut queue, t) = (Queue::new(0), Instant::now());
    queue.push("a", 1, t, Background, t);
    queue.push("a", 1, at(t, 30), Change, at(t, 30));
    assert_eq!(queue.numbers().oldest_due, Some(t));
    assert_eq!(queue.start(at(t, 40)), Some(("a", 1)));
    assert_eq!(queue.last_wait(), Duration::from_millis(40));
}

#[test]
fn an_emptied_queue_takes_little_memory() {
    let t = Instant::now();
    let mut queue = Queue::new(0);
    let push_all = |queue: &mut Queue<u32, ()>| {
        for key in 0..30_000 {
            let (due, priority) = [(t, Change), (t, Background), (at(t, 10), Change)][key as usize % 3];
            queue.push(key, (), due, priority, t);
        }
    };
    let memory = allocation_counter::measure(|| {
        push_all(&mut queue);
        let started: Vec<u32> = std::iter::from_fn(|| Some(queue.start(at(t, 20))?.0)).collect();
        assert_eq!(started.len(), 30_000);
        push_all(&mut queue); // each is dirty
        started.iter().for_each(|key| queue.finish(key, at(t, 20)));
        while let Some((key, ())) = queue.start(at(t, 20)) {
            queue.finish(&key, at(t, 20));
        }
        assert!(queue.is_empty());
    });
    assert!(memory.bytes_current < 20_000, "{memory:?}");
    let memory = allocation_counter::measure(|| {
        (0..30_000).for_each(|key| queue.push(key, (), at(t, 100), Change, t));
        queue.retain_waiting(|(), _| false);
    });
    assert!(queue.is_empty() && memory.bytes_current < 20_000, "{memory:?}");
}
