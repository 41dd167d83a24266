//! Unresponsive servers. Real sockets do not work with paused time, so the timeouts are short.

use std::time::{Duration, Instant};

use kube_client::{Client, Config, Error};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::server::create;
use crate::transport::chain;

/// Accepts connections and reads, but never sends.
async fn silent_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 1024];
                while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
            });
        }
    });
    address.to_string()
}

#[tokio::test]
async fn a_stalled_tls_handshake_is_a_connect_timeout() {
    let mut config = Config::new(format!("https://{}", silent_server().await).parse().unwrap());
    config.accept_invalid_certs = true;
    config.connect_timeout = Some(Duration::from_millis(200));
    let started = Instant::now();
    let err = create(&Client::try_from(config).unwrap(), "a").await.unwrap_err();
    assert!(chain(&err).contains("took longer than 200ms"), "{}", chain(&err));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_configured_read_timeout_applies() {
    let mut config = Config::new(format!("http://{}", silent_server().await).parse().unwrap());
    config.read_timeout = Some(Duration::from_millis(200));
    let err = create(&Client::try_from(config).unwrap(), "a").await.unwrap_err();
    assert!(matches!(err, Error::Service(_)), "{err:?}");
    assert!(chain(&err).contains("reading made no progress for 200ms"), "{}", chain(&err));
}
