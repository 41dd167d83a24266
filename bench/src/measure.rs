//! CPU time and memory of the current process.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;

/// The metrics of one measurement by name. Lower is better for each.
pub(crate) type Metrics = BTreeMap<String, f64>;

/// Measures wall-clock time and CPU time.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> anyhow::Result<Self> {
        Ok(Self { wall: Instant::now(), cpu: cpu_time()? })
    }

    /// Wall-clock time and CPU time in milliseconds.
    pub(crate) fn stop(&self) -> anyhow::Result<(f64, f64)> {
        let wall = self.wall.elapsed();
        Ok((wall.as_secs_f64() * 1e3, (cpu_time()?.saturating_sub(self.cpu)).as_secs_f64() * 1e3))
    }
}

/// The CPU time of all threads of this process, from the scheduler statistics.
fn cpu_time() -> anyhow::Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let nanos = stat.split_whitespace().next().context("schedstat is empty")?;
        total += nanos.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(total))
}

/// The current RSS in MiB.
pub(crate) fn rss() -> anyhow::Result<f64> {
    status("VmRSS:")
}

/// The peak RSS in MiB since the start or the last [`reset_peak_rss`].
pub(crate) fn peak_rss() -> anyhow::Result<f64> {
    status("VmHWM:")
}

/// Resets the peak RSS to the current RSS.
pub(crate) fn reset_peak_rss() -> anyhow::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")
}

fn status(field: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix(field)).with_context(|| format!("no {field}"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
