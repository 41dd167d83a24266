//! A server that sends prepared bytes, so that it costs little compared to the client.

mod collection;
mod pods;
mod response;
mod socket;
mod watches;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::case::Objects;
use collection::Collection;
pub(crate) use collection::typed_config_map;

/// Writes a kubeconfig for the server, prints `ready` and serves until the process is killed.
pub(crate) fn serve(objects: &Objects, kubeconfig: &Path) -> anyhow::Result<()> {
    let collection = Arc::new(Collection::of(objects));
    // One thread, to leave the other CPUs to the client.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let socket = socket::Socket::bind(objects.tls).await?;
        std::fs::write(kubeconfig, socket.kubeconfig())?;
        println!("ready");
        std::io::stdout().flush()?;
        socket.serve(collection).await
    })
}
