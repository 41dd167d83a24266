//! The queue against a naive model that scans everything.

use super::Queue;
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug, Clone)]
enum Step {
    Push { key: u8, delay: u64 },
    Start,
    Finish { key: u8 },
    Advance { millis: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6u8, prop_oneof![Just(0), 1..40u64]).prop_map(|(key, delay)| Step::Push { key, delay }),
        4 => Just(Step::Start),
        3 => (0..6u8).prop_map(|key| Step::Finish { key }),
        2 => (1..30u64).prop_map(|millis| Step::Advance { millis }),
    ]
}

/// One wish per line, looked through from top to bottom.
#[derive(Default)]
struct Model {
    /// (due, order of becoming due is decided by due and then by arrival, key, payload)
    waiting: Vec<(Instant, usize, u8, usize)>,
    running: Vec<u8>,
    arrivals: usize,
}

impl Model {
    fn push(&mut self, key: u8, payload: usize, due: Instant, now: Instant) {
        let due = due.max(now); // being overdue gives no advantage
        match self.waiting.iter().position(|wish| wish.2 == key) {
            Some(present) if self.waiting[present].0 <= due || self.waiting[present].0 <= now => return,
            Some(present) => drop(self.waiting.remove(present)),
            None => {}
        }
        self.arrivals += 1;
        self.waiting.push((due, self.arrivals, key, payload));
    }

    fn start(&mut self, now: Instant, limit: usize) -> Option<(u8, usize)> {
        if self.running.len() >= limit {
            return None;
        }
        let free = self.waiting.iter().filter(|wish| wish.0 <= now && !self.running.contains(&wish.2));
        let first = *free.min_by_key(|wish| (wish.0, wish.1))?;
        self.waiting.retain(|wish| wish.2 != first.2);
        self.running.push(first.2);
        Some((first.2, first.3))
    }

    /// A key that was pushed while it ran gets in line when it finishes.
    fn finish(&mut self, key: u8, now: Instant) {
        let Some(position) = self.running.iter().position(|running| *running == key) else { return };
        self.running.remove(position);
        if let Some(wish) = self.waiting.iter_mut().find(|wish| wish.2 == key) {
            self.arrivals += 1;
            wish.0 = wish.0.max(now);
            wish.1 = self.arrivals;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_the_model(limit in 0..4u16, steps in prop::collection::vec(step(), 1..120)) {
        let mut now = Instant::now();
        let mut queue = Queue::new(limit);
        let mut model = Model::default();
        let model_limit = if limit == 0 { usize::MAX } else { limit.into() };
        for (payload, step) in steps.into_iter().enumerate() {
            match step {
                Step::Push { key, delay } => {
                    let due = now + Duration::from_millis(delay);
                    queue.push(key, payload, due, now);
                    model.push(key, payload, due, now);
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
