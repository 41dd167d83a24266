//! Runs jobs, several of them in two lanes. At the end it says what they took, and which were skipped and why.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::context::Context;
use crate::job::Job;
use crate::jobs::JOBS;
use crate::report::{Ended, Outcome, Report};
use crate::skip::Skipped;
use crate::{cpu_time, lanes, output};

/// Runs these jobs, or those of every run.
pub(crate) fn run(cx: &Context, names: &[String]) -> Result<()> {
    let jobs = if names.is_empty() {
        JOBS.iter().filter(|job| job.when.in_every_run()).collect()
    } else {
        names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?
    };
    let has_room = std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1);
    if jobs.len() < 2 || !has_room {
        return run_all(cx, &jobs, is_strict());
    }
    let started = Instant::now();
    let report = lanes::run(cx, &jobs, is_strict())?;
    output::line(&report.summary(started.elapsed()));
    Ok(())
}

/// The job of this name.
pub(crate) fn find(name: &str) -> Result<&'static Job> {
    JOBS.iter()
        .find(|job| job.name == name)
        .with_context(|| format!("there is no job {name}: `cargo xtask ci --list` shows all"))
}

/// The text of `--list`.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for (heading, every_run) in
        [("In every run, in two lanes of this order (xtask/src/lanes.rs):", true), ("By name only:", false)]
    {
        text += &format!("{heading}\n");
        for job in JOBS.iter().filter(|job| job.when.in_every_run() == every_run) {
            let servers = if job.when.is_genuine() { " [genuine servers]" } else { "" };
            let usage = if job.usage.is_empty() { String::new() } else { format!(" ({})", job.usage) };
            text += &format!("  {:<20} {}{usage}{servers}\n", job.name, job.summary);
        }
        text += "\n";
    }
    text + "One job with arguments: cargo xtask JOB [ARGS...]\n"
}

/// Runs the jobs one after the other, up to the first that fails. In a strict run one that cannot run here fails.
pub(crate) fn run_all(cx: &Context, jobs: &[&Job], strict: bool) -> Result<()> {
    let all = Instant::now();
    let mut report = Report::default();
    for job in jobs {
        let (started, cpu) = (Instant::now(), cpu_time::of_children());
        output::line(&format!("\n=== {}", job.name));
        let outcome = match (job.run)(cx, &[]) {
            Ok(()) => Outcome::Succeeded,
            Err(error) if error.is::<Skipped>() && !strict => Outcome::Skipped(error.to_string()),
            Err(error) => {
                output::line(&format!("{error:#}"));
                Outcome::Failed
            }
        };
        let failed = matches!(outcome, Outcome::Failed);
        let cpu = cpu_time::of_children() - cpu;
        report.add(Ended { name: job.name, outcome, wall: started.elapsed(), cpu });
        if failed {
            bail!("{} failed", job.name);
        }
    }
    output::line(&report.summary(all.elapsed()));
    Ok(())
}

/// Under `CI=true` and `CI_STRICT=1` a job that cannot run fails; `CI_STRICT=0` overrules `CI`.
fn is_strict() -> bool {
    let value = std::env::var("CI_STRICT").or_else(|_| std::env::var("CI")).unwrap_or_default();
    matches!(value.as_str(), "1" | "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::When;
    use crate::skip::skip;

    const SKIPPED: Job = Job {
        name: "skipped",
        when: When::Always,
        summary: "",
        usage: "",
        run: |_, _| skip("no such program"),
    };
    const OK: Job = Job { name: "ok", when: When::Always, summary: "", usage: "", run: |_, _| Ok(()) };
    const FAILS: Job =
        Job { name: "fails", when: When::Always, summary: "", usage: "", run: |_, _| bail!("broken") };

    #[test]
    fn a_job_that_cannot_run_fails_only_a_strict_run() {
        let cx = Context::new().unwrap();
        run_all(&cx, &[&OK, &SKIPPED], false).unwrap();
        assert_eq!(run_all(&cx, &[&SKIPPED], true).unwrap_err().to_string(), "skipped failed");
    }

    #[test]
    fn a_failure_ends_the_run() {
        let cx = Context::new().unwrap();
        assert_eq!(run_all(&cx, &[&FAILS, &SKIPPED], true).unwrap_err().to_string(), "fails failed");
    }

    #[test]
    fn every_job_is_listed_once() {
        let listed = list();
        for job in JOBS {
            assert_eq!(JOBS.iter().filter(|other| other.name == job.name).count(), 1, "{}", job.name);
            assert!(listed.contains(&format!("\n  {} ", job.name)), "{}", job.name);
            assert!(find(job.name).is_ok());
        }
    }
}
