//! The queue against a naive model that scans everything.

use super::{Queue, Urgency};
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, Clone)]
enum Step {
    Push { key: u8, delay: u64, urgency: Urgency },
    Start,
    Finish { key: u8 },
    Advance { millis: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12u8, prop_oneof![Just(0), 1..4u64, 1..40u64], prop_oneof![2 => Just(Urgency::Change), 1 => Just(Urgency::Background)])
            .prop_map(|(key, delay, urgency)| Step::Push { key, delay, urgency }),
        4 => Just(Step::Start),
        3 => (0..12u8).prop_map(|key| Step::Finish { key }),
        2 => (1..30u64).prop_map(|millis| Step::Advance { millis }),
    ]
}

/// One wish per line, looked through from top to bottom.
#[derive(Default)]
struct Model {
    waiting: Vec<Wish>,
    running: Vec<u8>,
    arrivals: usize,
    /// Changes started in a row while something waited in the background.
    row: usize,
}

/// What comes first is decided by `due` and then by `arrival`.
#[derive(Clone, Copy)]
struct Wish {
    due: Instant,
    arrival: usize,
    key: u8,
    payload: usize,
    urgency: Urgency,
}

impl Model {
    fn push(&mut self, key: u8, payload: usize, due: Instant, urgency: Urgency, now: Instant) {
        let due = due.max(now); // being overdue gives no advantage
        let running = self.running.contains(&key);
        self.arrivals += 1;
        let arrival = self.arrivals;
        let Some(present) = self.waiting.iter_mut().find(|wish| wish.key == key) else {
            self.waiting.push(Wish { due, arrival, key, payload, urgency });
            return;
        };
        let more_urgent = urgency > present.urgency;
        if present.due <= now && !running {
            if more_urgent {
                *present = Wish { due: now, arrival, urgency, ..*present };
            }
            return;
        }
        present.urgency = present.urgency.max(urgency);
        if due < present.due {
            *present = Wish { due, arrival, payload, ..*present };
        }
    }

    fn start(&mut self, now: Instant, limit: usize) -> Option<(u8, usize)> {
        if self.running.len() >= limit {
            return None;
        }
        let first = |urgency| {
            let free = self.waiting.iter().filter(|wish| {
                wish.due <= now && wish.urgency == urgency && !self.running.contains(&wish.key)
            });
            free.min_by_key(|wish| (wish.due, wish.arrival)).copied()
        };
        let chosen = match (first(Urgency::Change), first(Urgency::Background)) {
            (Some(change), Some(_)) if self.row < 7 => {
                self.row += 1;
                change
            }
            (change, background) => {
                self.row = 0;
                background.or(change)?
            }
        };
        self.waiting.retain(|wish| wish.key != chosen.key);
        self.running.push(chosen.key);
        Some((chosen.key, chosen.payload))
    }

    /// A key that was pushed while it ran gets in line when it finishes.
    fn finish(&mut self, key: u8, now: Instant) {
        let Some(position) = self.running.iter().position(|running| *running == key) else { return };
        self.running.remove(position);
        if let Some(wish) = self.waiting.iter_mut().find(|wish| wish.key == key) {
            self.arrivals += 1;
            wish.due = wish.due.max(now);
            wish.arrival = self.arrivals;
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
                Step::Push { key, delay, urgency } => {
                    let due = now + Duration::from_millis(delay);
                    queue.push(key, payload, due, urgency, now);
                    model.push(key, payload, due, urgency, now);
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
