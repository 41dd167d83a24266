//! The API server that fails: killed, suspended, restarted. Its storage goes on.

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use crate::realapi::Cluster;

pub(super) struct Server<'a>(pub(super) &'a Cluster);

/// What happens to the server.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// It ends as on an update, and starts again.
    Restart,
    /// It is killed, and started after this time.
    Outage(Duration),
    /// It is suspended for this time: connections stay open, and nothing answers.
    Hang(Duration),
}

impl Server<'_> {
    /// Returns when the server is ready again.
    pub(super) fn suffer(&self, fault: Fault) -> anyhow::Result<Instant> {
        match fault {
            Fault::Restart => self.0.bounce()?,
            Fault::Outage(length) => {
                self.signal(Signal::KILL)?;
                sleep(length);
                self.0.bounce()?;
            }
            Fault::Hang(length) => {
                self.signal(Signal::STOP)?;
                sleep(length);
                self.signal(Signal::CONT)?;
            }
        }
        Ok(Instant::now())
    }

    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let file: PathBuf = self.0.kubeconfig().with_file_name("server.pid");
        let pid = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let pid = Pid::from_raw(pid.trim().parse()?).context("the server has no process id")?;
        kill_process(pid, signal).context("cannot signal the server")
    }
}
