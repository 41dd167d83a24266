//! A controller against a server that misbehaves at random, by the clock of the test: many seeds, each a whole life.
//!
//! What has to hold at the end of each: see `life::live`. A seed that fails is printed; run it alone with
//! `KUBE_SIMULATION_SEED=17 cargo nextest run -p kube-runtime simulation`. More seeds: `KUBE_SIMULATION_SEEDS=10000`.

mod dice;
mod faults;
mod life;
mod world;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// How many seeds are tried where nobody asks for another number. On two cores, in a debug build, 1000 take 40 s, or 75 s on a busy machine.
const SEEDS: u64 = 1000;

#[test]
fn whatever_happens_the_guarantees_hold() {
    if let Some(seed) = number("KUBE_SIMULATION_SEED") {
        simulate(seed).unwrap();
        return;
    }
    let seeds = number("KUBE_SIMULATION_SEEDS").unwrap_or(SEEDS);
    let next = AtomicU64::new(0);
    let work = || -> Result<(), String> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return Ok(());
            }
            simulate(seed).map_err(|wrong| format!("KUBE_SIMULATION_SEED={seed} fails: {wrong}"))?;
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().unwrap().err()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is to be a number, not {text:?}")))
}

fn simulate(seed: u64) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(life::live(seed))))
        .unwrap_or_else(|_| Err("it panicked".to_owned()))
}
