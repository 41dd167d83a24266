//! The command line.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::case::{Case, Kind, Objects, Table};

pub(crate) const HELP: &str = "\
Measures this workspace and kube 5.0.0 side by side and prints a Markdown table: medians of alternating rounds, each in a process
of its own, and ratios.

usage: bench [TABLE...] [--rounds N] [--objects N]

tables (default: all)
  get        requests at 1, 16 and 64 in flight, over one connection and as each side does by default
  list       decoding a list of Pods of 7.7 KB: time and peak memory
  watch      decoding a watch of Pods of 7.7 KB
  reflector  filling a cache of Pods of 7.7 KB, and listing again after the history was lost
  dispatch   reconciling every ConfigMap once, with 0, 10 and 1000 ms of work

  --rounds N   rounds per table, each side once per round; default 5
  --objects N  objects of list, watch, reflector and dispatch; default 20000
";

pub(crate) enum Command {
    Help,
    Run(Options),
    /// Internal: the server that both sides talk to.
    Serve {
        objects: Objects,
        kubeconfig: PathBuf,
    },
    /// Internal: one measurement.
    Measure {
        side: Side,
        case: Case,
        kubeconfig: PathBuf,
    },
}

pub(crate) struct Options {
    pub(crate) tables: Vec<Table>,
    pub(crate) rounds: usize,
    pub(crate) objects: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Peer,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Ours, Self::Peer];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Peer => "peer",
        }
    }
}

pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let mut options = Options { tables: Vec::new(), rounds: 5, objects: 20_000 };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--rounds" => options.rounds = number(&arg, args.next())?,
            "--objects" => options.objects = number(&arg, args.next())?,
            "serve" => return serve(args),
            "measure" => return measure(args),
            table => options.tables.push(
                Table::ALL.into_iter().find(|known| known.name() == table).with_context(|| {
                    format!("unknown table {table:?}: expected one of get, list, watch, reflector, dispatch (see --help)")
                })?,
            ),
        }
    }
    if options.tables.is_empty() {
        options.tables = Table::ALL.to_vec();
    }
    Ok(Command::Run(options))
}

fn number(flag: &str, value: Option<String>) -> anyhow::Result<usize> {
    let value = value.with_context(|| format!("{flag} needs a number"))?;
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => bail!("{flag}: expected a positive number, got {value:?}"),
    }
}

fn serve(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let kind = match args.next().as_deref() {
        Some("pods") => Kind::Pods,
        Some("configmaps") => Kind::ConfigMaps,
        other => bail!("serve: expected pods or configmaps, got {other:?}"),
    };
    let count = number("serve", args.next())?;
    let kubeconfig = args.next().context("serve: expected a file for the kubeconfig")?.into();
    Ok(Command::Serve { objects: Objects { kind, count }, kubeconfig })
}

fn measure(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let side = args.next().unwrap_or_default();
    let side = Side::BOTH
        .into_iter()
        .find(|known| known.name() == side)
        .context("measure: expected ours or peer")?;
    let case = Case::parse(&args.next().unwrap_or_default())?;
    let kubeconfig = args.next().context("measure: expected a kubeconfig")?.into();
    Ok(Command::Measure { side, case, kubeconfig })
}
