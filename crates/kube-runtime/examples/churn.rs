//! A controller of many objects that change all the time: what it loses (nothing), and how long changes wait.
//!
//! `cargo run --release -p kube-runtime --example churn [OBJECTS [CHANGES_PER_SECOND [SECONDS]]]`, by default 100 000, 1 000 and
//! 30. Server and controller share the process and its cores.

#[path = "../tests/it/churn/load.rs"]
mod load;

use kube_client::error::ErrorChain;
use load::{Latencies, Plan, run};
use std::{env, process::ExitCode, time::Duration};

#[tokio::main]
async fn main() -> ExitCode {
    let mut numbers = [100_000, 1_000, 30];
    for (number, text) in numbers.iter_mut().zip(env::args().skip(1)) {
        match text.parse() {
            Ok(parsed) => *number = parsed,
            Err(_) => {
                eprintln!("{text:?} is no number; expected: churn [OBJECTS [CHANGES_PER_SECOND [SECONDS]]]");
                return ExitCode::FAILURE;
            }
        }
    }
    let [objects, rate, seconds] = numbers;
    let plan = Plan {
        objects: usize::try_from(objects).unwrap_or(usize::MAX),
        rate,
        churn: Duration::from_secs(seconds),
        work: Duration::ZERO,
        concurrency: 0,
    };
    let report = match run(plan).await {
        Ok(report) => report,
        Err(error) => {
            eprintln!("the server in the process refused: {}", ErrorChain(&error));
            return ExitCode::FAILURE;
        }
    };
    println!(
        "{objects} objects, {rate} changes a second for {seconds} s, then as long again with a list of everything"
    );
    println!("all reconciled after the start: {:.2?}", report.filled);
    println!("all reconciled after the loss of the watch: {:.2?}", report.relisted);
    print("changes", &report.churn);
    print("changes during the list", &report.relist);
    println!("lost updates: {}", report.lost);
    if report.lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(what: &str, Latencies { p50, p99, max, count }: &Latencies) {
    println!(
        "{what}, from the write to the reconcile: p50 {p50:.2?}, p99 {p99:.2?}, max {max:.2?} of {count}"
    );
}
