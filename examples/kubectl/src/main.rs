//! A small kubectl, made of what `kube` has for programs that talk to clusters: tables, YAML, pods, waiting.
//!
//! The job `kubectl-example` compares it with kubectl. Each group of commands is a file.

// `resources` finds the objects that arguments name. Commands: `get` and `describe` show them, `apply` writes and deletes, `rollout` waits,
// `pods` is about running ones.

mod apply;
mod describe;
mod get;
mod pods;
mod resources;
mod rollout;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kube::config::KubeConfigOptions;
use kube::discovery::RestMapper;
use kube::{Client, Config};

#[derive(Parser)]
#[command(name = "kubectl-example", about = "A small kubectl", max_term_width = 100)]
struct Cli {
    /// The namespace; by default that of the context.
    #[arg(short, long, global = true)]
    namespace: Option<String>,
    /// The context of the kubeconfig.
    #[arg(long, global = true)]
    context: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows objects as a table, as JSON or by name.
    Get(get::Get),
    /// Shows every field of objects, and their events.
    Describe(describe::Describe),
    /// Applies YAML by server-side apply.
    Apply(apply::Apply),
    /// Deletes the objects of YAML, or named ones.
    Delete(apply::Delete),
    /// Prints the logs of a pod, or of all pods of a selector.
    Logs(pods::Logs),
    /// Runs a command in a container.
    Exec(pods::Exec),
    /// Copies files to or from a container.
    Cp(pods::Cp),
    /// Forwards local ports to a pod, a service or a workload.
    PortForward(pods::PortForward),
    /// Restarts a workload, or shows its rollout until it is done.
    #[command(subcommand)]
    Rollout(rollout::Rollout),
    /// Waits until a condition holds.
    Wait(rollout::Wait),
}

/// The cluster that a command talks to.
struct Cluster {
    client: Client,
    namespace: String,
    mapper: RestMapper,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let options = KubeConfigOptions { context: cli.context, ..KubeConfigOptions::default() };
    let config = Config::from_kubeconfig(&options).await?;
    let namespace = cli.namespace.unwrap_or_else(|| config.default_namespace.clone());
    let client = Client::try_from(config)?;
    let cluster = Cluster { mapper: RestMapper::new(client.clone()), client, namespace };
    match cli.command {
        Command::Get(get) => get.run(&cluster).await?,
        Command::Describe(describe) => describe.run(&cluster).await?,
        Command::Apply(apply) => return apply.run(&cluster).await,
        Command::Delete(delete) => return delete.run(&cluster).await,
        Command::Logs(logs) => logs.run(&cluster).await?,
        Command::Exec(exec) => return exec.run(&cluster).await,
        Command::Cp(cp) => cp.run(&cluster).await?,
        Command::PortForward(forward) => forward.run(&cluster).await?,
        Command::Rollout(rollout) => rollout.run(&cluster).await?,
        Command::Wait(wait) => wait.run(&cluster).await?,
    }
    Ok(ExitCode::SUCCESS)
}
