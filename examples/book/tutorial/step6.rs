//! Step 6 of the tutorial: the operator, ready for two replicas.

#![allow(unreachable_pub)] // in a program, `pub` marks what its other files use

// ANCHOR: all
mod controller;
mod page;
mod register;

use controller::{controller, reconcile};
use kube::{Client, operator::manager::Manager};
use std::{env, net::SocketAddr, sync::Arc};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_default().await?;
    if env::args().nth(1).as_deref() == Some("register") {
        return register::register(client).await;
    }
    let address: SocketAddr = env::var("HTTP_ADDRESS").unwrap_or("0.0.0.0:8080".into()).parse()?;
    let namespace = client.default_namespace().to_owned();
    Manager::new(client.clone())
        .leader_election("pages", namespace)
        .serve_metrics(address) // /metrics, /livez, /readyz, /debug/controllers
        .controller("pages", controller(&client), reconcile, Arc::new(client))
        .run_until_signal()
        .await?;
    Ok(())
}
// ANCHOR_END: all
