//! Two replicas of the operator as processes on an embedded API server. One of them is killed every 20 s, while pages change all the time:
//! `cargo xtask soak`.
//!
//! Fails unless every change was reconciled, only the leader ever wrote, and memory stayed flat. Each replica has a socket of its own to
//! the server, which records in its order of requests who wrote what: a write by a replica that was not the last to write the Lease is
//! an overlap of leaders.

mod audit;
mod memory;
mod pages;
mod replica;

use anyhow::{Context as _, ensure};
use audit::Audit;
use kube::Client;
use kube_testserver::{ApiServer, BuiltInController};
use memory::Memory;
use operator::{embedded::expose, register::register};
use pages::Pages;
use replica::Replica;
use std::{path::PathBuf, process::ExitCode, time::Duration};
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at, sleep};

const KILL_EVERY: Duration = Duration::from_secs(20);
const CHANGE_EVERY: Duration = Duration::from_millis(50);
const SAMPLE_EVERY: Duration = Duration::from_secs(2);
/// A leader that was killed is replaced within lease duration and retry period (17 s); the rest is for reconciling.
const SETTLE: Duration = Duration::from_secs(60);
/// Memory of the server grows until its history is full: within the first part of a short run.
const HISTORY: usize = 500;

#[tokio::main]
async fn main() -> ExitCode {
    match soak().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn soak() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(program), Some(minutes)) = (args.next(), args.next()) else {
        anyhow::bail!("usage: soak OPERATOR-BINARY MINUTES");
    };
    let minutes: f64 =
        minutes.parse().with_context(|| format!("expected a number of minutes, found {minutes:?}"))?;
    ensure!((0.5..=10_000.0).contains(&minutes), "expected at least half a minute, found {minutes}");
    let time = Duration::from_secs_f64(minutes * 60.0);
    let folder = tempfile::tempdir()?;
    let server = ApiServer::builder()
        .with(BuiltInController::Workloads)
        .with(BuiltInController::Kubelet)
        .history(HISTORY)
        .service()?;
    let client = Client::new(server.clone(), "default");
    register(&client).await?;
    let audit = Audit::default();
    let program = PathBuf::from(program);
    let mut replicas = Vec::new();
    for name in ["a", "b"] {
        replicas.push(Replica::start(&program, name, &server, &audit, folder.path()).await?);
    }
    let (mut pages, mut memory) = (Pages::new(client.clone()), Memory::new(time));
    run(time, &client, &mut replicas, &mut pages, &mut memory, &audit).await?;

    let settled = settle(&client, &mut replicas, &pages).await;
    let report = audit.report();
    println!("{report}\n{pages}\n{memory}");
    settled?;
    ensure!(report.overlaps.is_empty(), "leaders overlapped: {:?}", report.overlaps);
    ensure!(report.kills == 0 || report.terms > 1, "no replica took over");
    memory.check()
}

/// Changes pages and kills replicas, until the time is over.
async fn run(
    time: Duration,
    client: &Client,
    replicas: &mut [Replica],
    pages: &mut Pages,
    memory: &mut Memory,
    audit: &Audit,
) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut kills = interval_at(start + KILL_EVERY, KILL_EVERY);
    let (mut changes, mut samples) = (interval(CHANGE_EVERY), interval(SAMPLE_EVERY));
    // A slow change must not be followed by two kills at once.
    for ticks in [&mut kills, &mut changes, &mut samples] {
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    }
    let mut reachable = Vec::new();
    while start.elapsed() < time {
        tokio::select! {
            biased;
            _ = kills.tick() => {
                let index = fastrand::usize(..replicas.len());
                replicas[index].kill_and_restart(audit).await?;
            }
            _ = samples.tick() => {
                memory.sample(start.elapsed(), replicas)?;
                for replica in &mut *replicas {
                    replica.check_running()?;
                }
            }
            _ = changes.tick() => {
                route(client, replicas, &mut reachable).await?;
                pages.change().await?;
            }
        }
    }
    Ok(())
}

/// As a cluster does: only replicas that accept connections are behind the Service.
async fn route(
    client: &Client,
    replicas: &[Replica],
    reachable: &mut Vec<std::net::SocketAddr>,
) -> anyhow::Result<()> {
    let mut now = Vec::new();
    for replica in replicas {
        if tokio::net::TcpStream::connect(replica.webhooks).await.is_ok() {
            now.push(replica.webhooks);
        }
    }
    if now != *reachable {
        expose(client, &now).await?;
        *reachable = now;
    }
    Ok(())
}

async fn settle(client: &Client, replicas: &mut [Replica], pages: &Pages) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut reachable = Vec::new();
    loop {
        route(client, replicas, &mut reachable).await?;
        match pages.unreconciled().await? {
            None => {
                println!(
                    "every page was reconciled {:.1} s after the last change",
                    start.elapsed().as_secs_f64()
                );
                return Ok(());
            }
            Some(reason) => ensure!(start.elapsed() < SETTLE, "not reconciled within {SETTLE:?}: {reason}"),
        }
        sleep(Duration::from_millis(200)).await;
    }
}
