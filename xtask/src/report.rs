//! What a run prints about the jobs that have ended: one by one, and at its end.

use std::time::Duration;

use crate::output;

/// A job that has ended.
pub(crate) struct Ended {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) wall: Duration,
    /// Processor time in seconds.
    pub(crate) cpu: f64,
}

pub(crate) enum Outcome {
    Succeeded,
    /// It cannot run here, for this reason.
    Skipped(String),
    Failed,
}

/// The jobs of a run that have ended.
#[derive(Default)]
pub(crate) struct Report {
    ended: Vec<Ended>,
}

impl Report {
    /// Prints how the job has ended.
    pub(crate) fn add(&mut self, ended: Ended) {
        let Ended { name, outcome, wall, cpu } = &ended;
        let time = format!("{}s, {cpu:.0}s of CPU time", wall.as_secs());
        output::line(&match outcome {
            Outcome::Succeeded => format!("=== {name} ok ({time})"),
            Outcome::Skipped(reason) => format!("=== {name} skipped: {reason}"),
            Outcome::Failed => format!("\n=== {name} FAILED after {time}"),
        });
        self.ended.push(ended);
    }

    /// Of the whole run, which took this time.
    pub(crate) fn summary(&self, wall: Duration) -> String {
        let skipped = |ended: &Ended| match &ended.outcome {
            Outcome::Skipped(reason) => Some(format!("  {}: {reason}", ended.name)),
            Outcome::Succeeded | Outcome::Failed => None,
        };
        let skipped: Vec<_> = self.ended.iter().filter_map(skipped).collect();
        let (all, seconds) = (self.ended.len(), wall.as_secs());
        let cpu: f64 = self.ended.iter().map(|ended| ended.cpu).sum();
        let time = format!("{seconds}s, {cpu:.0}s of CPU time");
        let end = if skipped.is_empty() {
            format!("all jobs ok in {time}")
        } else {
            let done = all - skipped.len();
            format!("{done} of {all} jobs ok in {time}; skipped:\n{}", skipped.join("\n"))
        };
        format!("\n{}\n{end}", self.longest())
    }

    /// The jobs that took a second or more, the longest first.
    fn longest(&self) -> String {
        let mut times: Vec<_> = self.ended.iter().filter(|ended| ended.wall.as_secs() > 0).collect();
        times.sort_by_key(|ended| std::cmp::Reverse(ended.wall.as_secs()));
        let line = |ended: &Ended| {
            format!("{:>6}s {:>6.0}s of CPU time  {}\n", ended.wall.as_secs(), ended.cpu, ended.name)
        };
        times.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(name: &'static str, outcome: Outcome, seconds: u64, cpu: f64) -> Ended {
        Ended { name, outcome, wall: Duration::from_secs(seconds), cpu }
    }

    #[test]
    fn the_longest_job_comes_first() {
        let mut report = Report::default();
        report.add(ended("fmt", Outcome::Succeeded, 0, 0.1));
        report.add(ended("clippy", Outcome::Succeeded, 5, 9.6));
        report.add(ended("test", Outcome::Succeeded, 120, 230.0));
        let expected = "\n   120s    230s of CPU time  test\n     5s     10s of CPU time  clippy\n\nall jobs ok in 99s, 240s of CPU time";
        assert_eq!(report.summary(Duration::from_secs(99)), expected);
    }

    #[test]
    fn skipped_jobs_are_named_at_the_end() {
        let mut report = Report::default();
        report.add(ended("book", Outcome::Skipped("there is no book/".into()), 0, 0.0));
        report.add(ended("fmt", Outcome::Succeeded, 0, 0.0));
        let expected = "\n\n1 of 2 jobs ok in 1s, 0s of CPU time; skipped:\n  book: there is no book/";
        assert_eq!(report.summary(Duration::from_secs(1)), expected);
    }
}
