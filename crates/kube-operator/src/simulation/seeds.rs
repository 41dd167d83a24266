//! The seeds of simulations: how many, and which one alone.
//!
//! `KUBE_SIMULATION_SEED=17 cargo test -p kube-operator --lib simulation` runs one seed, `KUBE_SIMULATION_SEEDS=100000` more of
//! them. Tests whose seeds take longer run as many times more as those with [`SEEDS`].

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// How many run in CI.
pub(crate) const SEEDS: u64 = 1000;

/// Calls `run` with so many seeds, on all cores. A panic of it fails the test, which names the seed and calls it no more. So does the end
/// of the time that is allowed for each seed, times their number: a test that has become slow says so.
pub(crate) fn for_each_seed(seeds: u64, allowed: Duration, run: impl Fn(u64) + Sync) {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse().expect("a number"));
    if let Some(seed) = number("KUBE_SIMULATION_SEED") {
        return run(seed);
    }
    let seeds = number("KUBE_SIMULATION_SEEDS").map_or(seeds, |wanted| share(wanted, seeds));
    if let Err(error) = run_all(seeds, allowed, run) {
        panic!("{error}");
    }
}

/// How many run if tests with [`SEEDS`] run `wanted`.
fn share(wanted: u64, seeds: u64) -> u64 {
    (wanted.saturating_mul(seeds) / SEEDS).max(1)
}

/// # Errors
/// The first seed, of those that were called, that panicked. Or the time was over.
fn run_all(seeds: u64, allowed: Duration, run: impl Fn(u64) + Sync) -> Result<(), String> {
    let limit = allowed.saturating_mul(u32::try_from(seeds).unwrap_or(u32::MAX));
    let (begun, next, failing) = (Instant::now(), AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let is_late = AtomicBool::new(false);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds || failing.load(Ordering::Relaxed) != u64::MAX {
                return;
            }
            if begun.elapsed() > limit {
                return is_late.store(true, Ordering::Relaxed);
            }
            if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
                failing.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let (failing, took) = (failing.into_inner(), begun.elapsed().as_secs_f64());
    if failing != u64::MAX {
        return Err(format!("seed {failing} fails: KUBE_SIMULATION_SEED={failing} runs it alone"));
    }
    if !is_late.into_inner() {
        return Ok(());
    }
    let (done, expected) = (next.into_inner().saturating_sub(threads as u64), 1.0 / allowed.as_secs_f64());
    let rate = done as f64 / took;
    Err(format!(
        "{done} of {seeds} seeds in {took:.0} s, {rate:.2} a second: expected at least {expected:.2}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_fails_is_named_and_ends_the_others() {
        let calls = AtomicU64::new(0);
        let run = |seed| {
            calls.fetch_add(1, Ordering::Relaxed);
            assert_ne!(seed, 7);
            thread::yield_now();
        };
        let failed = run_all(1_000_000, Duration::MAX, run).unwrap_err();
        assert_eq!(failed, "seed 7 fails: KUBE_SIMULATION_SEED=7 runs it alone");
        assert!(calls.into_inner() < 1_000_000);
        assert_eq!(run_all(7, Duration::MAX, |seed| assert_ne!(seed, 7)), Ok(()));
    }

    #[test]
    fn seeds_that_take_longer_than_allowed_fail_with_how_many_there_were_a_second() {
        let slow = run_all(1_000_000, Duration::from_nanos(1), |_| thread::yield_now()).unwrap_err();
        assert!(slow.contains(" of 1000000 seeds in 0 s, "), "{slow}");
        assert!(slow.ends_with(" a second: expected at least 1000000000.00"), "{slow}");
        let (done, _) = slow.split_once(' ').unwrap();
        assert!(done.parse::<u64>().unwrap() < 1_000_000, "{slow}");
    }

    #[test]
    fn more_seeds_are_more_of_each_test_in_its_proportion() {
        assert_eq!([20, SEEDS, 10_000].map(|wanted| share(wanted, SEEDS)), [20, 1000, 10_000]);
        assert_eq!([20, SEEDS, 10_000].map(|wanted| share(wanted, 5)), [1, 5, 50]);
    }
}
