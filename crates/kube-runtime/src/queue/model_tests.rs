//! The queue against a naive model that scans a list of all entries.

use super::{Priority, Queue};
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, Clone)]
enum Step {
    Push { key: u8, delay: u64, priority: Priority },
    Start,
    Finish { key: u8 },
    Advance { millis: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12u8, prop_oneof![Just(0), 1..4u64, 1..40u64], prop_oneof![2 => Just(Priority::Change), 1 => Just(Priority::Background)])
            .prop_map(|(key, delay, priority)| Step::Push { key, delay, priority }),
        4 => Just(Step::Start),
        3 => (0..12u8).prop_map(|key| Step::Finish { key }),
        2 => (1..30u64).prop_map(|millis| Step::Advance { millis }),
    ]
}

/// All pending entries, in no order.
#[derive(Default)]
struct Model {
    waiting: Vec<Pending>,
    running: Vec<u8>,
    arrivals: usize,
    /// Changes started since the last background key, while background keys were waiting.
    consecutive_changes: usize,
}

/// Ordered by `due`, then by `arrival`.
#[derive(Clone, Copy)]
struct Pending {
    due: Instant,
    arrival: usize,
    key: u8,
    payload: usize,
    priority: Priority,
}

impl Model {
    fn push(&mut self, key: u8, payload: usize, due: Instant, priority: Priority, now: Instant) {
        let due = due.max(now); // an overdue push goes behind keys that are ready
        let running = self.running.contains(&key);
        self.arrivals += 1;
        let arrival = self.arrivals;
        let Some(present) = self.waiting.iter_mut().find(|entry| entry.key == key) else {
            self.waiting.push(Pending { due, arrival, key, payload, priority });
            return;
        };
        let raised = priority > present.priority;
        if present.due <= now && !running {
            if raised {
                *present = Pending { due: now, arrival, priority, ..*present };
            }
            return;
        }
        present.priority = present.priority.max(priority);
        if due < present.due {
            *present = Pending { due, arrival, payload, ..*present };
        }
    }

    fn start(&mut self, now: Instant, limit: usize) -> Option<(u8, usize)> {
        if self.running.len() >= limit {
            return None;
        }
        let first = |priority| {
            let free = self.waiting.iter().filter(|entry| {
                entry.due <= now && entry.priority == priority && !self.running.contains(&entry.key)
            });
            free.min_by_key(|entry| (entry.due, entry.arrival)).copied()
        };
        let chosen = match (first(Priority::Change), first(Priority::Background)) {
            (Some(change), Some(_)) if self.consecutive_changes < 7 => {
                self.consecutive_changes += 1;
                change
            }
            (change, background) => {
                self.consecutive_changes = 0;
                background.or(change)?
            }
        };
        self.waiting.retain(|entry| entry.key != chosen.key);
        self.running.push(chosen.key);
        Some((chosen.key, chosen.payload))
    }

    /// A key that was pushed while it ran becomes ready when it finishes.
    fn finish(&mut self, key: u8, now: Instant) {
        let Some(position) = self.running.iter().position(|running| *running == key) else { return };
        self.running.remove(position);
        if let Some(entry) = self.waiting.iter_mut().find(|entry| entry.key == key) {
            self.arrivals += 1;
            entry.due = entry.due.max(now);
            entry.arrival = self.arrivals;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_the_model(limit in 0..4u16, steps in prop::collection::vec(step(), 1..200)) {
        let mut now = Instant::now();
        let mut queue = Queue::new(limit);
        let mut model = Model::default();
        let model_limit = if limit == 0 { usize::MAX } else { limit.into() };
        for (payload, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push { key, delay, priority } => {
                    let due = now + Duration::from_millis(delay);
                    queue.push(key, payload, due, priority, now);
                    model.push(key, payload, due, priority, now);
                }
                Step::Start => prop_assert_eq!(queue.start(now), model.start(now, model_limit)),
                Step::Finish { key } => {
                    queue.finish(&key, now);
                    model.finish(key, now);
                }
                Step::Advance { millis } => now += Duration::from_millis(millis),
            }
            prop_assert_eq!(queue.running(), model.running.len());
            prop_assert_eq!(queue.is_empty(), model.running.is_empty() && model.waiting.is_empty());
        }
    }
}
