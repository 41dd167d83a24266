//! The job `commands`: every `cargo run` in pages and examples names one program, which runs with the printed arguments.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{Metadata, Package, Target};

use crate::command::{Command, pause};
use crate::context::{Context, scratch};
use crate::facts;
use crate::job::no_arguments;
use crate::pattern::regex;

/// How a command is run.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// It ends by itself, with exit code 0.
    Ends,
    /// It prints this text when it is ready, goes on, and ends after SIGTERM. A signal before that could hit a program that only starts.
    GoesOn(&'static str),
    /// Not here: it needs something else, or a test runs it.
    Elsewhere(&'static str),
}

use Run::{Elsewhere, Ends, GoesOn};

#[rustfmt::skip] // one command a line
const COMMANDS: &[(&str, Run)] = &[
    ("cargo run", Elsewhere("the reader's own project: the tests of examples/book run those programs")),
    ("cargo run -- --embedded", Elsewhere("a project of cargo kube new: job new")),
    ("cargo run -- manifests", Elsewhere("a project of cargo kube new: job new")),
    ("cargo run --example compact-cache", Ends),
    ("cargo run --example quickstart", Ends),
    ("cargo run --example quickstart -- --cluster", Elsewhere("needs a cluster: job e2e-genuine")),
    ("cargo run --example quickstart -- --stay", GoesOn("still running: ")),
    ("cargo run -p fleet", Elsewhere("needs clusters: the tests of examples/fleet, and the job fleet-genuine")),
    ("cargo run -p fleet -- crd", Ends),
    ("cargo run -p kube-operator --example serving", Ends),
    ("cargo run -p kube-testserver -- --port 6443", GoesOn("serving on http://127.0.0.1:6443")),
    ("cargo run -p kube-testserver -- --port 6443 --data dir", Elsewhere("writes to the folder: job testserver-data")),
    ("cargo run -p operator", Elsewhere("needs a cluster: job operator-genuine")),
    ("cargo run -p operator -- --embedded", GoesOn("the page brief was reconciled, deleted, and cleaned up")),
    ("cargo run -p operator -- --embedded --once", Ends),
    ("cargo run -p operator -- manifests examples/operator/deploy", Ends),
    ("cargo run -p operator -- --register", Elsewhere("needs a cluster: job operator-genuine")),
    ("cargo run -p conformance -- --by-feature", Ends),
    ("cargo run --release -p kube-client --example decode", Elsewhere("a measurement of minutes")),
    ("cargo run --release -p kube-runtime --example churn", Elsewhere("a measurement of minutes")),
    ("cargo run --release -p kube-testserver --example measure", Elsewhere("a measurement of minutes")),
];

/// For a program to end, or to become ready.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that SIGTERM has ended, as a shell shows it.
const TERMINATED: i32 = 128 + signal_hook::consts::SIGTERM;

pub(crate) fn commands(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let printed = printed(cx)?;
    let known = |command: &str| COMMANDS.iter().find(|(known, _)| *known == command);
    let unknown: Vec<_> = printed.iter().filter(|command| known(command).is_none()).cloned().collect();
    ensure!(unknown.is_empty(), "say in xtask/src/commands.rs how these are run: {}", unknown.join(", "));
    let gone: Vec<_> =
        COMMANDS.iter().map(|(known, _)| *known).filter(|known| !printed.contains(*known)).collect();
    ensure!(gone.is_empty(), "no page has these any more: {}", gone.join(", "));
    let metadata = cx.metadata(false)?;
    for (command, run) in COMMANDS {
        let printed = Printed::parse(command)?;
        match run {
            Elsewhere(why) => println!("not run: {command}: {why}"),
            Ends => program(cx, &metadata, &printed)?.limit(LIMIT).run()?,
            GoesOn(ready) => goes_on(program(cx, &metadata, &printed)?, ready)?,
        }
    }
    Ok(())
}

/// The program of a command. `cargo run` would build it with the features of its package alone: with those of the workspace it is built
/// already.
fn program(cx: &Context, metadata: &Metadata, printed: &Printed<'_>) -> Result<Command> {
    let target = printed.target(&metadata.packages)?;
    let program = cx.build(if target.is_example() { "--example" } else { "--bin" }, &target.name)?;
    Ok(cx.command(program).args(&printed.args).env("KUBECONFIG", "/no/such/kubeconfig"))
}

fn goes_on(command: Command, ready: &str) -> Result<()> {
    let folder = scratch()?;
    let log = folder.path().join("log");
    let shown = command.to_string();
    println!("$ {shown}");
    let program = command.spawn(&log, &log)?;
    let read = || std::fs::read_to_string(&log).context("its output");
    let end = Instant::now() + LIMIT;
    while !read()?.contains(ready) {
        if program.has_ended() || Instant::now() > end {
            bail!("{shown} did not print {ready:?}: {}", read()?);
        }
        pause(Duration::from_millis(50))?;
    }
    let code = program.stop(LIMIT).with_context(|| read().unwrap_or_default())?;
    ensure!(matches!(code, 0 | TERMINATED), "{shown}: exit code {code} after SIGTERM: {}", read()?);
    Ok(())
}

/// A command as a page prints it.
struct Printed<'a> {
    command: &'a str,
    package: Option<&'a str>,
    example: Option<&'a str>,
    /// For the program.
    args: Vec<&'a str>,
}

impl<'a> Printed<'a> {
    fn parse(command: &'a str) -> Result<Self> {
        let (options, args) = command.split_once(" -- ").unwrap_or((command, ""));
        let args = args.split_whitespace().collect();
        let mut printed = Self { command, package: None, example: None, args };
        let mut options = options.split_whitespace().skip(2);
        while let Some(option) = options.next() {
            match option {
                "-p" => printed.package = options.next(),
                "--example" => printed.example = options.next(),
                "--release" => {}
                other => bail!("{command}: expected -p, --example, --release or --, found {other}"),
            }
        }
        Ok(printed)
    }

    /// What cargo builds for it: the example of this name, or the only binary of the package.
    fn target<'m>(&self, packages: &'m [Package]) -> Result<&'m Target> {
        let packages = packages.iter().filter(|package| self.package.is_none_or(|name| package.name == name));
        let mut targets = packages.flat_map(|package| &package.targets).filter(|target| match self.example {
            Some(name) => target.is_example() && target.name == name,
            None => target.is_bin(),
        });
        let target = targets.next().with_context(|| format!("{}: no such program", self.command))?;
        let other = targets.next().map(|other| &other.name);
        ensure!(other.is_none(), "{}: cargo asks whether to run {} or {other:?}", self.command, target.name);
        Ok(target)
    }
}

/// The commands of all pages and of the first comments of all source files, without those that leave something to the reader, such as
/// `FILE`.
fn printed(cx: &Context) -> Result<BTreeSet<String>> {
    let pages = facts::pages(cx)?.into_iter().map(|page| page.text);
    let sources = facts::sources(cx)?.into_iter().map(|source| {
        source.text.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n")
    });
    Ok(pages.chain(sources).flat_map(|text| in_text(&text)).collect())
}

fn in_text(text: &str) -> Vec<String> {
    let command = regex(r"cargo run\b[^`#\n|]*");
    let open = regex(r"\[|[A-Z]{2,}|\.\.\.");
    let commands = command
        .find_iter(text)
        .map(|found| found.as_str().trim().trim_end_matches(['.', ':', ',']).to_owned());
    commands.filter(|command| !open.is_match(command)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_end_with_their_markup() {
        let text = "`cargo run --example quickstart` and\n    cargo run -p x -- --port 6443     # a comment\n$ cargo run\n`cargo run -p y -- FILE`";
        assert_eq!(
            in_text(text),
            ["cargo run --example quickstart", "cargo run -p x -- --port 6443", "cargo run"]
        );
    }

    #[test]
    fn every_known_command_names_one_program() {
        let metadata = Context::new().unwrap().metadata(false).unwrap();
        let of_this_workspace = |command: &str| command.contains(" -p ") || command.contains(" --example ");
        for (command, _) in COMMANDS.iter().filter(|(command, _)| of_this_workspace(command)) {
            Printed::parse(command).unwrap().target(&metadata.packages).unwrap();
        }
        let error = |command| {
            Printed::parse(command).and_then(|it| it.target(&metadata.packages).cloned()).unwrap_err()
        };
        assert!(error("cargo run -p kube").to_string().contains("no such program"));
        assert!(error("cargo run").to_string().contains("cargo asks whether"));
        assert!(error("cargo run --bin x").to_string().contains("found --bin"));
    }
}
