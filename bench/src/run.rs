//! Runs servers and measurements as child processes, in alternating rounds.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use k8s_openapi::jiff::Zoned;

use crate::args::{Library, Options, Rounds};
use crate::case::{Case, Table};
use crate::load::Load;
use crate::measure::{Metrics, available_memory};
use crate::results::Measured;
use crate::started::{OwnServer, Server};
use crate::{allocator, build_cost, genuine, growth, plots, realapi, report, update};

/// Runs the tables. Prints the rows of each case when it is done, and writes plots and tables when a table is done.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    check(options)?;
    for table in &options.tables {
        println!("{}", report::header(*table).trim_end());
        let measured = measure_table(*table, options)?;
        if *table == Table::Growth {
            print!("{}", report::growth_rows(&growth::growth(&measured)));
            if let Some(folder) = &options.plots {
                plots::write(folder, &measured)?;
            }
        }
        if let Some(page) = &options.update {
            write_table(page, *table, &measured, options)?;
        }
        println!();
    }
    Ok(())
}

/// Finds errors that would otherwise be found after the measurements.
fn check(options: &Options) -> anyhow::Result<()> {
    if options.tables.contains(&Table::Jemalloc) {
        allocator::jemalloc()?;
    }
    if options.tables.contains(&Table::Genuine) {
        realapi::check()?;
    }
    let growth = options.tables.contains(&Table::Growth);
    ensure!(growth || options.plots.is_none(), "--plots: expected the table growth, which has the plots");
    let Some(page) = &options.update else { return Ok(()) };
    ensure!(
        !growth || options.plots.is_some(),
        "--update: expected --plots too, because the table growth shows them"
    );
    let text = read(page)?;
    options.tables.iter().try_for_each(|table| update::with_table(&text, *table, "").map(drop))
}

fn measure_table(table: Table, options: &Options) -> anyhow::Result<Vec<Measured>> {
    let mut all = Vec::new();
    let _load = (table == Table::Busy).then(Load::start).transpose()?;
    let groups =
        |count: &usize| table.groups(*count).into_iter().map(|group| (*count, group)).collect::<Vec<_>>();
    for (count, group) in options.counts(table).iter().flat_map(groups) {
        let rounds = options.rounds(table, count);
        let server: Box<dyn Server> = match table {
            Table::Genuine => Box::new(genuine::GenuineServer::start(count, group.objects.count)?),
            _ => Box::new(OwnServer::start(group.objects)?),
        };
        for case in group.cases {
            let is_floor = matches!(case, Case::Floor { .. });
            let baseline = if table != Table::Growth {
                Baseline::Required
            } else if is_floor {
                Baseline::Omitted
            } else if growth::fits(case, &all, available_memory()?)? {
                Baseline::Optional
            } else {
                Baseline::Omitted
            };
            let measured = measure_case(table, case, rounds, baseline, server.kubeconfig())?;
            print!("{}", report::rows(&measured));
            all.push(measured);
        }
    }
    Ok(all)
}

/// Whether kube 5.0.0 is measured too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Baseline {
    Required,
    /// A failure is printed, and the case has no results of kube 5.0.0: with very many objects it may exceed the time limit.
    Optional,
    Omitted,
}

fn measure_case(
    table: Table,
    case: Case,
    rounds: Rounds,
    mut baseline: Baseline,
    kubeconfig: &Path,
) -> anyhow::Result<Measured> {
    let mut measured = Measured { table, case, workspace: Vec::new(), baseline: Vec::new() };
    for round in 0..rounds.workspace {
        // Alternate the order: the second measurement may profit from warm caches.
        let mut order = Library::BOTH;
        if round % 2 == 1 {
            order.reverse();
        }
        for library in order {
            match library {
                Library::Workspace => {
                    let metrics = measure(table, library, case, kubeconfig)?;
                    ensure!(growth::is_complete(case, &metrics), "measuring {} failed", case.title());
                    measured.workspace.push(metrics);
                }
                Library::Baseline if baseline == Baseline::Omitted || round >= rounds.baseline => {}
                Library::Baseline => match measure(table, library, case, kubeconfig) {
                    Ok(metrics) => {
                        if !growth::is_complete(case, &metrics) {
                            baseline = Baseline::Omitted; // from the other rounds
                        }
                        measured.baseline.push(metrics);
                    }
                    Err(error) if baseline == Baseline::Optional => {
                        eprintln!("{error:#}");
                        measured.baseline.clear();
                        baseline = Baseline::Omitted;
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }
    Ok(measured)
}

/// Runs one measurement in a separate process, so that memory and CPU time belong to one library.
fn measure(table: Table, library: Library, case: Case, kubeconfig: &Path) -> anyhow::Result<Metrics> {
    let case = match (case, library) {
        (Case::Build, _) => return build_cost::measure(library),
        (Case::Floor { count, floor }, Library::Baseline) => floor.of_library(count),
        _ => case,
    };
    let arg = serde_json::to_string(&case)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["measure", library.name(), &arg]).arg(kubeconfig).stderr(Stdio::inherit());
    if table == Table::Jemalloc {
        command.env("LD_PRELOAD", allocator::jemalloc()?);
    }
    let output = command.output()?;
    ensure!(output.status.success(), "measuring {arg} for {} failed", library.name());
    serde_json::from_slice(&output.stdout).with_context(|| format!("metrics of {arg}"))
}

/// Replaces a table in a Markdown file.
fn write_table(page: &Path, table: Table, measured: &[Measured], options: &Options) -> anyhow::Result<()> {
    let tables = match (table, &options.plots) {
        (Table::Growth, Some(plots)) => report::growth_sections(measured, &update::link(page, plots)?),
        _ => measured.iter().fold(report::header(table), |text, case| text + &report::rows(case)),
    };
    let text = format!("{}\n\n{tables}", circumstances(table, options)?);
    std::fs::write(page, update::with_table(&read(page)?, table, &text)?)
        .with_context(|| page.display().to_string())
}

/// When and where the measurements were made.
fn circumstances(table: Table, options: &Options) -> anyhow::Result<String> {
    let cpus = std::thread::available_parallelism()?;
    let info = read(Path::new("/proc/cpuinfo"))?;
    let model = info.lines().find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown CPU", |model| model.trim_start_matches([' ', '\t', ':']));
    let text = |rounds| match rounds {
        1 => "one round".to_owned(),
        rounds => format!("medians of {rounds} rounds"),
    };
    let counts = options.counts(table);
    let others = counts.iter().filter_map(|count| {
        let Rounds { workspace, baseline } = options.rounds(table, *count);
        let of_baseline = || format!(", {} of kube 5.0.0 with {count} objects", text(baseline));
        (baseline != workspace).then(of_baseline)
    });
    let rounds = text(options.rounds(table, counts[0]).workspace) + &others.collect::<String>();
    let build = if cfg!(debug_assertions) { ", without optimization" } else { "" };
    Ok(format!("{}, {cpus} CPUs ({model}), {rounds}{build}.", Zoned::now().strftime("%B %Y")))
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
