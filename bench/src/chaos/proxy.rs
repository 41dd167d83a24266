//! A TCP proxy that counts what the server sends, and whose connections can be frozen: they stay open, and nothing passes any more, as
//! after a lost route.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::watch;

pub(super) struct Proxy {
    pub(super) port: u16,
    /// Counts the freezes.
    freezes: watch::Sender<u64>,
    received: Arc<AtomicU64>,
}

impl Proxy {
    /// Forwards connections to `server` as long as `runtime` runs.
    pub(super) fn start(runtime: &Runtime, server: SocketAddr) -> anyhow::Result<Self> {
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let port = listener.local_addr()?.port();
        let freezes = watch::Sender::new(0);
        let (frozen, received) = (freezes.clone(), Arc::<AtomicU64>::default());
        let counter = Arc::clone(&received);
        runtime.spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward(near, server, frozen.subscribe(), Arc::clone(&counter)));
            }
        });
        Ok(Self { port, freezes, received })
    }

    /// How many bytes the server has sent.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Freezes all connections. Later ones work.
    pub(super) fn freeze(&self) {
        self.freezes.send_modify(|count| *count += 1);
    }
}

async fn forward(
    near: TcpStream,
    server: SocketAddr,
    mut freezes: watch::Receiver<u64>,
    counter: Arc<AtomicU64>,
) {
    let Ok(far) = TcpStream::connect(server).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (near.into_split(), far.into_split());
    let sent = AtomicU64::default(); // not told
    tokio::select! {
        () = copy(from_client, to_server, &sent) => {}
        () = copy(from_server, to_client, &counter) => {}
        _ = freezes.changed() => std::future::pending::<()>().await, // both sockets stay open
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, counter: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        counter.fetch_add(length as u64, Ordering::Relaxed);
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
