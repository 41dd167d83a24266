//! Ours and kube 5.0.0 side by side: the same program compiled against both, in one run. See docs/benchmarks.md.

mod args;
mod case;
mod measure;
mod ours;
mod report;
mod run;
mod server;
mod theirs;

use args::{Command, Side};

fn main() -> anyhow::Result<()> {
    match args::parse(std::env::args().skip(1))? {
        Command::Help => print!("{}", args::HELP),
        Command::Run(options) => run::run(&options)?,
        Command::Serve { objects, kubeconfig } => server::serve(&objects, &kubeconfig)?,
        Command::Measure { side, case, kubeconfig } => {
            let figures = match side {
                Side::Ours => ours::side::measure(case, &kubeconfig)?,
                Side::Peer => theirs::side::measure(case, &kubeconfig)?,
            };
            println!("{}", serde_json::to_string(&figures)?);
        }
    }
    Ok(())
}
