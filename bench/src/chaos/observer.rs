//! A hello operator that runs, and what it has reconciled so far.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use parking_lot::Mutex;

use crate::measure;

/// The versions of objects, by name.
pub(super) type Versions = HashMap<String, u64>;

/// Ends the program when it is dropped.
pub(super) struct Observer {
    process: Child,
    reconciled: Arc<Mutex<Reconciled>>,
}

/// The highest version of each object that was reconciled, and when that was first done.
#[derive(Default)]
struct Reconciled(HashMap<String, (u64, Instant)>);

impl Observer {
    pub(super) fn start(program: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new(program)
            .arg((usize::MAX >> 1).to_string())
            .env("HELLO_TRACE", "1")
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let stdout = process.stdout.take().context("the program has no output")?;
        let reconciled = Arc::<Mutex<Reconciled>>::default();
        let noted = Arc::clone(&reconciled);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                noted.lock().note(&line, Instant::now());
            }
        });
        Ok(Self { process, reconciled })
    }

    /// When the last of these versions, or a later one of its object, was reconciled; `None` as long as one is missing.
    pub(super) fn completed(&self, wanted: &Versions) -> Option<Instant> {
        self.reconciled.lock().completed(wanted)
    }

    /// Milliseconds of CPU time so far.
    pub(super) fn cpu_time(&self) -> anyhow::Result<f64> {
        measure::cpu_time_of(self.process.id())
    }

    /// How many of these versions were not reconciled, nor later ones.
    pub(super) fn missing(&self, wanted: &Versions) -> usize {
        let reconciled = self.reconciled.lock();
        wanted.iter().filter(|(name, version)| reconciled.at(name, **version).is_none()).count()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        // Errors mean that the program has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Reconciled {
    /// `line`: a name and a version. Other lines are ignored.
    fn note(&mut self, line: &str, now: Instant) {
        let Some((name, version)) = line.split_once(' ') else { return };
        let Ok(version) = version.parse() else { return };
        let known = self.0.entry(name.to_owned()).or_insert((version, now));
        if version > known.0 {
            *known = (version, now);
        }
    }

    fn at(&self, name: &str, version: u64) -> Option<Instant> {
        self.0.get(name).filter(|(reconciled, _)| *reconciled >= version).map(|(_, at)| *at)
    }

    fn completed(&self, wanted: &Versions) -> Option<Instant> {
        let times: Option<Vec<_>> = wanted.iter().map(|(name, version)| self.at(name, *version)).collect();
        times?.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_version_is_reconciled_when_it_or_a_later_one_was_first_seen() {
        let (start, mut reconciled) = (Instant::now(), Reconciled::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        let wanted = Versions::from([("a".to_owned(), 5), ("b".to_owned(), 7)]);
        for (line, seconds) in [("first", 0), ("a 4", 1), ("b 7", 2), ("a 6", 3), ("b 7", 9), ("a 6", 9)] {
            assert_eq!(reconciled.completed(&wanted), (seconds == 9).then(|| at(3)));
            reconciled.note(line, at(seconds));
        }
    }
}
