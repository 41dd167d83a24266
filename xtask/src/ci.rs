//! Runs jobs one after the other, and says at the end which were skipped and why.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::context::Context;
use crate::cpu_time;
use crate::job::Job;
use crate::jobs::JOBS;
use crate::skip::Skipped;

/// Runs these jobs, or those of every run.
pub(crate) fn run(cx: &Context, names: &[String]) -> Result<()> {
    let jobs = if names.is_empty() {
        JOBS.iter().filter(|job| job.when.in_every_run()).collect()
    } else {
        names.iter().map(|name| find(name)).collect::<Result<Vec<_>>>()?
    };
    run_all(cx, &jobs, is_strict())
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
    for (heading, every_run) in [("In every run, in this order:", true), ("By name only:", false)] {
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

/// Runs the jobs up to the first that fails. In a strict run one that cannot run here fails.
pub(crate) fn run_all(cx: &Context, jobs: &[&Job], strict: bool) -> Result<()> {
    let all = Instant::now();
    let mut skipped = Vec::new();
    let mut times = Vec::new();
    for job in jobs {
        let (started, cpu) = (Instant::now(), cpu_time::of_children());
        println!("\n=== {}", job.name);
        match (job.run)(cx, &[]) {
            Ok(()) => println!("=== {} ok ({}s)", job.name, started.elapsed().as_secs()),
            Err(error) if error.is::<Skipped>() && !strict => {
                println!("=== {} skipped: {error}", job.name);
                skipped.push(format!("  {}: {error}", job.name));
            }
            Err(error) => {
                println!("{error:#}\n\n=== {} FAILED after {}s", job.name, started.elapsed().as_secs());
                bail!("{} failed", job.name);
            }
        }
        times.push((started.elapsed().as_secs(), cpu_time::of_children() - cpu, job.name));
    }
    let seconds = all.elapsed().as_secs();
    print!("{}", longest(times));
    if skipped.is_empty() {
        println!("\nall jobs ok in {seconds}s");
    } else {
        let done = jobs.len() - skipped.len();
        println!("\n{done} of {} jobs ok in {seconds}s; skipped:\n{}", jobs.len(), skipped.join("\n"));
    }
    Ok(())
}

/// The jobs that took a second or more, the longest first, with their processor time.
fn longest(mut times: Vec<(u64, f64, &str)>) -> String {
    times.retain(|(seconds, ..)| *seconds > 0);
    times.sort_by_key(|(seconds, ..)| std::cmp::Reverse(*seconds));
    let line = |(seconds, cpu, name)| format!("{seconds:>6}s {cpu:>6.0}s of CPU time  {name}\n");
    format!("\n{}", times.into_iter().map(line).collect::<String>())
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
    fn the_longest_job_comes_first() {
        let times = vec![(0, 0.1, "fmt"), (5, 9.6, "clippy"), (120, 230.0, "test")];
        let expected = "\n   120s    230s of CPU time  test\n     5s     10s of CPU time  clippy\n";
        assert_eq!(longest(times), expected);
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
