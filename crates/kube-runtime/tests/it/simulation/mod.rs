//! A controller against a server that misbehaves at random, by the clock of the test: many seeds, each a whole life.
//!
//! What has to hold at the end of each: see `life::live`. A seed that fails is printed; run it alone, with its story, by
//! `KUBE_SIMULATION_SEED=17 cargo nextest run -p kube-runtime simulation`. More seeds: `KUBE_SIMULATION_SEEDS=10000`.
//!
//! A seed repeats its life event by event: one thread, the paused clock, dice and jitter from the seed, and nothing that
//! depends on the order of a hash map. The digest that is printed at the end stands for all that happened in all of them.

mod dice;
mod faults;
mod life;
mod servers;
mod watching;
mod world;

use life::Life;
use std::{
    env,
    future::Future,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// How many seeds are tried where nobody asks for another number. On two cores, in a debug build, 1000 take 40 s, or three
/// minutes on a very busy machine.
const SEEDS: u64 = 1000;

#[test]
fn whatever_happens_the_guarantees_hold() {
    all_seeds(simulate);
}

/// Servers that lag, objects that cannot be decoded, versions that count per object, storages that go back in time.
#[test]
fn whatever_servers_show_a_store_follows_and_never_goes_back() {
    all_seeds(|seed| simulated(seed, watching::live(seed)));
}

/// Tries as many seeds as were asked for, or the one.
fn all_seeds(simulate: impl Fn(u64) -> Life + Sync) {
    if let Some(seed) = number("KUBE_SIMULATION_SEED") {
        let life = simulate(seed);
        println!("{}", life.story.join("\n"));
        life.outcome.unwrap();
        return;
    }
    let seeds = number("KUBE_SIMULATION_SEEDS").unwrap_or(SEEDS);
    let (next, digest) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || -> Result<(), String> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return Ok(());
            }
            let life = simulate(seed);
            life.outcome.map_err(|wrong| format!("KUBE_SIMULATION_SEED={seed} fails: {wrong}"))?;
            digest.fetch_xor(digest_of(seed, &life.story), Ordering::Relaxed);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().unwrap().err()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{seeds} lives, digest {:016x}", digest.into_inner());
}

#[test]
fn a_seed_repeats_its_life_event_by_event() {
    let mut events = 0;
    for seed in 0..30 {
        let (first, second) = (simulate(seed).story, simulate(seed).story);
        let apart = first.iter().zip(&second).position(|(one, other)| one != other);
        if let Some(at) = apart {
            panic!("seed {seed} goes apart after {at} events: {:?} and {:?}", first[at], second[at]);
        }
        assert_eq!(first.len(), second.len());
        events += first.len();
    }
    assert!(events > 30 * 50, "they are stories worth the name: {events} events");
}

/// There, hash maps have other keys, and objects other addresses.
#[test]
fn a_seed_repeats_in_another_process() {
    const NAME: &str = "simulation::a_seed_repeats_in_another_process";
    const CHILD: &str = "KUBE_SIMULATION_CHILD";
    let digest = (0..20).fold(0, |all, seed| all ^ digest_of(seed, &simulate(seed).story));
    let told = format!("digest of this process: {digest:016x}");
    println!("{told}");
    if env::var_os(CHILD).is_none() {
        let mut child = Command::new(env::current_exe().unwrap());
        let output = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains(&told), "{told}, but in the other:\n{printed}");
    }
}

/// Nothing of a life stays in memory: neither of the controllers nor of the streams, stores and queues behind them.
#[test]
fn memory_is_back_where_it_was_after_each_life() {
    simulate(0).outcome.unwrap(); // what is made once for the process
    for seed in 1..40 {
        let memory = allocation_counter::measure(|| {
            drop(simulate(seed));
        });
        assert!(memory.bytes_total > 100_000, "it does count: {memory:?}");
        assert_eq!(memory.bytes_current, 0, "seed {seed} leaves memory behind: {memory:?}");
    }
}

/// A number that is the same if, and (chance aside) only if, the same things happened at the same times.
fn digest_of(seed: u64, story: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new(); // the same keys in every process
    (seed, story).hash(&mut hasher);
    hasher.finish()
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is to be a number, not {text:?}")))
}

fn simulate(seed: u64) -> Life {
    simulated(seed, life::live(seed))
}

fn simulated(seed: u64, life: impl Future<Output = Life>) -> Life {
    fastrand::seed(seed); // of this thread: the jitter of every backoff comes from here
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(life)))
        .unwrap_or_else(|_| Life { story: Vec::new(), outcome: Err("it panicked".to_owned()) })
}
