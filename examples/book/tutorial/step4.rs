//! Step 4 of the tutorial: the program around the controller with status and clean-up.

#![allow(unreachable_pub)] // in a program, `pub` marks what its other files use

// ANCHOR: all
mod controller;
mod page;

use futures::StreamExt;
use kube::runtime::controller::Action;
use kube::{Client, error::ErrorChain};
use std::sync::Arc;

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let client = Client::try_default().await?;
    controller::controller(&client)
        .shutdown_on_signal()
        .run(controller::reconcile, |_, _, _| Action::retry(), Arc::new(client))
        .for_each(async |outcome| {
            if let Err(error) = outcome {
                eprintln!("{}", ErrorChain(&error));
            }
        })
        .await;
    Ok(())
}
// ANCHOR_END: all
