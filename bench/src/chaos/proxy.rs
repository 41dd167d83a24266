//! A TCP proxy whose connections can be frozen: they stay open, and nothing passes any more, as after a lost route.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub(super) struct Proxy {
    pub(super) port: u16,
    /// Counts the freezes.
    freezes: watch::Sender<u64>,
}

impl Proxy {
    /// Forwards connections to `server` as long as `runtime` runs.
    pub(super) fn start(runtime: &Runtime, server: SocketAddr) -> anyhow::Result<Self> {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let freezes = watch::Sender::new(0);
        let frozen = freezes.clone();
        runtime.spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward(near, server, frozen.subscribe()));
            }
        });
        Ok(Self { port, freezes })
    }

    /// Freezes all connections. Later ones work.
    pub(super) fn freeze(&self) {
        self.freezes.send_modify(|count| *count += 1);
    }
}

async fn forward(mut near: TcpStream, server: SocketAddr, mut freezes: watch::Receiver<u64>) {
    let Ok(mut far) = TcpStream::connect(server).await else { return };
    tokio::select! {
        _ended = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = freezes.changed() => std::future::pending().await, // both sockets stay open
    }
}
