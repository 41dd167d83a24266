//! The queue against a naive model that scans a list of all entries.

use super::{Priority, Queue};
use proptest::prelude::*;
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// See `fair`.
const QUANTUM: Duration = Duration::from_millis(10);
const MOST_OWED: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
enum Step {
    Push { key: u8, lane: u8, delay: u64, priority: Priority },
    Start,
    Finish { key: u8 },
    Advance { millis: u64 },
}

/// The lane of a key may be another one with each push.
fn step() -> impl Strategy<Value = Step> {
    let (delay, lane) =
        (prop_oneof![Just(0), 1..4u64, 1..40u64], prop_oneof![4 => Just(None), 1 => (0..4u8).prop_map(Some)]);
    let priority = prop_oneof![2 => Just(Priority::Change), 1 => Just(Priority::Background)];
    prop_oneof![
        4 => (0..12u8, lane, delay, priority).prop_map(|(key, lane, delay, priority)| {
            Step::Push { key, lane: lane.unwrap_or(key % 4), delay, priority }
        }),
        4 => Just(Step::Start),
        3 => (0..12u8).prop_map(|key| Step::Finish { key }),
        2 => prop_oneof![4 => 1..30u64, 1 => 90..3000u64].prop_map(|millis| Step::Advance { millis }),
    ]
}

/// All pending entries, in no order. Without fair lanes, all are in lane 0, whose turn it always is.
struct Model {
    is_fair: bool,
    lane_limit: usize,
    waiting: Vec<Pending>,
    /// Keys, and the lanes in which they run.
    running: Vec<(u8, u8)>,
    arrivals: usize,
    lanes: HashMap<u8, Lane>,
    /// The lanes that can start a key, with their rounds, in the order in which they came.
    turns: Vec<(u64, u8)>,
    round: u64,
}

#[derive(Default)]
struct Lane {
    /// Changes started since the last background key, while background keys were waiting.
    consecutive_changes: usize,
    used: Duration,
}

/// Ordered by `due`, then by `arrival`.
#[derive(Clone, Copy)]
struct Pending {
    due: Instant,
    arrival: usize,
    key: u8,
    lane: u8,
    payload: usize,
    priority: Priority,
    /// Whether it counts as due for its lane.
    counts: bool,
}

impl Model {
    fn new(lane_limit: Option<usize>) -> Self {
        let (is_fair, lane_limit) = (lane_limit.is_some(), lane_limit.unwrap_or(usize::MAX));
        let (waiting, running) = (Vec::new(), Vec::new());
        let (lanes, turns) = (HashMap::new(), Vec::new());
        Self { is_fair, lane_limit, waiting, running, arrivals: 0, lanes, turns, round: 0 }
    }

    fn is_running(&self, key: u8) -> bool {
        self.running.iter().any(|(running, _)| *running == key)
    }

    fn can_start(&self, lane: u8) -> bool {
        self.running.iter().filter(|(_, of)| *of == lane).count() < self.lane_limit
            && self.waiting.iter().any(|entry| entry.lane == lane && entry.counts)
    }

    /// A lane with a new key, or with one that does not run any more.
    fn arrive(&mut self, lane: u8) {
        let some_owe = self.turns.iter().any(|(round, _)| *round > self.round);
        self.queue_up(lane, self.round + u64::from(some_owe));
    }

    /// Brings the turns up to date after a change of this lane.
    fn queue_up(&mut self, lane: u8, earliest: u64) {
        if self.can_start(lane) && !self.turns.iter().any(|(_, other)| *other == lane) {
            let present = QUANTUM * self.round as u32;
            let used = &mut self.lanes.get_mut(&lane).unwrap().used;
            *used = (*used).clamp(present, present + MOST_OWED);
            let round = (used.as_millis() / QUANTUM.as_millis()) as u64;
            self.turns.push((round.max(earliest), lane));
        }
    }

    fn promote(&mut self, now: Instant) {
        loop {
            let running = &self.running;
            let is_due = |entry: &&mut Pending| {
                !entry.counts && entry.due <= now && !running.iter().any(|(key, _)| *key == entry.key)
            };
            let first = self.waiting.iter_mut().filter(is_due).min_by_key(|entry| (entry.due, entry.arrival));
            let Some(first) = first else { return };
            first.counts = true;
            let lane = first.lane;
            self.arrive(lane);
        }
    }

    fn push(&mut self, key: u8, lane: u8, payload: usize, due: Instant, priority: Priority, now: Instant) {
        self.promote(now);
        let lane = if self.is_fair { lane } else { 0 };
        let due = due.max(now); // an overdue push goes behind keys that are ready
        let running = self.is_running(key);
        self.arrivals += 1;
        let arrival = self.arrivals;
        match self.waiting.iter_mut().find(|entry| entry.key == key) {
            None => {
                self.lanes.entry(lane).or_default();
                self.waiting.push(Pending { due, arrival, key, lane, payload, priority, counts: false });
            }
            Some(present) if present.counts => {
                if priority > present.priority {
                    *present = Pending { due: now, arrival, priority, ..*present };
                }
            }
            Some(present) => {
                present.priority = present.priority.max(priority);
                if due < present.due {
                    *present = Pending { due, arrival, payload, ..*present };
                }
            }
        }
        if !running {
            self.promote(now);
        }
    }

    fn start(&mut self, now: Instant, limit: usize) -> Option<(u8, usize)> {
        self.promote(now);
        if self.running.len() >= limit {
            return None;
        }
        // Of several lanes in one round, the one that came first.
        let (round, lane) = *self.turns.iter().min_by_key(|(round, _)| *round)?;
        self.round = self.round.max(round);
        self.turns.retain(|(_, other)| *other != lane);
        let chosen = self.choose(lane);
        self.waiting.retain(|entry| entry.key != chosen.key);
        self.running.push((chosen.key, lane));
        self.queue_up(lane, self.round);
        Some((chosen.key, chosen.payload))
    }

    /// The first key of a lane that can start one.
    fn choose(&mut self, lane: u8) -> Pending {
        let first = |priority| {
            let due = self.waiting.iter().filter(|entry| entry.counts && entry.lane == lane);
            due.filter(|entry| entry.priority == priority)
                .min_by_key(|entry| (entry.due, entry.arrival))
                .copied()
        };
        let (change, background) = (first(Priority::Change), first(Priority::Background));
        let consecutive_changes = &mut self.lanes.get_mut(&lane).unwrap().consecutive_changes;
        match (change, background) {
            (Some(change), Some(_)) if *consecutive_changes < 7 => {
                *consecutive_changes += 1;
                change
            }
            (change, background) => {
                *consecutive_changes = 0;
                background.or(change).unwrap()
            }
        }
    }

    /// A key that was pushed while it ran becomes ready when it finishes.
    fn finish(&mut self, key: u8, now: Instant) {
        let Some(position) = self.running.iter().position(|(running, _)| *running == key) else { return };
        let (_, lane) = self.running.remove(position);
        self.arrive(lane);
        let dirty = self.waiting.iter().position(|entry| entry.key == key).map(|at| self.waiting.remove(at));
        // The lane of a dirty key exists from the push on.
        let referred = |lane: u8, model: &Self| {
            dirty.is_some_and(|dirty| dirty.lane == lane)
                || model.waiting.iter().any(|entry| entry.lane == lane)
                || model.running.iter().any(|(_, of)| *of == lane)
        };
        if self.is_fair && !referred(lane, self) {
            self.lanes.remove(&lane);
        }
        if let Some(mut entry) = dirty {
            self.promote(now);
            self.arrivals += 1;
            entry.due = entry.due.max(now);
            entry.arrival = self.arrivals;
            self.waiting.push(entry);
            if entry.due <= now {
                self.promote(now);
            }
        }
    }

    fn advance(&mut self, by: Duration) {
        for (name, lane) in &mut self.lanes {
            let running = self.running.iter().filter(|(_, of)| of == name).count();
            lane.used += by * running as u32;
        }
    }
}

/// Compares `queue` with the model.
fn check(
    mut queue: Queue<u8, usize, u8>,
    limit: u16,
    mut model: Model,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    let mut now = Instant::now();
    let model_limit = if limit == 0 { usize::MAX } else { limit.into() };
    for (payload, step) in steps.into_iter().enumerate() {
        match step {
            Step::Push { key, lane, delay, priority } => {
                let due = now + Duration::from_millis(delay);
                queue.push_in(|_| lane, key, payload, due, priority, now);
                model.push(key, lane, payload, due, priority, now);
            }
            Step::Start => prop_assert_eq!(queue.start(now), model.start(now, model_limit)),
            Step::Finish { key } => {
                queue.finish(&key, now);
                model.finish(key, now);
            }
            Step::Advance { millis } => {
                now += Duration::from_millis(millis);
                model.advance(Duration::from_millis(millis));
            }
        }
        prop_assert_eq!(queue.running(), model.running.len());
        prop_assert_eq!(queue.is_empty(), model.running.is_empty() && model.waiting.is_empty());
        if model.is_fair {
            prop_assert_eq!(queue.numbers().lanes, model.lanes.len());
            for lane in queue.lanes().into_iter().flatten() {
                prop_assert!(lane.running <= model.lane_limit);
                let due =
                    model.waiting.iter().filter(|entry| entry.lane == *lane.name && entry.counts).count();
                prop_assert_eq!(lane.due, due);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_the_model(limit in 0..4u16, steps in prop::collection::vec(step(), 1..200)) {
        check(Queue::new(limit), limit, Model::new(None), steps)?;
    }

    #[test]
    fn the_queue_with_fair_lanes_agrees_with_the_model(
        limit in 1..6u16,
        lane_limit in 0..4u16,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let model_limit = if lane_limit == 0 { usize::MAX } else { lane_limit.into() };
        check(Queue::fair(limit, lane_limit), limit, Model::new(Some(model_limit)), steps)?;
    }
}
