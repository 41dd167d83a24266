//! A proxy whose connections can be cut, as when an API server is restarted.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use kube_client::Client;
use kube_testserver::TestServer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::server::config_of;

/// Cuts the connections of a client.
pub(crate) struct Cutter(watch::Sender<u32>);

impl Cutter {
    /// A client of the server, and the cutter of its connections.
    pub(crate) async fn between(server: &TestServer) -> (Client, Self) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, target) = (listener.local_addr().unwrap(), server.addr());
        let (cut, cuts) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut cuts = cuts.clone();
                cuts.mark_unchanged();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(target).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = cuts.changed() => {}
                    }
                });
            }
        });
        let mut config = config_of(server);
        let scheme = config.cluster_url.scheme_str().unwrap().to_owned();
        config.cluster_url = format!("{scheme}://{address}").parse().unwrap();
        (Client::try_from(config).unwrap(), Self(cut))
    }

    /// Cuts all open connections. New ones are accepted.
    pub(crate) fn cut(&self) {
        self.0.send_modify(|count| *count += 1);
    }
}
