//! The rows of the table: each fault, and how long each program took afterwards.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::runtime::Runtime;

use super::observer::{Observer, Versions};
use super::proxy::Proxy;
use super::server::{Fault, Server};
use super::writer::Writer;
use crate::realapi::Cluster;
use crate::server::typed_config_map;
use crate::{genuine, hello};

/// How long a program may take before the row says "more than".
const LIMIT: Duration = Duration::from_secs(240);
/// Between two faults: watches that lasted for so long are healthy for every library.
const CALM: Duration = Duration::from_secs(20);

/// The objects that exist besides those that change: after an outage each program reads all of them again.
const OBJECTS: usize = 2_000;

/// Runs all faults, and prints a table. `outages`: lengths in seconds.
pub(crate) fn run(outages: &[usize]) -> anyhow::Result<()> {
    // First, because the programs take minutes to build, and the server's port may be in use.
    let cluster = Cluster::up(&["--bare"])?;
    let (mut programs, folder) = (hello::programs()?, tempfile::tempdir()?);
    programs.push(hello::manager()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let mut table = Table::of(&programs);

    runtime.block_on(async {
        let client = genuine::client(cluster.kubeconfig()).await?;
        genuine::create(&client, "default", OBJECTS, typed_config_map).await
    })?;
    let writer = Writer::start(&runtime, cluster.kubeconfig())?;
    let observers = observe(&programs, &runtime, cluster.kubeconfig(), folder.path())?;
    let server = Server(&cluster);
    let hang = Duration::from_secs(60);
    let outages = outages.iter().map(|seconds| Duration::from_secs(*seconds as u64));
    let faults = [Fault::Restart].into_iter().chain(outages.map(Fault::Outage)).chain([Fault::Hang(hang)]);
    settle(&observers, &writer.mark(0));
    for (round, fault) in faults.enumerate() {
        sleep(CALM);
        eprintln!("{fault:?}");
        let before = costs(&observers)?;
        let back = server.suffer(fault)?;
        let marks = writer.mark(round + 1);
        settle(&observers, &marks);
        table.row(&name_of(fault), &observers, &marks, back);
        table.costs(&before, &costs(&observers)?);
    }
    writer.stop();
    sleep(CALM);
    table.missing(&observers, &writer.confirmed());
    drop(observers);

    let writer = Writer::start(&runtime, cluster.kubeconfig())?;
    let observers = observe(&programs, &runtime, cluster.kubeconfig(), folder.path())?;
    settle(&observers, &writer.mark(0));
    sleep(CALM);
    eprintln!("frozen connections");
    observers.iter().for_each(|observed| observed.proxied.proxy.freeze());
    let frozen = Instant::now();
    let marks = writer.mark(1);
    settle(&observers, &marks);
    table.row("connections frozen without a close, from then on", &observers, &marks, frozen);
    print!("{}", table.text);
    Ok(())
}

/// A program, and its way to the server.
struct Observed {
    observer: Observer,
    proxied: Proxied,
}

impl std::ops::Deref for Observed {
    type Target = Observer;

    fn deref(&self) -> &Observer {
        &self.observer
    }
}

fn observe(
    programs: &[(&'static str, PathBuf)],
    runtime: &Runtime,
    kubeconfig: &Path,
    folder: &Path,
) -> anyhow::Result<Vec<Observed>> {
    let start = |(_, program): &(_, PathBuf)| {
        let proxied = Proxied::start(runtime, kubeconfig, folder)?;
        Ok(Observed { observer: Observer::start(program, &proxied.kubeconfig)?, proxied })
    };
    programs.iter().map(start).collect()
}

/// KB received and ms of CPU time of each program so far.
fn costs(observers: &[Observed]) -> anyhow::Result<Vec<[f64; 2]>> {
    let cost =
        |observed: &Observed| Ok([observed.proxied.proxy.received() as f64 / 1e3, observed.cpu_time()?]);
    observers.iter().map(cost).collect()
}

/// Waits until all programs have reconciled these versions, or for the limit.
fn settle(observers: &[Observed], wanted: &Versions) {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end && observers.iter().any(|observer| observer.completed(wanted).is_none()) {
        sleep(Duration::from_millis(100));
    }
}

fn name_of(fault: Fault) -> String {
    match fault {
        Fault::Restart => "restart (SIGTERM)".into(),
        Fault::Outage(length) => format!("killed, away for {} s", length.as_secs()),
        Fault::Hang(length) => format!("suspended for {} s (SIGSTOP)", length.as_secs()),
    }
}

struct Table {
    text: String,
}

impl Table {
    fn of(programs: &[(&'static str, PathBuf)]) -> Self {
        let names = programs.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | ");
        Self { text: format!("| API server | {names} |\n|---|{}\n", "--:|".repeat(programs.len())) }
    }

    /// The seconds from `since` until each program had reconciled these versions.
    fn row(&mut self, name: &str, observers: &[Observed], wanted: &Versions, since: Instant) {
        let cell = |observer: &Observed| match observer.completed(wanted) {
            Some(at) => format!("{:.1} s", at.saturating_duration_since(since).as_secs_f64()),
            None => format!("more than {} s", LIMIT.as_secs()),
        };
        self.add(name, observers.iter().map(cell));
    }

    /// What each program has received and computed for it, since the fault.
    fn costs(&mut self, before: &[[f64; 2]], after: &[[f64; 2]]) {
        for (index, name) in ["KB received meanwhile", "ms CPU time meanwhile"].iter().enumerate() {
            let cells = before
                .iter()
                .zip(after)
                .map(|(before, after)| format!("{:.0}", after[index] - before[index]));
            self.add(name, cells);
        }
    }

    fn missing(&mut self, observers: &[Observed], confirmed: &Versions) {
        let name = format!("last versions that were never reconciled, of {}", confirmed.len());
        self.add(&name, observers.iter().map(|observer| observer.missing(confirmed).to_string()));
    }

    fn add(&mut self, name: &str, cells: impl Iterator<Item = String>) {
        let line = format!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
        eprintln!("{line}");
        writeln!(self.text, "{line}").expect("invariant: writing to a string does not fail");
    }
}

/// The way to the server through a proxy.
struct Proxied {
    proxy: Proxy,
    kubeconfig: PathBuf,
}

impl Proxied {
    fn start(runtime: &Runtime, direct: &Path, folder: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(direct)?;
        let port =
            text.split("https://127.0.0.1:").nth(1).context("the kubeconfig has no server on loopback")?;
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        let proxy = Proxy::start(runtime, SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse()?)))?;
        let [from, to] = [port, proxy.port.to_string()].map(|port| format!("https://127.0.0.1:{port}"));
        let kubeconfig = folder.join(format!("proxied-{}.kubeconfig", proxy.port));
        std::fs::write(&kubeconfig, text.replace(&from, &to))?;
        Ok(Self { proxy, kubeconfig })
    }
}
