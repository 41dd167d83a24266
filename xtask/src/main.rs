//! `cargo xtask`: the checks of this repository. `jobs.rs` has the table of jobs, `ci.rs` runs them, `check.rs` is a contributor's loop.

// - A run: `jobs` has all jobs, each a `job`; `ci` runs them, in the two `lanes`, and `report` says how they ended, on its `output`;
//   `check` runs a few for a contributor; `skip` ends one that cannot run here.
// - For all jobs: `context` has the folders, `paths` what is in them; `command` runs programs, `cpu_time` says what they cost; `pattern`
//   has regular expressions; `tools` and `setup` install what is missing.
// - Jobs that read: `lint`, `samples`, `facts`, `budgets`, `docs`. Jobs that run: `test`, `commands`, `apply`, `kubectl`, `foreign`,
//   `genuine`, `scaffold`. What others get: `packaging`, `deploy`, `manifests`. What takes time: `measure`, `long`.

mod apply;
mod budgets;
mod check;
mod ci;
mod command;
mod commands;
mod context;
mod cpu_time;
mod deploy;
mod docs;
mod facts;
mod foreign;
mod genuine;
mod job;
mod jobs;
mod kubectl;
mod lanes;
mod lint;
mod long;
mod manifests;
mod measure;
mod output;
mod packaging;
mod paths;
mod pattern;
mod report;
mod samples;
mod scaffold;
mod setup;
mod skip;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

use crate::context::Context;
use crate::skip::Skipped;

/// The checks of this repository.
#[derive(Parser)]
#[command(
    bin_name = "cargo xtask",
    after_help = "A job is a command as well: cargo xtask JOB [ARGS...]. All jobs: cargo xtask ci --list"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs what a change has to pass: all jobs in order, or these
    Ci {
        /// Names of jobs
        jobs: Vec<String>,
        /// Prints every job with what it checks
        #[arg(long)]
        list: bool,
    },
    /// The loop while developing: formatting, clippy, unit tests
    Check {
        /// Only this crate; may be repeated
        #[arg(short, long)]
        package: Vec<String>,
        /// Integration tests as well
        #[arg(long)]
        tests: bool,
    },
    /// Runs the jobs that need genuine API servers
    Genuine,
    /// Measures against the kube crate of crates.io: arguments of the program in bench/
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// One job by its name, with its arguments: `cargo xtask book --serve`
    #[command(external_subcommand)]
    Job(Vec<String>),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<Skipped>() => {
            output::line(&format!("{}{error:#}", skip::SKIPPED));
            ExitCode::from(skip::EXIT_CODE)
        }
        Err(error) => {
            output::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let cx = Context::new()?;
    command::end_on_signals()?;
    match command {
        Command::Ci { list: true, .. } => {
            output::line(ci::list().trim_end());
            Ok(())
        }
        Command::Ci { jobs, .. } => ci::run(&cx, &jobs),
        Command::Check { package, tests } => check::check(&cx, &package, tests),
        Command::Genuine => {
            // Without servers nothing of it would run, which is not success.
            genuine::program(&cx)?;
            let jobs: Vec<_> = jobs::JOBS.iter().filter(|job| job.when == job::When::Genuine).collect();
            ci::run_all(&cx, &jobs, false)
        }
        Command::Bench { args } => {
            cx.cargo("run --quiet --release --manifest-path bench/Cargo.toml --").args(args).run()
        }
        Command::Job(words) => {
            let (name, args) = words.split_first().context("no job")?;
            let result = (ci::find(name)?.run)(&cx, args);
            cpu_time::write();
            result
        }
    }
}
