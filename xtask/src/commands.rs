//! The job `commands`: every `cargo run` in pages and examples runs as it is printed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::pause;
use crate::context::{Context, scratch};
use crate::facts;
use crate::job::no_arguments;
use crate::pattern::regex;

/// How a command is run.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// It ends by itself, with exit code 0.
    Ends,
    /// It prints this text, goes on, and ends after SIGTERM.
    GoesOn(&'static str),
    /// Not here: it needs something else, or a test runs it.
    Elsewhere(&'static str),
}

use Run::{Elsewhere, Ends, GoesOn};

#[rustfmt::skip] // one command a line
const COMMANDS: &[(&str, Run)] = &[
    ("cargo run", Elsewhere("the reader's own project: the tests of examples/book run those programs")),
    ("cargo run --example compact-cache", Ends),
    ("cargo run --example quickstart", Ends),
    ("cargo run --example quickstart -- --cluster", Elsewhere("needs a cluster: job e2e-genuine")),
    ("cargo run --example quickstart -- --stay", GoesOn("kubectl")),
    ("cargo run -p kube-operator --example serving", Ends),
    ("cargo run -p kube-testserver -- --port 6443", GoesOn("6443")),
    ("cargo run -p kube-testserver -- --port 6443 --data dir", Elsewhere("writes to the folder: job testserver-data")),
    ("cargo run -p kube-testserver -- --port 6443 --kubeconfig /tmp/kubeconfig", GoesOn("6443")),
    ("cargo run -p operator", Elsewhere("needs a cluster: job operator-genuine")),
    ("cargo run -p operator -- --embedded", GoesOn("the page brief was reconciled, deleted, and cleaned up")),
    ("cargo run -p operator -- --embedded --once", Ends),
    ("cargo run -p operator -- --register", Elsewhere("needs a cluster: job operator-genuine")),
    ("cargo run -p conformance -- --by-feature", Ends),
    ("cargo run --release -p kube-client --example decode", Elsewhere("a measurement of minutes")),
    ("cargo run --release -p kube-runtime --example churn", Elsewhere("a measurement of minutes")),
    ("cargo run --release -p kube-testserver --example measure", Elsewhere("a measurement of minutes")),
];

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn commands(cx: &Context, args: &[String]) -> Result<()> {
    no_arguments(args)?;
    let printed = printed(cx)?;
    let known = |command: &str| COMMANDS.iter().find(|(known, _)| *known == command);
    let unknown: Vec<_> = printed.iter().filter(|command| known(command).is_none()).cloned().collect();
    ensure!(unknown.is_empty(), "say in xtask/src/commands.rs how these are run: {}", unknown.join(", "));
    let gone: Vec<_> =
        COMMANDS.iter().map(|(known, _)| *known).filter(|known| !printed.contains(*known)).collect();
    ensure!(gone.is_empty(), "no page has these any more: {}", gone.join(", "));
    for (command, run) in COMMANDS {
        match run {
            Elsewhere(why) => println!("not run: {command}: {why}"),
            Ends => cx
                .cargo(arguments(command))
                .env("KUBECONFIG", "/no/such/kubeconfig")
                .limit(LIMIT * 10)
                .run()?,
            GoesOn(text) => goes_on(cx, command, text)?,
        }
    }
    Ok(())
}

fn goes_on(cx: &Context, command: &str, text: &str) -> Result<()> {
    let folder = scratch()?;
    let log = folder.path().join("log");
    println!("$ {command}");
    let program = cx.cargo(arguments(command)).env("KUBECONFIG", "/no/such/kubeconfig").spawn(&log, &log)?;
    let read = || std::fs::read_to_string(&log).context("its output");
    let end = Instant::now() + LIMIT * 10;
    while !read()?.contains(text) {
        if program.has_ended() || Instant::now() > end {
            bail!("{command} did not print {text:?}: {}", read()?);
        }
        pause(Duration::from_millis(100))?;
    }
    ensure!(!program.has_ended(), "{command} has ended: {}", read()?);
    program.stop(LIMIT)?;
    Ok(())
}

fn arguments(command: &str) -> &str {
    command.trim_start_matches("cargo ")
}

/// The commands of all pages and of the first comments of all source files, without those that leave something to the reader, such as `FILE`.
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
    use super::in_text;

    #[test]
    fn commands_end_with_their_markup() {
        let text = "`cargo run --example quickstart` and\n    cargo run -p x -- --port 6443     # a comment\n$ cargo run\n`cargo run -p y -- FILE`";
        assert_eq!(
            in_text(text),
            ["cargo run --example quickstart", "cargo run -p x -- --port 6443", "cargo run"]
        );
    }
}
