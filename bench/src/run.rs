//! Runs servers and measurements as child processes, in alternating rounds.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use crate::args::{Library, Options};
use crate::case::{Case, Kind, Objects};
use crate::measure::Metrics;
use crate::report;

/// Runs the tables and prints the rows of each case when it is done.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    println!("{}", report::HEADER);
    for table in &options.tables {
        let server = Server::start(table.objects(options.objects))?;
        for case in table.cases(options.objects) {
            let (mut workspace, mut baseline) = (Vec::new(), Vec::new());
            for round in 0..options.rounds {
                // Alternate the order: the second measurement may profit from warm caches.
                let mut order = Library::BOTH;
                if round % 2 == 1 {
                    order.reverse();
                }
                for library in order {
                    let metrics = measure(library, case, server.kubeconfig.path())?;
                    match library {
                        Library::Workspace => workspace.push(metrics),
                        Library::Baseline => baseline.push(metrics),
                    }
                }
            }
            print!("{}", report::rows(case, &workspace, &baseline)?);
        }
    }
    Ok(())
}

/// Runs one measurement in a separate process, so that memory and CPU time belong to one library.
fn measure(library: Library, case: Case, kubeconfig: &Path) -> anyhow::Result<Metrics> {
    let output = Command::new(std::env::current_exe()?)
        .args(["measure", library.name(), &case.to_arg()])
        .arg(kubeconfig)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "measuring {} for {} failed", case.to_arg(), library.name());
    serde_json::from_slice(&output.stdout).with_context(|| format!("metrics of {}", case.to_arg()))
}

struct Server {
    process: Child,
    kubeconfig: tempfile::NamedTempFile,
}

impl Server {
    fn start(objects: Objects) -> anyhow::Result<Self> {
        let kubeconfig = tempfile::NamedTempFile::new()?;
        let kind = match objects.kind {
            Kind::Pods => "pods",
            Kind::ConfigMaps => "configmaps",
        };
        let mut process = Command::new(std::env::current_exe()?)
            .args(["serve", kind, &objects.count.to_string()])
            .arg(kubeconfig.path())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take().context("the server has no output")?;
        let server = Self { process, kubeconfig };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        ensure!(line.trim() == "ready", "the server did not start");
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Errors mean that the server has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
