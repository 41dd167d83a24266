//! A genuine API server on loopback, by the script `realapi` of the project's shared folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// What `realapi` calls the cluster: Kubernetes 1.37, TLS and RBAC.
const CLUSTER: &str = "v1.37";

/// A fresh cluster, which ends when this is dropped.
pub(crate) struct Cluster {
    kubeconfig: PathBuf,
}

/// Fails if there is no program that starts the server.
pub(crate) fn check() -> anyhow::Result<()> {
    let program = realapi();
    ensure!(
        program.is_file(),
        "this needs the script `realapi`, which starts a genuine kube-apiserver {CLUSTER} on loopback, and there is no {}. \
         It is part of the project's shared folder, beside the repository; the variable REALAPI names another place. \
         REALAPI_PORT and REALAPI_HOME keep its server apart from others.",
        program.display()
    );
    Ok(())
}

impl Cluster {
    /// Starts it with flags of `realapi up`.
    pub(crate) fn up(flags: &[&str]) -> anyhow::Result<Self> {
        check()?;
        eprintln!("starting kube-apiserver {CLUSTER}");
        let output = Command::new(realapi()).args(["up", CLUSTER]).args(flags).output();
        let output = output.with_context(|| realapi().display().to_string())?;
        let message = String::from_utf8_lossy(&output.stderr);
        // A server that was up before has another owner.
        ensure!(!message.contains("already up"), "{}", message.trim());
        // From here on the server is ended, also when this function fails.
        let cluster = Self { kubeconfig: String::from_utf8(output.stdout)?.trim().into() };
        ensure!(output.status.success(), "`realapi up {CLUSTER}` failed: {}", message.trim());
        Ok(cluster)
    }

    /// Starts the API server of a cluster that is up with `--bare` again, with the same storage. Returns when it is ready.
    pub(crate) fn bounce(&self) -> anyhow::Result<()> {
        // A flag of `--bare`, which `realapi bounce` does not remember.
        let flags = ["--disable-admission-plugins=ServiceAccount"];
        let output = Command::new(realapi()).args(["bounce", CLUSTER]).args(flags).output();
        let output = output.with_context(|| realapi().display().to_string())?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`realapi bounce {CLUSTER}` failed: {}", message.trim());
        Ok(())
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let down = Command::new(realapi()).args(["down", CLUSTER]).output();
        if !down.is_ok_and(|output| output.status.success()) {
            eprintln!("`{} down {CLUSTER}` failed: the server may still run", realapi().display());
        }
    }
}

/// `REALAPI`, or the place beside the repository.
fn realapi() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/realapi/realapi");
    std::env::var_os("REALAPI").map_or_else(beside, PathBuf::from)
}
