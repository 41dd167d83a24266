//! Benchmarks of this workspace against kube 5.0.0 (the baseline): the same program compiled against both libraries. See results/README.md.

// - What runs: `args` is the command line, `case` has the tables and their cases; `run` starts servers and measurements as processes.
// - Servers: `server` sends prepared bytes, `genuine` and `started` are others, the former by the script of `realapi`.
// - The measured program: `workload`, compiled as `workspace` and as `baseline`; `floor` is the smallest program with its effect.
// - Tables of their own: `hello` (an operator), `clusters` (one for many clusters), `apply` (writing an object), `build_cost` (compiling),
//   `verify` (verifications of operators), `chaos` (faults), `growth` (more objects; `plots` draws it).
// - Figures: `measure` reads CPU time and memory, `allocator` changes the allocator, `load` keeps the CPUs busy; `results` collects,
//   `report` makes tables, `update` writes them into a file.

mod allocator;
mod apply;
mod args;
mod baseline;
mod build_cost;
mod case;
mod chaos;
mod clusters;
mod floor;
mod genuine;
mod growth;
mod hello;
mod load;
mod measure;
mod plots;
mod realapi;
mod report;
mod results;
mod run;
mod server;
mod started;
mod update;
mod verify;
mod workspace;

use args::{Command, Library};
use case::Case;

fn main() -> anyhow::Result<()> {
    if let Some(times) = std::env::var_os(build_cost::RUSTC_TIMES) {
        return build_cost::run_rustc(times.as_ref());
    }
    match args::parse(std::env::args().skip(1))? {
        Command::Help => print!("{}", args::HELP),
        Command::Run(options) => run::run(&options)?,
        Command::Hello { rounds } => hello::run(rounds)?,
        Command::Clusters { rounds } => clusters::run(rounds)?,
        Command::Chaos { outages } => chaos::run(&outages)?,
        Command::Apply => apply::run()?,
        Command::Verify => verify::run()?,
        Command::Load => load::run(),
        Command::Serve { objects, kubeconfig } => server::serve(&objects, &kubeconfig)?,
        Command::Measure { library, case, kubeconfig } => {
            allocator::check_preloaded()?;
            let metrics = match (case, library) {
                (Case::Floor { count, floor }, _) => floor::measure(&kubeconfig, count, floor)?,
                (_, Library::Workspace) => workspace::workload::measure(case, &kubeconfig)?,
                (_, Library::Baseline) => baseline::workload::measure(case, &kubeconfig)?,
            };
            println!("{}", serde_json::to_string(&metrics)?);
        }
    }
    Ok(())
}
