//! The seeds of simulations: how many, and which one alone.
//!
//! `KUBE_SIMULATION_SEED=17 cargo test -p kube-operator --lib simulation` runs one seed, `KUBE_SIMULATION_SEEDS=100000` more of them.

use std::{
    env,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// How many run in CI.
pub(crate) const SEEDS: u64 = 1000;

/// Calls `run` with so many seeds, on all cores. A panic of it fails the test.
pub(crate) fn for_each_seed(seeds: u64, run: impl Fn(u64) + Sync) {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse().expect("a number"));
    if let Some(seed) = number("KUBE_SIMULATION_SEED") {
        return run(seed);
    }
    let (seeds, next) = (number("KUBE_SIMULATION_SEEDS").unwrap_or(seeds), AtomicU64::new(0));
    let work = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                seed if seed < seeds => run(seed),
                _ => return,
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}
