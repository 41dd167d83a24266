//! The job `chaos`: controllers of this workspace, of kube 5.0.0 and of Go's controller-runtime beside each other on a genuine API server
//! that fails.

use anyhow::Result;

use crate::context::Context;
use crate::genuine;

/// Prints a table: the time until everything is reconciled after restarts, outages, hangs and frozen connections.
pub(crate) fn chaos(cx: &Context, args: &[String]) -> Result<()> {
    genuine::program(cx)?;
    cx.cargo("run --quiet --release --manifest-path bench/Cargo.toml -- chaos").args(args).run()
}
