//! What a process can tell of itself.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;

/// The figures of one measurement, by name. Less is better in each.
pub(crate) type Figures = BTreeMap<String, f64>;

/// Time on the wall and on the processor since some point.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> anyhow::Result<Self> {
        Ok(Self { wall: Instant::now(), cpu: cpu_time()? })
    }

    /// Milliseconds on the wall and on the processor.
    pub(crate) fn stop(&self) -> anyhow::Result<(f64, f64)> {
        let wall = self.wall.elapsed();
        Ok((wall.as_secs_f64() * 1e3, (cpu_time()?.saturating_sub(self.cpu)).as_secs_f64() * 1e3))
    }
}

/// What all threads of this process have used, in nanoseconds as the scheduler counts.
fn cpu_time() -> anyhow::Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let nanos = stat.split_whitespace().next().context("schedstat is empty")?;
        total += nanos.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(total))
}

/// Resident memory now, in MiB.
pub(crate) fn resident() -> anyhow::Result<f64> {
    status("VmRSS:")
}

/// The most that was ever resident, or since [`forget_peak`], in MiB.
pub(crate) fn peak() -> anyhow::Result<f64> {
    status("VmHWM:")
}

/// Lets the peak start from what is resident now.
pub(crate) fn forget_peak() -> anyhow::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")
}

fn status(field: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix(field)).with_context(|| format!("no {field}"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
