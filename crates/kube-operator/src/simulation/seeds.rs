//! The seeds of simulations: how many, and which one alone.
//!
//! `KUBE_SIMULATION_SEED=17 cargo test -p kube-operator --lib simulation` runs one seed, `KUBE_SIMULATION_SEEDS=100000` more of
//! them. Tests whose seeds take longer run as many times more as those with [`SEEDS`].

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// How many run in CI.
pub(crate) const SEEDS: u64 = 1000;

/// Calls `run` with so many seeds, on all cores. A panic of it fails the test, which names the seed and calls it no more.
pub(crate) fn for_each_seed(seeds: u64, run: impl Fn(u64) + Sync) {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse().expect("a number"));
    if let Some(seed) = number("KUBE_SIMULATION_SEED") {
        return run(seed);
    }
    let seeds = number("KUBE_SIMULATION_SEEDS").map_or(seeds, |wanted| share(wanted, seeds));
    if let Some(seed) = first_failing(seeds, run) {
        panic!("seed {seed} fails: KUBE_SIMULATION_SEED={seed} runs it alone");
    }
}

/// How many run if tests with [`SEEDS`] run `wanted`.
fn share(wanted: u64, seeds: u64) -> u64 {
    (wanted.saturating_mul(seeds) / SEEDS).max(1)
}

/// Of those that were called, the first one that panicked.
fn first_failing(seeds: u64, run: impl Fn(u64) + Sync) -> Option<u64> {
    let (next, failing) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds || failing.load(Ordering::Relaxed) != u64::MAX {
                return;
            }
            if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
                failing.fetch_min(seed, Ordering::Relaxed);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    Some(failing.into_inner()).filter(|seed| *seed != u64::MAX)
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
        assert_eq!(first_failing(1_000_000, run), Some(7));
        assert!(calls.into_inner() < 1_000_000);
        assert_eq!(first_failing(7, |seed| assert_ne!(seed, 7)), None);
    }

    #[test]
    fn more_seeds_are_more_of_each_test_in_its_proportion() {
        assert_eq!([20, SEEDS, 10_000].map(|wanted| share(wanted, SEEDS)), [20, 1000, 10_000]);
        assert_eq!([20, SEEDS, 10_000].map(|wanted| share(wanted, 5)), [1, 5, 50]);
    }
}
