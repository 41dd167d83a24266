//! Connections that are closed or reset during a watch, over HTTP/1.1 and HTTP/2.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{WatchEvent, WatchParams};
use kube_client::{Api, Client, Config, Error};
use kube_testserver::TestServer;
use socket2::SockRef;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::server::{config_of, create};

/// How the connection is ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    NotYet,
    /// As if the server's process was killed.
    Closed,
    /// As if the server's machine restarted, or a middlebox dropped the connection.
    Reset,
}

/// A proxy that forwards connections until they are cut.
async fn cutting_proxy(target: SocketAddr) -> (SocketAddr, watch::Sender<Cut>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (cut, cuts) = watch::channel(Cut::NotYet);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut cuts = cuts.clone();
            tokio::spawn(async move {
                let mut far = TcpStream::connect(target).await.unwrap();
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                    cut = cuts.wait_for(|cut| *cut != Cut::NotYet) => if *cut.unwrap() == Cut::Reset {
                        SockRef::from(&near).set_linger(Some(Duration::ZERO)).unwrap();
                    }
                }
            });
        }
    });
    (address, cut)
}

/// Whether the request was processed is not known, which matters for a write.
#[tokio::test]
async fn when_its_connection_breaks_a_read_is_repeated_once_and_a_write_never() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config::new(format!("http://{}", listener.local_addr().unwrap()).parse().unwrap());
    assert!(config.default_retry);
    let client = Client::try_from(config).unwrap();
    for (method, attempts) in [("GET", 2), ("POST", 1)] {
        let client = client.clone();
        let request = Request::builder().method(method).uri("/api").body(Vec::new()).unwrap();
        let sent = tokio::spawn(async move { client.request_text(request).await });
        for _ in 0..attempts {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
        }
        assert!(sent.await.unwrap().is_err());
        let again = tokio::time::timeout(Duration::from_millis(200), listener.accept()).await;
        assert!(again.is_err(), "{method} was sent again");
    }
}

#[tokio::test]
async fn a_closed_connection_ends_a_watch_and_a_reset_connection_is_an_error() {
    for (tls, how) in [(true, Cut::Closed), (false, Cut::Closed), (true, Cut::Reset), (false, Cut::Reset)] {
        let server = if tls { TestServer::builder().tls() } else { TestServer::builder() };
        let server = server.start().await.unwrap();
        let (address, cut) = cutting_proxy(server.addr()).await;
        let mut config = config_of(&server);
        let scheme = if tls { "https" } else { "http" };
        config.cluster_url = format!("{scheme}://{address}").parse().unwrap();
        let client = Client::try_from(config).unwrap();
        create(&client, "a").await.unwrap();
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let params = WatchParams::default().disable_bookmarks();
        let mut events = Box::pin(api.watch(&params, "0").await.unwrap());
        assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
        cut.send_replace(how);
        let next = tokio::time::timeout(Duration::from_secs(20), events.next()).await.unwrap();
        match (how, next) {
            (Cut::Closed, None) => {}
            (Cut::Reset, Some(Err(err))) => {
                let Error::ReadEvents(cause) = &err else { panic!("{err:?}") };
                assert_eq!(cause.kind(), io::ErrorKind::ConnectionReset, "tls {tls}: {err:?}");
                assert!(!err.is_idle_watch());
            }
            (_, next) => panic!("tls {tls}, {how:?}: {next:?}"),
        }
    }
}
