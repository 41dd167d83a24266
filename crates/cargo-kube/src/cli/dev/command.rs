//! The subcommand: its arguments, and the parts of a session.

use std::ffi::OsString;
use std::net::IpAddr;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;

use super::cluster::Cluster;
use super::say::say;
use super::session::Session;
use super::sources::Sources;
use crate::cli::program::ProgramArgs;
use crate::cli::runtime::Signals;

/// Runs the operator on an embedded server, and restarts it when its sources change
#[derive(Debug, Args)]
#[command(after_help = "\
The server gets the CRDs, webhooks, roles and samples that `PROGRAM manifests` writes; the operator runs beside
it with the arguments and the environment of its Deployment, as its ServiceAccount, with the permissions of its
roles. A build that fails leaves the old operator. Ctrl-C or SIGTERM ends both, a second one without waiting.
With --cluster the cluster gets the CRDs and roles, and keeps them; webhooks only with --reach. At the end what
leads to this machine is removed, and what was there before is put back, with the owners of its fields.
Exit codes: 0 ended by the user; 2 wrong input, or a server that does not start.")]
pub(crate) struct Dev {
    #[command(flatten)]
    program: ProgramArgs,

    /// Use the cluster of the current kubeconfig, not an embedded server
    #[arg(long)]
    cluster: bool,

    /// The context of the kubeconfig for --cluster
    #[arg(long, requires = "cluster", value_name = "NAME")]
    context: Option<String>,

    /// The IP address of this machine at which API servers call the webhooks
    #[arg(long, requires = "cluster", value_name = "ADDRESS")]
    reach: Option<IpAddr>,

    /// What programs of `new` call their own server
    #[arg(long, hide = true)]
    embedded: bool,

    /// Further arguments of the operator
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl Dev {
    pub(crate) fn run(self) -> Result<ExitCode> {
        self.refuse_two_servers()?;
        let program = self.program.find()?;
        std::fs::create_dir_all(&program.target)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            // Before anything starts, so that no signal and no change is missed.
            let signals = Signals::new()?;
            let sources = Sources::watch(&program)?;
            let cluster = match self.cluster {
                true => Cluster::current(self.context.as_deref(), self.reach).await?,
                false => {
                    let file = format!("{}.kubeconfig", program.name);
                    Cluster::start(&program.target.join(file)).await?
                }
            };
            cluster.introduction().iter().for_each(|line| say(line));
            let session = Session {
                program: &program,
                arguments: &self.arguments,
                cluster: &cluster,
                sources,
                signals,
            };
            let result = session.run().await;
            cluster.stop().await?;
            result.map(|()| ExitCode::SUCCESS)
        })
    }

    /// With `--embedded` an operator of `cargo kube new` works on a server of its own, and not on that of the session.
    fn refuse_two_servers(&self) -> Result<()> {
        ensure!(
            !self.embedded,
            "--embedded: `cargo kube dev` starts an embedded server already, unless --cluster is there: leave --embedded out"
        );
        ensure!(
            !self.arguments.iter().any(|argument| argument == "--embedded"),
            "-- --embedded: the operator would start a second server and work there, not on that of `cargo kube dev`: leave it out"
        );
        Ok(())
    }
}
