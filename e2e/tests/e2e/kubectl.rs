//! kubectl beside our calls, for scenarios that compare both: the program in `KUBE_E2E_KUBECTL`.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::test_env::TestEnv;

/// Runs kubectl in the namespace of a scenario.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
    /// Whether the kubeconfig was written for this.
    temporary: bool,
}

/// What a run has printed, trimmed, and whether it succeeded.
#[derive(Debug)]
pub struct Printed {
    pub success: bool,
    pub text: String,
}

/// Whether a scenario with kubectl can run.
pub fn is_given() -> bool {
    std::env::var_os("KUBE_E2E_KUBECTL").is_some()
}

impl Kubectl {
    pub fn new(env: &TestEnv) -> anyhow::Result<Self> {
        let program = std::env::var_os("KUBE_E2E_KUBECTL").context("KUBE_E2E_KUBECTL is not set")?.into();
        let (kubeconfig, temporary) = match &env.server {
            Some(server) => {
                let path = std::env::temp_dir().join(format!("{}.kubeconfig", env.namespace));
                std::fs::write(&path, server.kubeconfig())?;
                (path, true)
            }
            None => (std::env::var_os("KUBECONFIG").context("KUBECONFIG is not set")?.into(), false),
        };
        Ok(Self { program, kubeconfig, namespace: env.namespace.clone(), temporary })
    }

    /// Runs it with these arguments and this input.
    pub async fn run(&self, args: &[&str], input: &str) -> anyhow::Result<Printed> {
        let mut child = Command::new(&self.program)
            .args([
                "--kubeconfig".as_ref(),
                self.kubeconfig.as_os_str(),
                "-n".as_ref(),
                self.namespace.as_ref(),
            ])
            .args(args)
            .env("KUBECTL_APPLYSET", "true")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().context("stdin is piped")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        let output = child.wait_with_output().await?;
        let text = [output.stdout, output.stderr].concat();
        Ok(Printed {
            success: output.status.success(),
            text: String::from_utf8_lossy(&text).trim().to_owned(),
        })
    }
}

impl Drop for Kubectl {
    fn drop(&mut self) {
        if self.temporary {
            drop(std::fs::remove_file(&self.kubeconfig));
        }
    }
}
