//! Applies what a directory has.

// ANCHOR: all
use kube::Client;
use kube::api::PatchParams;
use kube::yaml::{Applier, Objects};

pub async fn apply(client: Client, path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let objects = Objects::read(path)?;
    let report = Applier::new(client).apply(&objects, &PatchParams::apply("my-script")).await;
    print!("{report}");
    report.into_result()?;
    Ok(())
}
// ANCHOR_END: all
