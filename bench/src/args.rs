//! The command line.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::case::{Case, Kind, Objects, Table};

pub(crate) const HELP: &str = "\
Measures this workspace and kube 5.0.0 and prints a Markdown table of medians and ratios. The libraries alternate; each measurement is a
separate process.

usage: bench [TABLE...] [--rounds N] [--objects N]

tables (default: all)
  get        requests at 1, 16, 64 and 256 in flight, the baseline over one HTTP/2 connection and with default settings
  list       decoding a list of Pods of 7.7 KB: time and peak RSS
  watch      decoding a watch of Pods of 7.7 KB
  reflector  filling a store with Pods of 7.7 KB, by LIST and by a streaming list, and the relist after a 410
  dispatch   reconciling every ConfigMap once, with 0, 10 and 1000 ms of work

  --rounds N   rounds per table, each library once per round; default 5
  --objects N  number of objects for list, watch, reflector and dispatch; default 20000
";

pub(crate) enum Command {
    Help,
    Run(Options),
    /// Internal: runs the server.
    Serve {
        objects: Objects,
        kubeconfig: PathBuf,
    },
    /// Internal: runs one measurement.
    Measure {
        library: Library,
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
pub(crate) enum Library {
    /// This workspace.
    Workspace,
    /// kube 5.0.0.
    Baseline,
}

impl Library {
    pub(crate) const BOTH: [Self; 2] = [Self::Workspace, Self::Baseline];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Baseline => "baseline",
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
    let library = args.next().unwrap_or_default();
    let library = Library::BOTH
        .into_iter()
        .find(|known| known.name() == library)
        .context("measure: expected workspace or baseline")?;
    let case = Case::parse(&args.next().unwrap_or_default())?;
    let kubeconfig = args.next().context("measure: expected a kubeconfig")?.into();
    Ok(Command::Measure { library, case, kubeconfig })
}
