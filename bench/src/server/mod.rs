//! A server that replays bytes it has made before, so that what is measured is the client.

mod answer;
mod collection;
mod pods;
mod socket;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::case::Objects;
use collection::Collection;

/// Serves until it is killed. Writes a kubeconfig that leads to it, then says `ready`.
pub(crate) fn serve(objects: &Objects, kubeconfig: &Path) -> anyhow::Result<()> {
    let collection = Arc::new(Collection::of(objects));
    // One thread: the other processor is the client's.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let socket = socket::Socket::bind().await?;
        std::fs::write(kubeconfig, socket.kubeconfig())?;
        println!("ready");
        std::io::stdout().flush()?;
        socket.serve(collection).await
    })
}
