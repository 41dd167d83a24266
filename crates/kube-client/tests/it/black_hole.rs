//! A network that drops all packets: every call and watch fails within a minute, and quiet streams stay open.
//!
//! The connections are real. Once the network drops everything only timers remain, and paused time advances to the next one.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::net::SocketAddr;
use std::time::Duration;

use futures::{AsyncReadExt, StreamExt};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{ListParams, WatchEvent, WatchParams};
use kube_client::{Api, Client, Error};
use kube_testserver::TestServer;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::server::{config_of, create};
use crate::transport::chain;

/// A proxy that can stop forwarding while its connections stay open. The kernel still acknowledges data, so only HTTP can detect it.
pub(crate) struct BlackHole {
    address: SocketAddr,
    dropping: watch::Sender<bool>,
}

impl BlackHole {
    pub(crate) async fn in_front_of(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (dropping, dropped) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let dropped = dropped.clone();
                tokio::spawn(async move {
                    let far = TcpStream::connect(target).await.unwrap();
                    let (near_reader, near_writer) = near.into_split();
                    let (far_reader, far_writer) = far.into_split();
                    let there = forward(near_reader, far_writer, dropped.clone());
                    let back = forward(far_reader, near_writer, dropped);
                    tokio::join!(there, back)
                });
            }
        });
        Self { address, dropping }
    }

    /// Stops forwarding, in both directions.
    pub(crate) fn drop_packets(&self) {
        self.dropping.send_replace(true);
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut dropped: watch::Receiver<bool>,
) {
    let copying = async {
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
    };
    tokio::select! {
        () = copying => return,
        _ = dropped.wait_for(|dropping| *dropping) => {}
    }
    // Both ends stay open.
    std::future::pending::<()>().await;
}

/// A server behind a black hole, and a client with an open connection: HTTP/2 over TLS, or HTTP/1.1.
async fn connected(tls: bool) -> (Client, BlackHole, TestServer) {
    let builder = if tls { TestServer::builder().tls() } else { TestServer::builder() };
    let server = builder.start().await.unwrap();
    let black_hole = BlackHole::in_front_of(server.addr()).await;
    let mut config = config_of(&server);
    let scheme = if tls { "https" } else { "http" };
    config.cluster_url = format!("{scheme}://{}", black_hole.address()).parse().unwrap();
    let client = Client::try_from(config).unwrap();
    create(&client, "a").await.unwrap();
    (client, black_hole, server)
}

/// How many seconds of paused time a call takes.
pub(crate) async fn timed<F: Future>(call: F) -> (F::Output, u64) {
    tokio::time::pause();
    let started = Instant::now();
    let limit = Duration::from_secs(7 * 3600);
    let output = tokio::time::timeout(limit, call).await.expect("the call completes in time");
    let took = started.elapsed().as_secs();
    tokio::time::resume();
    (output, took)
}

const MINUTE: u64 = 60;

#[tokio::test]
async fn calls_over_either_protocol_fail_within_a_minute() {
    for tls in [true, false] {
        let (client, black_hole, _server) = connected(tls).await;
        let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
        black_hole.drop_packets();
        let (got, took) = timed(api.get("a")).await;
        assert!(took <= MINUTE, "tls {tls}: {took} s");
        assert!(matches!(got, Err(Error::Service(_) | Error::HyperError(_))), "{got:?}");
        // The next call opens a connection, which is not answered either.
        let (listed, took) = timed(api.list(&ListParams::default())).await;
        assert!(listed.is_err() && took <= MINUTE, "tls {tls}: {took} s");
        let (written, took) = timed(create(&client, "b")).await;
        assert!(written.is_err() && took <= MINUTE, "tls {tls}: {took} s");
    }
}

#[tokio::test]
async fn watches_over_either_protocol_end_within_a_minute() {
    for tls in [true, false] {
        let (client, black_hole, _server) = connected(tls).await;
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let params = WatchParams::default().timeout(290);
        let mut events = Box::pin(api.watch(&params, "0").await.unwrap());
        // The connection works.
        assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
        black_hole.drop_packets();
        let (rest, took) = timed(events.collect::<Vec<_>>()).await;
        assert!(took <= MINUTE, "tls {tls}: {took} s");
        let Some(Err(err)) = rest.last() else { panic!("{rest:?}") };
        let Error::ReadEvents(cause) = err else { panic!("{err:?}") };
        assert_eq!(cause.kind(), std::io::ErrorKind::TimedOut);
        // HTTP/2 pings show that the connection is dead.
        assert_eq!(err.is_idle_watch(), !tls, "{}", chain(err));
        let (started, took) = timed(api.watch(&params, "0")).await;
        assert!(started.is_err() && took <= MINUTE, "tls {tls}: {took} s");
    }
}

#[tokio::test]
async fn a_followed_stream_fails_within_a_minute_over_http2() {
    let (client, black_hole, _server) = connected(true).await;
    // Any endless response behaves like a log.
    let request = Request::get("/api/v1/configmaps?watch=true&follow=true").body(Vec::new()).unwrap();
    let mut reader = Box::pin(client.request_stream(request).await.unwrap());
    let mut buffer = [0; 1 << 16];
    assert!(reader.read(&mut buffer).await.unwrap() > 0);
    black_hole.drop_packets();
    let (read, took) = timed(async {
        while reader.read(&mut buffer).await? > 0 {}
        Ok::<_, std::io::Error>(())
    })
    .await;
    assert!(read.is_err() && took <= MINUTE, "{read:?} after {took} s");
}

/// A client of a server that sends `response` on the first connection, which may be incomplete, and keeps the connection open. On further
/// connections it sends `others`, or nothing.
async fn stopping_after(response: &'static str, others: Option<&'static str>) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        let mut next = Some(response);
        while let Ok((mut socket, _)) = listener.accept().await {
            let Some(response) = std::mem::replace(&mut next, others) else {
                held.push(socket);
                continue;
            };
            let _ = tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 4096]).await.unwrap();
            socket.write_all(response.as_bytes()).await.unwrap();
            held.push(socket);
        }
    });
    Client::try_from(kube_client::Config::new(url.parse().unwrap())).unwrap()
}

#[tokio::test]
async fn a_stalled_response_body_fails_within_a_minute() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"kind\":\"List\",";
    let api: Api<ConfigMap> = Api::default_namespaced(stopping_after(half, None).await);
    // Connecting needs real time.
    let params = ListParams::default();
    let mut listing = Box::pin(api.list(&params));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut listing).await.is_err());
    let (listed, took) = timed(listing).await;
    let err = listed.unwrap_err();
    assert!(chain(&err).contains("the server sent nothing more for 55s"), "{}", chain(&err));
    assert!(took <= MINUTE, "{took} s");
}

/// A followed log over HTTP/1.1 that is quiet after its first line. `newer` is the response to the probe for newer lines.
async fn quiet_log(newer: Option<&'static str>) -> impl futures::AsyncBufRead + Unpin {
    let client = stopping_after("HTTP/1.1 200 OK\r\n\r\nstarted\n", newer).await;
    let request = Request::get("/api/v1/namespaces/ns/pods/a/log?follow=true").body(Vec::new()).unwrap();
    let mut reader = Box::pin(client.request_stream(request).await.unwrap());
    reader.read_exact(&mut [0; 8]).await.unwrap();
    reader
}

#[tokio::test]
async fn a_quiet_log_stays_open_while_the_server_has_no_newer_lines() {
    // Probes need real time.
    let mut reader = quiet_log(Some("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")).await;
    for _ in 0..3 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(42)).await;
        tokio::time::resume();
        let read = tokio::time::timeout(Duration::from_millis(300), reader.read(&mut [0])).await;
        assert!(read.is_err(), "{read:?}");
    }
}

#[tokio::test]
async fn a_quiet_log_fails_within_a_minute_if_the_probe_fails_or_has_newer_lines() {
    for newer in [None, Some("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")] {
        let mut reader = quiet_log(newer).await;
        let (read, took) = timed(reader.read(&mut [0])).await;
        let err = read.unwrap_err();
        assert!(took <= MINUTE, "{took} s");
        assert!(chain(&err).contains("the server sent nothing for 55s"), "{}", chain(&err));
    }
}
