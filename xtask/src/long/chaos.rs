//! The job `chaos`: controllers of this workspace, of kube 5.0.0 and of Go's controller-runtime beside each other on a genuine API server
//! that fails, and an operator for three genuine servers of which one is away.

use anyhow::Result;

use crate::context::{Context, scratch};
use crate::genuine::{self, FleetServer};

/// Prints a table: the time until everything is reconciled after restarts, outages, hangs and frozen connections. Then, or with `fleet`
/// only: how long changes on two servers take while a third one is suspended.
pub(crate) fn chaos(cx: &Context, args: &[String]) -> Result<()> {
    genuine::program(cx)?;
    let is_fleet = args.iter().any(|arg| arg == "fleet");
    if !is_fleet {
        cx.cargo("run --quiet --release --manifest-path bench/Cargo.toml -- chaos").args(args).run()?;
    }
    if is_fleet || args.is_empty() { fleet(cx) } else { Ok(()) }
}

fn fleet(cx: &Context) -> Result<()> {
    let folder = scratch()?;
    let servers = FleetServer::up_many(cx, folder.path(), 3)?;
    let suite = cx.cargo(&format!("test {} --test e2e -- --nocapture fleet_outage::genuine", cx.workspace()));
    suite.env("KUBE_E2E_FLEET", FleetServer::kubeconfigs(&servers)).run()
}
