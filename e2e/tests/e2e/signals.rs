//! The end of a program that is told to end by signals: a process of its own, `src/bin/stoppable.rs`.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use futures::FutureExt as _;
use kube::api::PostParams;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run, unique};

/// How long a process may take for anything. Ending at once must not take that long, and waiting for ever takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process with a controller, in the middle of a reconcile.
struct Program {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// Of the embedded server.
    kubeconfig: Option<std::path::PathBuf>,
}

impl Program {
    async fn reconciling(world: &World) -> anyhow::Result<Self> {
        world.api::<Widget>().create(&PostParams::default(), &widget("slow", 1)).await?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_stoppable"));
        let kubeconfig = match &world.server {
            Some(server) => Some(written(&server.kubeconfig())?),
            None => None,
        };
        if let Some(file) = &kubeconfig {
            command.env("KUBECONFIG", file);
        }
        command.arg(&world.namespace).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("its input is a pipe")?;
        let output = BufReader::new(child.stdout.take().context("its output is a pipe")?).lines();
        let mut program = Self { child, input, output, kubeconfig };
        assert_eq!(program.says().await?.as_deref(), Some("reconciling slow"));
        Ok(program)
    }

    /// Its next line; `None` when it is gone.
    async fn says(&mut self) -> anyhow::Result<Option<String>> {
        Ok(timeout(PATIENCE, self.output.next_line()).await.context("it says nothing")??)
    }

    async fn is_sent(&self, signal: &str) -> anyhow::Result<()> {
        let id = self.child.id().context("it runs")?.to_string();
        let status = Command::new("kill").args(["-s", signal, &id]).status().await?;
        anyhow::ensure!(status.success(), "kill: {status}");
        Ok(())
    }

    /// It has ended well, and says nothing but this before.
    async fn ends_with(mut self, last: &[&str]) -> anyhow::Result<()> {
        let mut said = Vec::new();
        while let Some(line) = self.says().await? {
            said.push(line);
        }
        assert_eq!(said, last);
        let status = timeout(PATIENCE, self.child.wait()).await.context("it does not end")??;
        anyhow::ensure!(status.success(), "it ended with {status}");
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(file) = &self.kubeconfig {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn written(kubeconfig: &str) -> anyhow::Result<std::path::PathBuf> {
    let path = std::env::temp_dir().join(unique("stoppable"));
    let mut file = std::fs::File::create_new(&path)?;
    file.write_all(kubeconfig.as_bytes())?;
    Ok(path)
}

#[test]
fn one_signal_waits_for_the_reconcile_that_runs() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let mut program = Program::reconciling(world).await?;
            program.is_sent("TERM").await?;
            assert_eq!(program.says().await?.as_deref(), Some("asked to end"));
            sleep(Duration::from_millis(300)).await;
            assert!(program.child.try_wait()?.is_none(), "it waits");
            program.input.write_all(b"\n").await?;
            program.ends_with(&["reconciled slow", "ended"]).await
        }
        .boxed()
    })
}

#[test]
fn a_second_signal_waits_for_nothing() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            for (first, second) in [("TERM", "TERM"), ("TERM", "INT")] {
                let mut program = Program::reconciling(world).await?;
                program.is_sent(first).await?;
                assert_eq!(program.says().await?.as_deref(), Some("asked to end"));
                program.is_sent(second).await?;
                program.ends_with(&["ended"]).await?;
                world.api::<Widget>().delete("slow", &kube::api::DeleteParams::default()).await?;
            }
            Ok(())
        }
        .boxed()
    })
}
