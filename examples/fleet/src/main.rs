//! Runs in the current cluster, which is the hub. Its members are the Secrets of the namespace `fleet` that have a kubeconfig.
//!
//! ```text
//! cargo run -p fleet -- crd  # prints the CRD, for kubectl apply on the hub
//! cargo run -p fleet         # runs until a signal
//! ```

use fleet::{Notice, manager};
use kube::{Client, CustomResourceExt, operator::clusters::SecretClusters};
use std::io::Write as _;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crd") {
        writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&Notice::crd())?)?;
        return Ok(());
    }
    tracing_subscriber::fmt().init();
    let hub = Client::try_default().await?;
    let members = SecretClusters::new(hub.clone()).namespace("fleet");
    manager(hub).clusters(members).serve_metrics(([0, 0, 0, 0], 8080)).run_until_signal().await?;
    Ok(())
}
