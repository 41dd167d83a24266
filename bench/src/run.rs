//! Servers and measurements as child processes, in alternating rounds.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use crate::args::{Options, Side};
use crate::case::{Case, Kind, Objects};
use crate::measure::Figures;
use crate::report;

/// Runs the tables and prints each as soon as it is there.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    println!("{}", report::HEADER);
    for table in &options.tables {
        let server = Server::start(table.objects(options.objects))?;
        for case in table.cases(options.objects) {
            let (mut ours, mut peer) = (Vec::new(), Vec::new());
            for round in 0..options.rounds {
                // Whoever comes second may find the machine warmer, so they take turns at it.
                let sides = if round % 2 == 0 { [Side::Ours, Side::Peer] } else { [Side::Peer, Side::Ours] };
                for side in sides {
                    let figures = measure(side, case, server.kubeconfig.path())?;
                    match side {
                        Side::Ours => ours.push(figures),
                        Side::Peer => peer.push(figures),
                    }
                }
            }
            print!("{}", report::rows(case, &ours, &peer)?);
        }
    }
    Ok(())
}

/// Each measurement is a process of its own, so that memory is that side's alone.
fn measure(side: Side, case: Case, kubeconfig: &Path) -> anyhow::Result<Figures> {
    let output = Command::new(std::env::current_exe()?)
        .args(["measure", side.name(), &case.to_arg()])
        .arg(kubeconfig)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "measuring {} for {} failed", case.to_arg(), side.name());
    serde_json::from_slice(&output.stdout).with_context(|| format!("figures of {}", case.to_arg()))
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
        // It may have ended by itself, and then there is nothing left to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
