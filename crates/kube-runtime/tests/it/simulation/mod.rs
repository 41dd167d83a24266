//! Controllers and watchers against a server with random faults, under paused time: one scenario for each of many seeds.
//!
//! See `controller_scenario::run` and `watcher_scenario::run` for what is checked. A failing seed is printed. Run it alone, with
//! its trace, by `KUBE_SIMULATION_SEED=17 cargo nextest run -p kube-runtime simulation`. More seeds:
//! `KUBE_SIMULATION_SEEDS=10000`.
//!
//! A seed is reproducible event by event: one thread, a paused clock, random numbers and jitter from the seed, and nothing that
//! depends on the order of a hash map. The digest printed at the end is a hash of all traces.
//!
//! `rng` makes the random numbers, `servers` and `faults` are layers between client and server. `controller_scenario` runs controllers with
//! the `reconciler`, `watcher_scenario` a watcher. `own_writes_scenario` runs a controller whose watches are late.

mod controller_scenario;
mod faults;
mod own_writes_scenario;
mod reconciler;
mod rng;
mod servers;
mod watcher_scenario;

use controller_scenario::ScenarioRun;
use std::{
    env,
    future::Future,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

/// The default number of seeds. On two cores, in a debug build, 1000 take 40 s, or three minutes on a very busy machine.
const SEEDS: u64 = 1000;

#[test]
fn controllers_keep_their_guarantees_under_random_faults() {
    all_seeds(simulate);
}

/// Servers that lag, objects that cannot be decoded, versions that are counted per object, storages that are restored from a backup.
#[test]
fn a_store_follows_unusual_servers_and_never_goes_back_in_time() {
    all_seeds(|seed| simulated(seed, watcher_scenario::run(seed)));
}

/// Watches are up to 5 s late: an owner never gets a second child because the first is not visible yet.
#[test]
fn a_controller_that_sees_its_own_writes_never_makes_a_child_twice() {
    all_seeds(|seed| simulated(seed, own_writes_scenario::run(seed, true)));
}

/// The control: by the same scenarios, without a scope.
#[test]
fn a_controller_that_does_not_see_its_own_writes_makes_children_twice() {
    let fails = |seed: &u64| simulated(*seed, own_writes_scenario::run(*seed, false)).outcome.is_err();
    let failing = (0..50).filter(fails).count();
    assert!(failing >= 25, "{failing} of 50");
}

/// Runs the number of seeds, or the one seed, that the environment configures.
fn all_seeds(simulate: impl Fn(u64) -> ScenarioRun + Sync) {
    if let Some(seed) = number("KUBE_SIMULATION_SEED") {
        let run = simulate(seed);
        println!("{}", run.trace.join("\n"));
        run.outcome.unwrap();
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
            let run = simulate(seed);
            run.outcome.map_err(|violation| format!("KUBE_SIMULATION_SEED={seed} fails: {violation}"))?;
            digest.fetch_xor(digest_of(seed, &run.trace), Ordering::Relaxed);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().unwrap().err()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{seeds} scenarios, digest {:016x}", digest.into_inner());
}

#[test]
fn a_seed_reproduces_its_scenario_event_by_event() {
    let mut events = 0;
    for seed in 0..30 {
        let (first, second) = (simulate(seed).trace, simulate(seed).trace);
        let difference = first.iter().zip(&second).position(|(one, other)| one != other);
        if let Some(at) = difference {
            panic!("seed {seed} diverges after {at} events: {:?} and {:?}", first[at], second[at]);
        }
        assert_eq!(first.len(), second.len());
        events += first.len();
    }
    assert!(events > 30 * 50, "the scenarios contain enough events: {events}");
}

/// A hash map has other keys in another process, and objects have other addresses.
#[test]
fn a_seed_reproduces_its_scenario_in_another_process() {
    const NAME: &str = "simulation::a_seed_reproduces_its_scenario_in_another_process";
    const CHILD: &str = "KUBE_SIMULATION_CHILD";
    let digest = (0..20).fold(0, |all, seed| all ^ digest_of(seed, &simulate(seed).trace));
    let expected = format!("digest of this process: {digest:016x}");
    println!("{expected}");
    if env::var_os(CHILD).is_none() {
        let mut child = Command::new(env::current_exe().unwrap());
        let output = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let same = output.status.success() && printed.contains(&expected);
        assert!(same, "{expected}, but the other process printed:\n{printed}");
    }
}

/// Controllers and their streams, stores and queues free all their memory.
#[test]
fn a_scenario_leaves_no_memory_allocated() {
    simulate(0).outcome.unwrap(); // allocates what lives as long as the process
    for seed in 1..40 {
        let memory = allocation_counter::measure(|| {
            drop(simulate(seed));
        });
        assert!(memory.bytes_total > 100_000, "allocations are counted: {memory:?}");
        assert_eq!(memory.bytes_current, 0, "seed {seed} leaves memory allocated: {memory:?}");
    }
}

/// A hash of the trace, which contains every event with its time.
fn digest_of(seed: u64, trace: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new(); // has the same keys in every process
    (seed, trace).hash(&mut hasher);
    hasher.finish()
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

fn simulate(seed: u64) -> ScenarioRun {
    simulated(seed, controller_scenario::run(seed))
}

fn simulated(seed: u64, scenario: impl Future<Output = ScenarioRun>) -> ScenarioRun {
    fastrand::seed(seed); // this thread's generator, which the jitter of every backoff uses
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(scenario))).unwrap_or_else(|_| ScenarioRun {
        trace: Vec::new(),
        outcome: Err("the scenario panicked".to_owned()),
    })
}
