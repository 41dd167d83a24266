//! The command line.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use crate::case::{Case, Objects, Table};

pub(crate) const HELP: &str = "\
Measures this workspace and kube 5.0.0 and prints Markdown tables of medians and ratios. The libraries alternate; each measurement is a
separate process.

usage: bench [TABLE...] [--rounds N] [--objects N[,N...]] [--plots DIR] [--update FILE]

tables (default: all but genuine)
  get        requests at 1, 16, 64 and 256 in flight, the baseline over one HTTP/2 connection and with default settings
  list       decoding a list of Pods of 7.7 KB: time and peak RSS
  watch      decoding a watch of Pods of 7.7 KB
  reflector  filling a store with Pods of 7.7 KB, by LIST and by a streaming list, and the relist after a 410
  compact    the same with a compact cache, against the ordinary one of kube 5.0.0, and reads of cold objects
  relist     the relist of a controller of Pods in which no object has changed
  dispatch   reconciling every object once, with 0, 10 and 1000 ms of work: keys from a filled store, and ConfigMaps from the first request on
  growth     a controller and compact caches at 1000, 10000, 100000 and 1000000 objects
  busy       some of these while other processes use half of each CPU
  jemalloc   some of these with jemalloc instead of the allocator of the platform; needs libjemalloc.so.2
  floor      the smallest programs that do the work of lists, watches, reflectors and requests, without a library
  plain      lists, watches, reflectors and requests without TLS, over HTTP/1.1
  build      building a controller from nothing; needs a registry
  genuine    requests, a list and a watch of ConfigMaps on a genuine kube-apiserver 1.37, which `realapi` starts

other measurements (alone on the command line)
  hello      the hello operator beside kube 5.0.0 and Go's controller-runtime, on a genuine API server (see hello/README.md)
  clusters   one operator for 100 clusters, beside kube 5.0.0 and Go's multicluster-runtime (see clusters/README.md)
  chaos      those of hello while that server is restarted, killed, suspended or cut off: the time until everything is reconciled
             again; `chaos --outages N[,N...]` for outages of so many seconds; default 10,20,45,90
  apply      a Deployment, a Service and an autoscaler written with `apply!`, `json!` and full types: time, size, compile time
  verify     every plan of `cargo kube verify` for the quickstart and the example operator: CPU time of all and of one plan

  --rounds N        rounds per table, each library once per round; default 5; kube 5.0.0 with 1000000 objects: 1
  --objects N[,N]   numbers of objects for all tables except get; default 20000, relist 4000, growth: see above
  --plots DIR       writes plots of the growth table to DIR as growth-*.svg
  --update FILE     replaces the tables in FILE, between the marks `<!-- bench TABLE ...` and `<!-- end of bench TABLE -->`
";

pub(crate) enum Command {
    Help,
    Run(Options),
    /// The hello operator.
    Hello {
        rounds: usize,
    },
    /// One operator for many clusters.
    Clusters {
        rounds: usize,
    },
    /// The hello operator while the server fails.
    Chaos {
        /// Seconds.
        outages: Vec<usize>,
    },
    /// Objects to apply: by macro, as JSON, as full types.
    Apply,
    /// Every plan of verifications.
    Verify,
    /// Internal: keeps the CPUs busy.
    Load,
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

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) tables: Vec<Table>,
    pub(crate) rounds: usize,
    /// In ascending order. Empty: those of each table.
    pub(crate) objects: Vec<usize>,
    pub(crate) plots: Option<PathBuf>,
    pub(crate) update: Option<PathBuf>,
}

impl Options {
    /// The numbers of objects for `table`.
    pub(crate) fn counts(&self, table: Table) -> &[usize] {
        match self.objects.as_slice() {
            [] => table.default_counts(),
            // The number of objects of `get` is fixed.
            counts if table == Table::Get => &counts[..1],
            counts => counts,
        }
    }

    pub(crate) fn rounds(&self, table: Table, count: usize) -> Rounds {
        Rounds { workspace: self.rounds, baseline: self.rounds.min(table.most_baseline_rounds(count)) }
    }
}

/// How often each library is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rounds {
    pub(crate) workspace: usize,
    /// At most as many.
    pub(crate) baseline: usize,
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
    let mut options =
        Options { tables: Vec::new(), rounds: 5, objects: Vec::new(), plots: None, update: None };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => return Ok(Command::Help),
            "--rounds" => options.rounds = number(&arg, &value(&arg, args.next(), "a number")?)?,
            "--objects" => options.objects = numbers(&arg, &value(&arg, args.next(), "a number")?)?,
            "--plots" => options.plots = Some(value(&arg, args.next(), "a folder")?.into()),
            "--update" => options.update = Some(value(&arg, args.next(), "a file")?.into()),
            "hello" => return Ok(Command::Hello { rounds: rounds("hello", args)? }),
            "clusters" => return Ok(Command::Clusters { rounds: rounds("clusters", args)? }),
            "chaos" => return chaos(args),
            "apply" => return alone("apply", args, Command::Apply),
            "verify" => return alone("verify", args, Command::Verify),
            "load" => return Ok(Command::Load),
            "serve" => return serve(args),
            "measure" => return measure(args),
            name => options.tables.push(table(name)?),
        }
    }
    if options.tables.is_empty() {
        options.tables = Table::ALL.to_vec();
    }
    Ok(Command::Run(options))
}

fn table(name: &str) -> anyhow::Result<Table> {
    let mut known = Table::ALL.into_iter().chain([Table::Genuine]);
    known.find(|known| known.name() == name).with_context(|| {
        let names = Table::ALL.map(Table::name).join(", ");
        format!("unknown table {name:?}: expected one of {names}, genuine (see --help)")
    })
}

fn value(flag: &str, value: Option<String>, expected: &str) -> anyhow::Result<String> {
    value.with_context(|| format!("{flag} needs {expected}"))
}

fn number(flag: &str, value: &str) -> anyhow::Result<usize> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => bail!("{flag}: expected a positive number, got {value:?}"),
    }
}

fn numbers(flag: &str, value: &str) -> anyhow::Result<Vec<usize>> {
    let mut numbers = value.split(',').map(|part| number(flag, part)).collect::<anyhow::Result<Vec<_>>>()?;
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn rounds(table: &str, mut args: impl Iterator<Item = String>) -> anyhow::Result<usize> {
    match args.next().as_deref() {
        None => Ok(5),
        Some(flag @ "--rounds") => number(flag, &value(flag, args.next(), "a number")?),
        Some(other) => bail!("{table}: expected --rounds N or nothing, got {other:?}"),
    }
}

fn chaos(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let outages = match args.next().as_deref() {
        None => vec![10, 20, 45, 90],
        Some(flag @ "--outages") => numbers(flag, &value(flag, args.next(), "seconds")?)?,
        Some(other) => bail!("chaos: expected --outages N[,N...] or nothing, got {other:?}"),
    };
    Ok(Command::Chaos { outages })
}

fn alone(name: &str, mut args: impl Iterator<Item = String>, command: Command) -> anyhow::Result<Command> {
    match args.next() {
        None => Ok(command),
        Some(other) => bail!("{name}: expected nothing more, got {other:?}"),
    }
}

fn serve(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let objects = json("serve", "the objects", args.next())?;
    let kubeconfig = args.next().context("serve: expected a file for the kubeconfig")?.into();
    Ok(Command::Serve { objects, kubeconfig })
}

fn measure(mut args: impl Iterator<Item = String>) -> anyhow::Result<Command> {
    let library = args.next().unwrap_or_default();
    let library = Library::BOTH
        .into_iter()
        .find(|known| known.name() == library)
        .context("measure: expected workspace or baseline")?;
    let case = json("measure", "a case", args.next())?;
    let kubeconfig = args.next().context("measure: expected a kubeconfig")?.into();
    Ok(Command::Measure { library, case, kubeconfig })
}

fn json<T: DeserializeOwned>(command: &str, expected: &str, value: Option<String>) -> anyhow::Result<T> {
    let value = value.unwrap_or_default();
    serde_json::from_str(&value)
        .with_context(|| format!("{command}: expected {expected} as JSON, got {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(args: &[&str]) -> anyhow::Result<Options> {
        match parse(args.iter().map(|arg| (*arg).to_owned()))? {
            Command::Run(options) => Ok(options),
            _ => bail!("another command"),
        }
    }

    #[test]
    fn numbers_of_objects_are_sorted_and_different() {
        let options = run(&["growth", "--objects", "10000,1000,10000"]).unwrap();
        assert_eq!((options.tables, options.objects), (vec![Table::Growth], vec![1000, 10_000]));
        assert_eq!(run(&[]).unwrap().objects, Vec::<usize>::new());
        assert_eq!(run(&[]).unwrap().tables, Table::ALL);
        assert_eq!(run(&["genuine"]).unwrap().tables, [Table::Genuine]);
    }

    #[test]
    fn rounds_are_fewer_where_each_takes_long() {
        let rounds = |args: &[&str]| {
            let options = run(args).unwrap();
            [(Table::List, 20_000), (Table::Growth, 1_000_000)].map(|(table, count)| {
                let Rounds { workspace, baseline } = options.rounds(table, count);
                (workspace, baseline)
            })
        };
        assert_eq!(rounds(&[]), [(5, 5), (5, 1)]);
        assert_eq!(rounds(&["--rounds", "2"]), [(2, 2), (2, 1)]);
    }

    #[test]
    fn errors_name_what_was_expected() {
        for (args, error) in [
            (&["--objects", "10,x"][..], "--objects: expected a positive number, got \"x\""),
            (&["--rounds", "0"], "--rounds: expected a positive number, got \"0\""),
            (&["--plots"], "--plots needs a folder"),
            (&["grow"], "unknown table \"grow\": expected one of get, list, watch, reflector, compact"),
        ] {
            let found = run(args).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
