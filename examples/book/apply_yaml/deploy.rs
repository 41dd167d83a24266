//! Applies a directory as a set: what is no longer in it is deleted.

// ANCHOR: all
use futures::StreamExt;
use kube::Client;
use kube::api::PatchParams;
use kube::apply_set::ApplySet;
use kube::yaml::{Applier, Objects, Report};
use std::time::Duration;

/// Applies a directory, waits until everything in it is ready, and deletes what was in it before and is no longer.
pub async fn deploy(client: Client, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let set = ApplySet::secret("default", "shop");
    let applier = Applier::new(client).wait_ready(Duration::from_secs(300)).prune(set);
    let run = applier.apply(&Objects::read(path)?, &PatchParams::apply("deploy"));
    let report: Report = run.inspect(|step| println!("{step}")).collect().await;
    report.into_result()?;
    Ok(())
}
// ANCHOR_END: all
