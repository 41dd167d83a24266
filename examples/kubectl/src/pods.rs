//! `logs`, `exec`, `cp` and `port-forward`.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::pods::{CopyParams, ExecParams, ForwardPort, ForwardTarget, LogLinesParams};
use kube::{Api, ApiExt};

use crate::Cluster;

impl Cluster {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

#[derive(Args)]
pub(crate) struct Logs {
    #[arg(required_unless_present = "selector")]
    pod: Option<String>,
    /// Of all pods with these labels.
    #[arg(short = 'l', long)]
    selector: Option<String>,
    #[arg(short, long)]
    container: Option<String>,
    /// New lines, and new pods of the selector.
    #[arg(short, long)]
    follow: bool,
    /// Only so many lines from the end.
    #[arg(long)]
    tail: Option<i64>,
    /// Begins each line with its pod and container.
    #[arg(long)]
    prefix: bool,
}

impl Logs {
    pub(crate) async fn run(self, cluster: &Cluster) -> anyhow::Result<()> {
        if let Some(pod) = &self.pod {
            // An error if there is no such pod, where a selector of nothing prints nothing.
            cluster.pods().get_metadata(pod).await?;
        }
        let params = LogLinesParams {
            label_selector: self.selector,
            field_selector: self.pod.map(|pod| format!("metadata.name={pod}")),
            container: self.container,
            follow: self.follow,
            tail_lines: self.tail,
            ..LogLinesParams::default()
        };
        let mut lines = cluster.pods().log_lines(&params);
        while let Some(line) = lines.try_next().await? {
            let mut out = std::io::stdout();
            if self.prefix { writeln!(out, "{line}")? } else { writeln!(out, "{}", line.text)? }
        }
        Ok(())
    }
}

#[derive(Args)]
pub(crate) struct Exec {
    pod: String,
    #[arg(short, long)]
    container: Option<String>,
    /// Passes standard input on.
    #[arg(short = 'i', long)]
    stdin: bool,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

impl Exec {
    pub(crate) async fn run(self, cluster: &Cluster) -> anyhow::Result<ExitCode> {
        let mut params = ExecParams { container: self.container, ..ExecParams::default() };
        if self.stdin {
            params = params.stdin(std::io::read_to_string(std::io::stdin())?);
        }
        let output = cluster.pods().exec_output(&self.pod, self.command, &params).await?;
        std::io::stdout().write_all(&output.stdout)?;
        std::io::stderr().write_all(&output.stderr)?;
        if !output.status.success() {
            eprintln!("command terminated with {}", output.status);
        }
        Ok(ExitCode::from(u8::try_from(output.status.code()).unwrap_or(1)))
    }
}

/// One of the paths is local, the other one POD:PATH.
#[derive(Args)]
pub(crate) struct Cp {
    from: String,
    to: String,
    #[arg(short, long)]
    container: Option<String>,
}

impl Cp {
    pub(crate) async fn run(self, cluster: &Cluster) -> anyhow::Result<()> {
        let (pods, mut params) = (cluster.pods(), CopyParams::default());
        params.container = self.container;
        let copied = match (self.from.split_once(':'), self.to.split_once(':')) {
            (Some((pod, path)), None) => pods.copy_from(pod, path, &self.to, &params).await?,
            (None, Some((pod, path))) => pods.copy_to(pod, &self.from, path, &params).await?,
            _ => bail!("expected one local path and one POD:PATH"),
        };
        for skipped in copied.skipped {
            eprintln!("warning: {}: {}", skipped.path.display(), skipped.reason);
        }
        Ok(())
    }
}

#[derive(Args)]
pub(crate) struct PortForward {
    /// A pod, or TYPE/NAME of a service or a workload.
    target: ForwardTarget,
    /// LOCAL:REMOTE, or REMOTE alone.
    #[arg(required = true)]
    ports: Vec<ForwardPort>,
}

impl PortForward {
    pub(crate) async fn run(self, cluster: &Cluster) -> anyhow::Result<()> {
        let forwarder = cluster.pods().forward(&self.target, &self.ports).await?;
        for (local, port) in forwarder.local_addrs().iter().zip(&self.ports) {
            println!("Forwarding from {local} -> {}", port.remote);
        }
        let mut errors = forwarder.errors();
        loop {
            tokio::select! {
                error = errors.recv() => eprintln!("error: {}", error?),
                ended = tokio::signal::ctrl_c() => return Ok(ended?),
            }
        }
    }
}
