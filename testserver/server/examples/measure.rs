//! Measures the server and prints a Markdown table: `cargo run --release -p kube-testserver --example measure`. Exits with 1 when a bound
//! is exceeded.
//!
//! Times depend on the machine and its load. A debug build therefore counts the processor time of this process, which other programs hardly
//! change, and fails at three times the recorded values: `cargo xtask cost` runs it.

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use kube_testserver::{ApiServer, Body, TestServer};
use tokio::{task::JoinHandle, time::MissedTickBehavior};
use tower::ServiceExt;

const CREATES: usize = 10_000;
const WATCHERS: usize = 100;
const MANY: usize = 100_000;
const MEMORY_OF_100_000: f64 = 400.0;
const WRITES_A_SECOND: u64 = 1000;
const WRITES: usize = 5000;
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The bound of a measurement.
enum Bound {
    AtMost(f64),
    AtLeast(f64),
    None,
}

/// Prints the table row by row and collects exceeded bounds.
#[derive(Default)]
struct Table {
    broken: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    println!("| what | measured | bound |\n|---|---:|---:|");
    let mut table = Table::default();
    if cfg!(debug_assertions) {
        processor_time(&mut table).await?;
    } else {
        measure(&mut table).await?;
    }
    for row in &table.broken {
        eprintln!("out of bounds: {row}");
    }
    Ok(if table.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Processor time of single operations in a debug build, in ms, and how often they are done.
const START: (f64, u32) = (0.65, 200);
const CREATE: (f64, u32) = (0.2, 5000);
const WATCHED_CREATE: (f64, u32) = (1.1, 2000);
/// The factor of the recorded values at which the check fails.
const FACTOR: f64 = 3.0;

async fn processor_time(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let (expected, count) = START;
    let before = Processor::now()?;
    for _ in 0..count {
        TestServer::start().await?.shutdown().await;
    }
    table.row("start", before.millis_each(count)?, 3, " ms", Bound::AtMost(expected * FACTOR));

    let before = resident_kib()?;
    let api = ApiServer::new();
    let (expected, count) = CREATE;
    let processor = Processor::now()?;
    creates(&api, "many", count as usize).await?;
    table.row("create", processor.millis_each(count)?, 3, " ms", Bound::AtMost(expected * FACTOR));
    let grown = mib(resident_kib()?.saturating_sub(before));
    let most = MEMORY_OF_100_000 * f64::from(count) / 100_000.0;
    table.row(&format!("memory of {count} objects of 1 KB"), grown, 0, " MB", Bound::AtMost(most));
    drop(api);

    let api = ApiServer::new();
    let (expected, count) = WATCHED_CREATE;
    let watchers = watchers(&api, count as usize).await?;
    let processor = Processor::now()?;
    creates(&api, "watched", count as usize).await?;
    let mut seen = 0;
    for watcher in watchers {
        seen += watcher.await?;
    }
    let each = processor.millis_each(count)?;
    table.row(&format!("create, {WATCHERS} watchers"), each, 3, " ms", Bound::AtMost(expected * FACTOR));
    let (seen, all) = (f64::from(u32::try_from(seen)?), f64::from(count) * WATCHERS as f64);
    table.row("events seen by them", seen, 0, "", Bound::AtLeast(all));
    Ok(())
}

/// The processor time of this process so far.
struct Processor(u32);

impl Processor {
    /// In ticks of 10 ms: `USER_HZ` is 100 on every platform of Linux that Rust supports.
    fn now() -> Result<Self, Box<dyn Error>> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        // The second field is a name in parentheses; user and system time are the 14th and 15th.
        let fields = stat.rsplit_once(')').ok_or("no name in /proc/self/stat")?.1;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
        Ok(Self(ticks.sum::<Result<u32, _>>()?))
    }

    /// Milliseconds since then, for each of `count` operations.
    fn millis_each(&self, count: u32) -> Result<f64, Box<dyn Error>> {
        Ok(f64::from(Self::now()?.0 - self.0) * 10.0 / f64::from(count))
    }
}

async fn measure(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let before = resident_kib()?;
    let began = Instant::now();
    let server = TestServer::start().await?;
    table.row("start", millis(began.elapsed()), 1, " ms", Bound::AtMost(50.0));
    let grown = mib(resident_kib()?.saturating_sub(before));
    table.row("memory after start", grown, 1, " MB", Bound::AtMost(20.0));
    server.shutdown().await;

    let before = resident_kib()?;
    let api = ApiServer::new();
    let a_second = creates(&api, "many", MANY).await?;
    let grown = mib(resident_kib()?.saturating_sub(before));
    table.row(
        &format!("memory of {MANY} objects of 1 KB"),
        grown,
        0,
        " MB",
        Bound::AtMost(MEMORY_OF_100_000),
    );
    let least = 10_000.0;
    table.row("creates per second, no watchers", a_second, 0, "", Bound::AtLeast(least));
    drop(api);

    let api = ApiServer::new();
    let watchers = watchers(&api, CREATES).await?;
    let a_second = creates(&api, "watched", CREATES).await?;
    let mut seen = 0;
    for watcher in watchers {
        seen += watcher.await?;
    }
    table.row(&format!("creates per second, {WATCHERS} watchers"), a_second, 0, "", Bound::AtLeast(least));
    let (seen, all) = (f64::from(u32::try_from(seen)?), f64::from(u32::try_from(CREATES * WATCHERS)?));
    table.row("events seen by them", seen, 0, "", Bound::AtLeast(all));

    let mut late = latencies().await?;
    late.sort_unstable();
    let at = |part: usize| millis(late[(late.len() * part / 1000).min(late.len() - 1)]);
    let what = format!("latency of a watch at {WRITES_A_SECOND} writes a second, median");
    table.row(&what, at(500), 2, " ms", Bound::None);
    table.row("99 of 100", at(990), 2, " ms", Bound::AtMost(10.0));
    Ok(())
}

impl Table {
    fn row(&mut self, what: &str, measured: f64, digits: usize, unit: &str, bound: Bound) {
        let (limit, broken) = match bound {
            Bound::AtMost(most) => (format!("{most}{unit}"), measured > most),
            Bound::AtLeast(least) => (format!("{least}{unit}"), measured < least),
            Bound::None => (String::new(), false),
        };
        let row = format!("| {what} | {measured:.digits$}{unit} | {limit} |");
        println!("{row}");
        if broken {
            self.broken.push(row);
        }
    }
}

async fn watchers(api: &ApiServer, events: usize) -> Result<Vec<JoinHandle<usize>>, Box<dyn Error>> {
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let mut body = watch(api).await?;
        watchers.push(tokio::spawn(async move {
            let mut lines = 0;
            while lines < events
                && let Some(Ok(frame)) = body.frame().await
            {
                lines +=
                    frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
            }
            lines
        }));
    }
    Ok(watchers)
}

async fn watch(api: &ApiServer) -> Result<Body, Box<dyn Error>> {
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", api.resource_version());
    Ok(api.clone().oneshot(http::Request::get(path).body(Full::<Bytes>::default())?).await?.into_body())
}

/// Creates objects of about 1 KB in sequence; returns the rate per second.
async fn creates(api: &ApiServer, prefix: &str, count: usize) -> Result<f64, Box<dyn Error>> {
    let began = Instant::now();
    for i in 0..count {
        create(api, &format!("{prefix}-{i}")).await?;
        tokio::task::yield_now().await;
    }
    Ok(f64::from(u32::try_from(count)?) / began.elapsed().as_secs_f64())
}

async fn create(api: &ApiServer, name: &str) -> Result<(), Box<dyn Error>> {
    let filling = "x".repeat(600);
    let body = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"k":"{filling}"}}}}"#);
    let response =
        api.clone().oneshot(http::Request::post(CONFIG_MAPS).body(Full::new(Bytes::from(body)))?).await?;
    assert_eq!(response.status(), 201);
    Ok(())
}

/// The latency from a write to its watch event, at an even rate of writes.
async fn latencies() -> Result<Vec<Duration>, Box<dyn Error>> {
    let api = ApiServer::new();
    let mut body = watch(&api).await?;
    let seen = tokio::spawn(async move {
        let mut seen = Vec::with_capacity(WRITES);
        while seen.len() < WRITES
            && let Some(Ok(frame)) = body.frame().await
        {
            let lines = frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
            seen.extend(std::iter::repeat_n(Instant::now(), lines));
        }
        seen
    });
    let mut pace = tokio::time::interval(Duration::from_micros(1_000_000 / WRITES_A_SECOND));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut written = Vec::with_capacity(WRITES);
    for i in 0..WRITES {
        pace.tick().await;
        written.push(Instant::now());
        create(&api, &format!("paced-{i}")).await?;
    }
    Ok(written.into_iter().zip(seen.await?).map(|(written, seen)| seen.duration_since(written)).collect())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn mib(kib: u32) -> f64 {
    f64::from(kib) / 1024.0
}

/// Resident memory of this process.
fn resident_kib() -> Result<u32, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
