//! A controller process (`src/bin/controller_process.rs`) that receives SIGTERM and SIGINT.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use futures::FutureExt as _;
use kube::api::PostParams;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::test_env::{Requires, TestEnv, run, unique};
use crate::widget::{Widget, widget};

/// Longer than an immediate exit takes; a process that waits for ever exceeds it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A controller process with a running reconcile.
struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The kubeconfig file of the embedded server.
    kubeconfig: Option<std::path::PathBuf>,
}

impl Process {
    async fn reconciling(env: &TestEnv) -> anyhow::Result<Self> {
        env.api::<Widget>().create(&PostParams::default(), &widget("slow", 1)).await?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_controller_process"));
        let kubeconfig = match &env.server {
            Some(server) => Some(write_kubeconfig(&server.kubeconfig())?),
            None => None,
        };
        if let Some(file) = &kubeconfig {
            command.env("KUBECONFIG", file);
        }
        command.arg(&env.namespace).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("stdin is a pipe")?;
        let output = BufReader::new(child.stdout.take().context("stdout is a pipe")?).lines();
        let mut process = Self { child, input, output, kubeconfig };
        assert_eq!(process.next_line().await?.as_deref(), Some("reconciling slow"));
        Ok(process)
    }

    /// The next line of its output; `None` at the end.
    async fn next_line(&mut self) -> anyhow::Result<Option<String>> {
        Ok(timeout(TIMEOUT, self.output.next_line()).await.context("the process prints nothing")??)
    }

    async fn send_signal(&self, signal: &str) -> anyhow::Result<()> {
        let id = self.child.id().context("the process runs")?.to_string();
        let status = Command::new("kill").args(["-s", signal, &id]).status().await?;
        anyhow::ensure!(status.success(), "kill: {status}");
        Ok(())
    }

    /// Waits until the process exits successfully and checks the rest of its output.
    async fn expect_exit_after(mut self, expected: &[&str]) -> anyhow::Result<()> {
        let mut lines = Vec::new();
        while let Some(line) = self.next_line().await? {
            lines.push(line);
        }
        assert_eq!(lines, expected);
        let status = timeout(TIMEOUT, self.child.wait()).await.context("the process does not exit")??;
        anyhow::ensure!(status.success(), "the process exited with {status}");
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(file) = &self.kubeconfig {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn write_kubeconfig(kubeconfig: &str) -> anyhow::Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(unique("controller-process"));
    let mut file = std::fs::File::create_new(&path)?;
    file.write_all(kubeconfig.as_bytes())?;
    Ok(path)
}

#[test]
fn the_first_signal_waits_for_the_running_reconcile() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let mut process = Process::reconciling(env).await?;
            process.send_signal("TERM").await?;
            assert_eq!(process.next_line().await?.as_deref(), Some("received SIGTERM"));
            sleep(Duration::from_millis(300)).await;
            assert!(process.child.try_wait()?.is_none(), "the process waits for the reconcile");
            process.input.write_all(b"\n").await?;
            process.expect_exit_after(&["reconciled slow", "stopped"]).await
        }
        .boxed()
    })
}

#[test]
fn a_second_signal_stops_immediately() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            for (first, second) in [("TERM", "TERM"), ("TERM", "INT")] {
                let mut process = Process::reconciling(env).await?;
                process.send_signal(first).await?;
                assert_eq!(process.next_line().await?.as_deref(), Some("received SIGTERM"));
                process.send_signal(second).await?;
                process.expect_exit_after(&["stopped"]).await?;
                env.api::<Widget>().delete("slow", &kube::api::DeleteParams::default()).await?;
            }
            Ok(())
        }
        .boxed()
    })
}
