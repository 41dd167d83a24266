//! kubectl beside our calls, for scenarios that compare both: the program in `KUBE_E2E_KUBECTL`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use anyhow::Context as _;
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::test_env::TestEnv;

/// Runs kubectl in the namespace of a scenario.
pub struct Kubectl {
    program: PathBuf,
    namespace: String,
    /// That of the embedded server. A genuine one is named by `KUBECONFIG`.
    kubeconfig: Option<NamedTempFile>,
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
        let kubeconfig = match &env.server {
            None => None,
            Some(server) => {
                let mut file = NamedTempFile::new()?;
                file.write_all(server.kubeconfig().as_bytes())?;
                Some(file)
            }
        };
        Ok(Self { program, namespace: env.namespace.clone(), kubeconfig })
    }

    /// What it prints with these arguments and this input, if it succeeds.
    pub async fn stdout(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        let Output { status, stdout, stderr } = self.output(args, input).await?;
        anyhow::ensure!(status.success(), "kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&stderr));
        Ok(String::from_utf8(stdout)?)
    }

    /// Runs it with these arguments and this input.
    pub async fn run(&self, args: &[&str], input: &str) -> anyhow::Result<Printed> {
        let Output { status, stdout, stderr } = self.output(args, input).await?;
        let text = String::from_utf8_lossy(&[stdout, stderr].concat()).trim().to_owned();
        Ok(Printed { success: status.success(), text })
    }

    async fn output(&self, args: &[&str], input: &str) -> anyhow::Result<Output> {
        let mut command = Command::new(&self.program);
        command.arg("--namespace").arg(&self.namespace).args(args).env("KUBECTL_APPLYSET", "true");
        if let Some(file) = &self.kubeconfig {
            command.env("KUBECONFIG", file.path());
        }
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.kill_on_drop(true).spawn()?;
        let mut stdin = child.stdin.take().context("stdin is piped")?;
        stdin.write_all(input.as_bytes()).await?;
        drop(stdin);
        Ok(child.wait_with_output().await?)
    }
}
