//! CPU time and memory of the current process.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};

/// The metrics of one measurement by name. Lower is better for each.
pub(crate) type Metrics = BTreeMap<String, f64>;

/// Measures wall-clock time and CPU time.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_time() }
    }

    /// Wall-clock time and CPU time in milliseconds.
    pub(crate) fn stop(&self) -> (f64, f64) {
        let (wall, cpu) = (self.wall.elapsed(), cpu_time().saturating_sub(self.cpu));
        (wall.as_secs_f64() * 1e3, cpu.as_secs_f64() * 1e3)
    }
}

/// The CPU time of all threads of this process, also of those that have ended.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Both are positive.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The CPU time in milliseconds of the processes that were started and have ended, to a hundredth of a second.
pub(crate) fn children_cpu_time() -> anyhow::Result<f64> {
    two_times("/proc/self/stat", 13) // `cutime`, `cstime`
}

/// The CPU time in milliseconds of a process that runs, to a hundredth of a second.
pub(crate) fn cpu_time_of(process: u32) -> anyhow::Result<f64> {
    two_times(&format!("/proc/{process}/stat"), 11) // `utime`, `stime`
}

/// The sum of two times in milliseconds, after so many fields behind the name of the program.
fn two_times(file: &str, fields_before: usize) -> anyhow::Result<f64> {
    const TICKS_PER_SECOND: f64 = 100.0; // USER_HZ, the same on all platforms of Linux that Rust supports
    let stat = std::fs::read_to_string(file)?;
    // The name of the program is in parentheses and may contain spaces.
    let (_, fields) = stat.rsplit_once(')').with_context(|| format!("{file} has no name"))?;
    let mut fields = fields.split_ascii_whitespace().skip(fields_before);
    let mut ticks = || -> anyhow::Result<f64> {
        Ok(fields.next().with_context(|| format!("{file} is too short"))?.parse()?)
    };
    Ok((ticks()? + ticks()?) / TICKS_PER_SECOND * 1e3)
}

/// The nanoseconds since the epoch: a time that the server and the client can compare.
pub(crate) fn unix_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The milliseconds between two results of [`unix_nanos`].
pub(crate) fn millis_between(start: u64, end: u64) -> f64 {
    end.saturating_sub(start) as f64 / 1e6
}

/// The current RSS in MiB.
pub(crate) fn rss() -> anyhow::Result<f64> {
    mebibytes("/proc/self/status", "VmRSS:")
}

/// The peak RSS in MiB since the start or the last [`reset_peak_rss`].
pub(crate) fn peak_rss() -> anyhow::Result<f64> {
    mebibytes("/proc/self/status", "VmHWM:")
}

/// The memory in MiB that new processes can use without swapping.
pub(crate) fn available_memory() -> anyhow::Result<f64> {
    mebibytes("/proc/meminfo", "MemAvailable:")
}

/// Resets the peak RSS to the current RSS.
pub(crate) fn reset_peak_rss() -> anyhow::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")
}

/// A field of a file of `/proc` that is in kB.
pub(crate) fn mebibytes(file: &str, field: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let line = line.with_context(|| format!("no {field} in {file}"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1024.0)
}
