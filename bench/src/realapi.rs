//! A genuine API server on loopback, from `../shared/realapi`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// A fresh cluster of Kubernetes 1.37. It ends with this value.
pub(crate) struct Cluster {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Cluster {
    pub(crate) fn up(flags: &[&str]) -> anyhow::Result<Self> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/realapi/realapi");
        ensure!(program.exists(), "{} is missing: it starts the genuine API server", program.display());
        let output =
            Command::new(&program).args(["up", "v1.37"]).args(flags).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "{} up v1.37 failed", program.display());
        let text = String::from_utf8(output.stdout)?;
        let kubeconfig = text.lines().last().context("realapi printed no kubeconfig")?.trim().into();
        Ok(Self { program, kubeconfig })
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Best effort: the next `up` starts from nothing.
        let _ = Command::new(&self.program).args(["down", "v1.37"]).stdout(Stdio::null()).status();
    }
}
