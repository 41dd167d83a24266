//! Two lanes of jobs side by side. One compiles the workspace, which only one Cargo at a time can do; the other one has everything else:
//! what has a target folder of its own, waits for servers, or runs the programs that the job `build` has built.
//!
//! Each job is a process of its own, so that its output can be kept together. It is printed when the job ends. The first failure ends both
//! lanes.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::command::{Background, pause};
use crate::context::{BUILT, Context, scratch};
use crate::job::Job;
use crate::report::{Ended, Outcome, Report};
use crate::{cpu_time, output, skip};

/// The jobs of the first lane, in this order: what compiles into the target folder of the workspace.
const WORKSPACE: [&str; 6] = ["clippy", "build", "test", "features", "docs", "book"];
/// Jobs of the other lane that come after it in the table run its programs, so they wait for it.
const BUILDS_PROGRAMS: &str = "build";
/// Installs what the others need, so it comes before both lanes.
const SETUP: &str = "setup";
/// How often a job is looked at.
const TICK: Duration = Duration::from_millis(100);
/// For servers of a job to stop, once another job has failed.
const STOPPED: Duration = Duration::from_secs(60);

/// Runs the jobs up to the first that fails.
pub(crate) fn run(cx: &Context, jobs: &[&Job], strict: bool) -> Result<Report> {
    let folder = scratch()?;
    // The job `build` builds this program again.
    let program = folder.path().join("xtask");
    std::fs::copy(std::env::current_exe()?, &program).context("cannot copy this program")?;
    let run = Run {
        cx,
        folder: folder.path(),
        program: &program,
        strict,
        failed: AtomicBool::new(false),
        programs_are_built: AtomicBool::new(false),
        report: Mutex::default(),
    };
    let (setup, others): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.name == SETUP);
    run.lane(&setup.into_iter().map(|job| (job, false)).collect::<Vec<_>>())?;
    let [workspace, apart] = lanes(&others);
    std::thread::scope(|scope| {
        let apart = scope.spawn(|| run.lane(&apart));
        let workspace = run.lane(&workspace);
        let apart = apart.join().unwrap_or_else(|_| Err(anyhow!("the second lane panicked")));
        // The lane that did not fail only stopped.
        workspace.and(apart)
    })?;
    run.report.into_inner().map_err(|_| anyhow!("a lane panicked"))
}

/// The jobs of the two lanes, each with whether it needs the programs of the workspace.
fn lanes<'a>(jobs: &[&'a Job]) -> [Vec<(&'a Job, bool)>; 2] {
    let built = jobs.iter().position(|job| job.name == BUILDS_PROGRAMS).unwrap_or(jobs.len());
    let jobs = jobs.iter().enumerate().map(|(at, job)| (*job, at > built));
    let (workspace, apart): (Vec<_>, Vec<_>) = jobs.partition(|(job, _)| WORKSPACE.contains(&job.name));
    [workspace.into_iter().map(|(job, _)| (job, false)).collect(), apart]
}

struct Run<'a> {
    cx: &'a Context,
    /// Where outputs are kept.
    folder: &'a Path,
    program: &'a Path,
    strict: bool,
    failed: AtomicBool,
    programs_are_built: AtomicBool,
    report: Mutex<Report>,
}

impl Run<'_> {
    fn lane(&self, jobs: &[(&Job, bool)]) -> Result<()> {
        let result = jobs.iter().try_for_each(|(job, needs_programs)| self.job(job, *needs_programs));
        if result.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        result
    }

    fn job(&self, job: &Job, needs_programs: bool) -> Result<()> {
        while needs_programs && !self.programs_are_built.load(Ordering::SeqCst) {
            if self.has_failed() {
                return Ok(());
            }
            pause(TICK)?;
        }
        if self.has_failed() {
            return Ok(());
        }
        let [log, cpu] = ["log", "cpu"].map(|ending| self.folder.join(format!("{}.{ending}", job.name)));
        let started = Instant::now();
        output::line(&format!("... {} begins", job.name));
        let Some(code) = self.wait(&self.start(job, needs_programs, &log, &cpu)?)? else { return Ok(()) };
        let text = std::fs::read(&log).context("the output of a job")?;
        let text = String::from_utf8_lossy(&text);
        let outcome = match code {
            0 => Outcome::Succeeded,
            code if code == i32::from(skip::EXIT_CODE) && !self.strict => {
                Outcome::Skipped(skip::reason(&text).into())
            }
            _ => Outcome::Failed,
        };
        let failed = matches!(outcome, Outcome::Failed);
        let ended = Ended { name: job.name, outcome, wall: started.elapsed(), cpu: cpu_time::read(&cpu) };
        let mut report = self.report.lock().map_err(|_| anyhow!("the other lane panicked"))?;
        output::line(&format!("\n=== {}\n{}", job.name, text.trim_end()));
        report.add(ended);
        if failed {
            bail!("{} failed", job.name);
        }
        if job.name == BUILDS_PROGRAMS {
            self.programs_are_built.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// What compiles gives way to what waits for servers, which has limits of time.
    fn start(&self, job: &Job, needs_programs: bool, log: &Path, cpu: &Path) -> Result<Background> {
        let program = if WORKSPACE.contains(&job.name) && self.cx.has("nice") {
            self.cx.command("nice").args(["-n", "5"]).arg(self.program)
        } else {
            self.cx.command(self.program)
        };
        let program = if needs_programs { program.env(BUILT, "1") } else { program };
        program.arg(job.name).env(cpu_time::FILE, cpu).spawn(log, log)
    }

    /// The exit code; nothing where the other lane has failed meanwhile.
    fn wait(&self, process: &Background) -> Result<Option<i32>> {
        while !process.has_ended() {
            if self.has_failed() {
                process.stop(STOPPED)?;
                return Ok(None);
            }
            pause(TICK)?;
        }
        process.wait(TICK).map(Some)
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JOBS;

    #[test]
    fn each_job_is_in_one_lane_and_those_that_run_programs_wait_for_them() {
        let jobs: Vec<_> = JOBS.iter().filter(|job| job.when.in_every_run()).collect();
        let [workspace, apart] = lanes(&jobs);
        assert_eq!(workspace.iter().map(|(job, _)| job.name).collect::<Vec<_>>(), WORKSPACE);
        assert_eq!(workspace.len() + apart.len(), jobs.len());
        let waits = |name: &str| apart.iter().find(|(job, _)| job.name == name).unwrap().1;
        assert!(waits("cost") && waits("kubectl-compare") && waits("new"));
        assert!(!waits("facts") && !waits("instructions"));
    }
}
