//! The server that a table measures against, as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};

use crate::case::Objects;

/// A server that ends when this is dropped.
pub(crate) trait Server {
    fn kubeconfig(&self) -> &Path;
}

/// The server of this program.
pub(crate) struct OwnServer {
    process: Child,
    kubeconfig: tempfile::NamedTempFile,
}

impl OwnServer {
    pub(crate) fn start(objects: Objects) -> anyhow::Result<Self> {
        let kubeconfig = tempfile::NamedTempFile::new()?;
        let mut process = Command::new(std::env::current_exe()?)
            .args(["serve", &serde_json::to_string(&objects)?])
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

impl Server for OwnServer {
    fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Errors mean that the server has already exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
