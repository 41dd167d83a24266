//! Examples of what fair lanes do, and a simulation of many tenants of which one is noisy.

use crate::queue::{Priority::*, Queue};
use std::{cmp::Reverse, collections::BinaryHeap, time::Duration};
use tokio::time::Instant;

fn at(base: Instant, millis: u64) -> Instant {
    base + Duration::from_millis(millis)
}

/// Keys such as `a1`: the first letter is the lane.
fn queue(limit: u16, lane_limit: u16, now: Instant, keys: &[&'static str]) -> Queue<&'static str, (), char> {
    let mut queue = Queue::fair(limit, lane_limit);
    for key in keys {
        push(&mut queue, key, now, now);
    }
    queue
}

fn push(queue: &mut Queue<&'static str, (), char>, key: &'static str, due: Instant, now: Instant) {
    queue.push_in(|_| key.chars().next().unwrap(), key, (), due, Change, now);
}

fn start_all(queue: &mut Queue<&'static str, (), char>, now: Instant) -> Vec<&'static str> {
    std::iter::from_fn(|| queue.start(now)).map(|(key, ())| key).collect()
}

#[test]
fn lanes_are_served_in_turn_whatever_their_depth() {
    let t = Instant::now();
    let mut queue = queue(9, 0, t, &["a1", "a2", "a3", "a4", "b1", "c1", "c2"]);
    assert_eq!(start_all(&mut queue, t), ["a1", "b1", "c1", "a2", "c2", "a3", "a4"]);
}

#[test]
fn a_lane_at_its_limit_delays_no_other_and_goes_on_when_a_key_of_it_has_finished() {
    let t = Instant::now();
    let mut queue = queue(9, 2, t, &["a1", "a2", "a3", "b1"]);
    assert_eq!(start_all(&mut queue, t), ["a1", "b1", "a2"]);
    push(&mut queue, "c1", t, t);
    push(&mut queue, "a4", t, t);
    assert_eq!(start_all(&mut queue, t), ["c1"]);
    queue.finish(&"b1", t);
    assert_eq!(start_all(&mut queue, t), [""; 0]);
    assert_eq!(
        queue.numbers().oldest_due,
        None,
        "a3 cannot start, so it does not count as waiting for a worker"
    );
    queue.finish(&"a1", t);
    assert_eq!(start_all(&mut queue, t), ["a3"]);
}

#[test]
fn changes_go_first_within_a_lane_only() {
    let t = Instant::now();
    let mut queue = queue(9, 0, t, &[]);
    queue.push_in(|_| 'a', "a-old", (), t, Background, t);
    queue.push_in(|_| 'b', "b-old", (), t, Background, t);
    queue.push_in(|_| 'b', "b-new", (), t, Change, t);
    assert_eq!(start_all(&mut queue, t), ["a-old", "b-new", "b-old"]);
}

#[test]
fn a_key_that_waits_stays_in_its_lane_and_the_next_push_after_its_start_may_choose_another() {
    let t = Instant::now();
    let mut queue: Queue<_, _, char> = Queue::fair(9, 1);
    queue.push_in(|_| 'a', "x", (), at(t, 5), Background, t);
    queue.push_in(|_| unreachable!("it waits"), "x", (), t, Change, t);
    queue.push_in(|_| unreachable!("it is due"), "x", (), t, Change, t);
    queue.push_in(|_| 'a', "a1", (), t, Change, t);
    assert_eq!(start_all(&mut queue, t), ["x"], "the limit of lane a");
    queue.push_in(|_| 'b', "x", (), t, Change, t);
    queue.push_in(|_| unreachable!("it is dirty"), "x", (), t, Change, t);
    assert_eq!(queue.numbers().lanes, 2);
    queue.finish(&"x", t);
    assert_eq!(start_all(&mut queue, t), ["a1", "x"], "x is in lane b now");
    assert_eq!(queue.numbers().lanes, 2);
}

#[test]
fn requeued_keys_are_fair_as_well() {
    let t = Instant::now();
    let mut queue = queue(1, 0, t, &[]);
    for key in ["a1", "a2", "a3", "b1"] {
        push(&mut queue, key, at(t, 10), t);
    }
    let mut order = Vec::new();
    while let Some((key, ())) = queue.start(at(t, 20)) {
        queue.finish(&key, at(t, 20));
        order.push(key);
    }
    assert_eq!(order, ["a1", "b1", "a2", "a3"]);
}

/// Starts what can start, and finishes what is over, until `end`. `work` is how long a key runs.
fn simulate<K: Copy + Eq + std::hash::Hash + Ord>(
    queue: &mut Queue<K, (), u32>,
    arrivals: &mut dyn Iterator<Item = (u64, K, u32)>,
    work: impl Fn(K) -> u64,
    end: u64,
    mut started: impl FnMut(K, Duration),
) {
    let t = Instant::now();
    let (mut arrivals, mut running) = (arrivals.peekable(), BinaryHeap::new());
    let mut now = 0;
    while now < end {
        while let Some((_, key, lane)) = arrivals.next_if(|(time, ..)| *time <= now) {
            queue.push_in(|_| lane, key, (), at(t, now), Change, at(t, now));
        }
        while running.peek().is_some_and(|Reverse((over, _))| *over <= now) {
            let Some(Reverse((_, key))) = running.pop() else { break };
            queue.finish(&key, at(t, now));
        }
        while let Some((key, ())) = queue.start(at(t, now)) {
            started(key, queue.last_wait());
            running.push(Reverse((now + work(key), key)));
        }
        now += 1;
    }
}

#[test]
fn a_lane_whose_keys_run_long_gets_no_more_worker_time_than_one_whose_keys_run_briefly() {
    const LONG: u64 = 400;
    let mut queue = Queue::fair(4, 0);
    // Both lanes always have keys that are due.
    let mut arrivals = (0..100_000).map(|number| (0, number, number % 2));
    let work = |key: u32| if key.is_multiple_of(2) { LONG } else { 20 };
    let mut time = [0, 0];
    simulate(&mut queue, &mut arrivals, work, 20_000, |key, _| time[key as usize % 2] += work(key));
    let share = time[0] as f64 / time[1] as f64;
    assert!((0.7..1.4).contains(&share), "{time:?}");
}

#[test]
fn lanes_that_come_all_the_time_do_not_starve_one_that_owes_worker_time() {
    const TENANT: u32 = 0;
    let mut queue = Queue::fair(10, 0);
    // Ten workers, and ten times a second a tenant with one object of a second: more would not fit. One tenant has three objects of 100 ms.
    let others = (0..60_000).step_by(100).map(|time| (time, 10 + time as u32, 10 + time as u32));
    let tenant = (500..60_000).step_by(250).map(|time| (time, (time as u32 / 250) % 3, TENANT));
    let mut arrivals: Vec<_> = others.chain(tenant).collect();
    arrivals.sort_unstable();
    let (mut longest, mut starts) = (Duration::ZERO, 0);
    let work = |key| if key < 3 { 100 } else { 1000 };
    simulate(&mut queue, &mut arrivals.into_iter(), work, 60_000, |key, wait| {
        if key < 3 {
            (longest, starts) = (longest.max(wait), starts + 1);
        }
    });
    assert!(starts >= 20 && longest < Duration::from_secs(15), "{starts} starts, waited up to {longest:?}");
}

/// p99 of the time from a change to the end of its reconcile, in milliseconds, of 10 000 tenants, with and without a tenant that changes
/// 1000 objects a second: with that one, the work is more than the workers can do.
fn p99_of_the_others(mut queue: Queue<u32, (), u32>, is_noisy: bool) -> u64 {
    const TENANTS: u32 = 10_000;
    const WORK: u64 = 10;
    const SECONDS: u64 = 10;
    let mut random = fastrand::Rng::with_seed(7);
    let mut arrivals: Vec<(u64, u32, u32)> = Vec::new();
    for time in 0..SECONDS * 1000 {
        if random.u8(..10) < 3 {
            let tenant = random.u32(1..TENANTS);
            arrivals.push((time, tenant, tenant));
        }
    }
    if is_noisy {
        arrivals.extend((0..SECONDS * 1000).map(|time| (time, TENANTS + time as u32 % 1000, 0)));
        arrivals.sort_unstable();
    }
    let mut waits = Vec::new();
    simulate(
        &mut queue,
        &mut arrivals.into_iter(),
        |_| WORK,
        SECONDS * 1000,
        |key, wait| {
            if key < TENANTS {
                waits.push(wait.as_millis() as u64 + WORK);
            }
        },
    );
    waits.sort_unstable();
    assert!(waits.len() > 2500, "{} reconciles of the others", waits.len());
    waits[waits.len() * 99 / 100]
}

#[test]
fn a_noisy_tenant_among_ten_thousand_does_not_delay_the_others() {
    let (idle, fair) =
        (p99_of_the_others(Queue::fair(10, 0), false), p99_of_the_others(Queue::fair(10, 0), true));
    assert!(fair <= 2 * idle, "p99: {fair} ms, and {idle} ms without the noisy tenant");
    let one_line = p99_of_the_others(Queue::new(10), true);
    assert!(one_line > 10 * idle, "the control: in one line, p99 is {one_line} ms");
}

#[test]
fn lanes_that_have_ended_take_little_memory_and_lanes_that_wait_for_later_no_places() {
    let t = Instant::now();
    let mut queue: Queue<u32, (), u32> = Queue::fair(u16::MAX, 0);
    let memory = allocation_counter::measure(|| {
        for round in 0..3 {
            for key in 0..30_000 {
                queue.push_in(|_| key / 3, key, (), t, [Change, Background][key as usize % 2], t);
                if round == 1 {
                    queue.push_in(|_| key / 3, key, (), t, Change, t);
                }
            }
            assert_eq!(queue.numbers().lanes, 10_000);
            while let Some((key, ())) = queue.start(t) {
                queue.finish(&key, t);
            }
            assert!(queue.is_empty() && queue.numbers().lanes == 0);
        }
    });
    assert!(memory.bytes_current < 50_000, "{memory:?}");
    let memory = allocation_counter::measure(|| {
        (0..30_000).for_each(|key| queue.push_in(|_| key, key, (), at(t, 100), Change, t));
        queue.retain_waiting(|(), _| false);
    });
    assert!(queue.is_empty() && queue.numbers().lanes == 0 && memory.bytes_current < 50_000, "{memory:?}");
}
