//! The resident memory of the processes.

use crate::replica::Replica;
use anyhow::{Context as _, ensure};
use std::{fmt, fs, time::Duration};
use tokio::time::Instant;

/// A replica is measured after it has filled its caches.
const FILLED: Duration = Duration::from_secs(10);
/// Growth that allocators and histories explain.
const TOLERATED: f64 = 1.2;

/// Means of both halves of a run, without its first tenth.
pub(crate) struct Memory {
    time: Duration,
    server: [Mean; 2],
    replicas: [Mean; 2],
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn mib(self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

impl Memory {
    pub(crate) fn new(time: Duration) -> Self {
        Self { time, server: Default::default(), replicas: Default::default() }
    }

    pub(crate) fn sample(&mut self, elapsed: Duration, replicas: &[Replica]) -> anyhow::Result<()> {
        if elapsed < self.time / 10 {
            return Ok(());
        }
        let half = usize::from(elapsed > self.time.mul_f64(0.55));
        add(&mut self.server[half], std::process::id())?;
        for replica in replicas {
            let (age, pid) = (Instant::now().duration_since(replica.started), replica.pid());
            if let (true, Some(pid)) = (age > FILLED, pid) {
                add(&mut self.replicas[half], pid)?;
            }
        }
        Ok(())
    }

    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (what, [first, second]) in [("server", self.server), ("replicas", self.replicas)] {
            ensure!(
                first.count > 0 && second.count > 0,
                "the run was too short to measure the memory of the {what}"
            );
            let (first, second) = (first.mib(), second.mib());
            ensure!(
                second <= first * TOLERATED,
                "memory of the {what} grew from {first:.1} to {second:.1} MiB"
            );
        }
        Ok(())
    }
}

fn add(mean: &mut Mean, pid: u32) -> anyhow::Result<()> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kib: f64 =
        resident.with_context(|| format!("{path} has no VmRSS: the process has ended"))?.parse()?;
    mean.sum += kib / 1024.0;
    mean.count += 1;
    Ok(())
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [server, replicas] = [self.server, self.replicas].map(|halves| halves.map(Mean::mib));
        write!(
            f,
            "mean memory, first and second half: server with this program {:.1} and {:.1} MiB, ",
            server[0], server[1]
        )?;
        write!(f, "replica {:.1} and {:.1} MiB", replicas[0], replicas[1])
    }
}
