//! Runs a genuine kubectl against the server of a scenario, to compare what it prints and does.

use std::io::Write as _;
use std::process::Stdio;

use anyhow::Context as _;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::test_env::TestEnv;

/// kubectl as the administrator of the server, in the namespace of the scenario.
pub struct Kubectl {
    program: String,
    namespace: String,
    /// That of the embedded server. A genuine one is named by `KUBECONFIG`.
    kubeconfig: Option<tempfile::NamedTempFile>,
}

impl Kubectl {
    /// `None` where `KUBE_E2E_KUBECTL` does not name the program. `cargo xtask e2e-genuine` sets it.
    pub fn open(env: &TestEnv) -> anyhow::Result<Option<Self>> {
        let Ok(program) = std::env::var("KUBE_E2E_KUBECTL") else { return Ok(None) };
        let kubeconfig = match &env.server {
            None => None,
            Some(server) => {
                let mut file = tempfile::NamedTempFile::new()?;
                file.write_all(server.kubeconfig().as_bytes())?;
                Some(file)
            }
        };
        Ok(Some(Self { program, namespace: env.namespace.clone(), kubeconfig }))
    }

    /// The same in another namespace.
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self }
    }

    /// What kubectl prints with these arguments and this input.
    pub async fn run(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let mut command = Command::new(&self.program);
        command.arg("--namespace").arg(&self.namespace).args(arguments);
        command.env("KUBECTL_APPLYSET", "true");
        if let Some(file) = &self.kubeconfig {
            command.env("KUBECONFIG", file.path());
        }
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.kill_on_drop(true).spawn().with_context(|| self.program.clone())?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        let errors = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "kubectl {}: {errors}", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    }
}
