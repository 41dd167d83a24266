//! The smallest programs that do the measured work: hyper, rustls and serde_json on one thread, without a client, a cache or checks.
//! What a library takes beyond them is its own cost.
//!
//! `connection` carries requests, `collection` reads lists and watches, of whole or `pruned` Pods; `reads`, `reflector` and `dispatch` do
//! what is measured.

mod collection;
mod connection;
mod dispatch;
mod pruned;
mod reads;
mod reflector;

use std::path::Path;

use k8s_openapi::api::core::v1::Pod;

use crate::case::Floor;
use crate::measure::Metrics;
use connection::ServerAddress;
use pruned::PrunedPod;

pub(crate) fn measure(kubeconfig: &Path, count: usize, floor: Floor) -> anyhow::Result<Metrics> {
    // One thread: nothing is handed over.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let server = ServerAddress::read(kubeconfig)?;
        let mut connection = server.connect(floor.protocol()).await?;
        match floor {
            Floor::List => reads::list(&mut connection, count).await,
            Floor::Watch { pruned: false } => reads::watch::<Pod>(&mut connection, count).await,
            Floor::Watch { pruned: true } => reads::watch::<PrunedPod>(&mut connection, count).await,
            Floor::Fill { streaming } => {
                let mut another = server.connect(floor.protocol()).await?;
                reflector::measure([&mut connection, &mut another], count, streaming).await
            }
            Floor::Dispatch { work_ms } => dispatch::measure(count, work_ms).await,
            Floor::Keep => reads::keep(&mut connection, count).await,
            Floor::Get { requests, .. } => reads::get(&mut connection, requests).await,
        }
    })
}
