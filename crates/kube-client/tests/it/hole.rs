//! A network that swallows packets: everything errors within a minute, and nothing that may be quiet is disturbed.
//!
//! The connections are real. Once everything is swallowed nothing moves but time, and that is paused: it jumps to the next timer.
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

/// A proxy that can stop forwarding while it keeps all connections open. The kernel goes on to acknowledge what arrives, so that
/// nothing below HTTP notices.
pub(crate) struct Hole {
    address: SocketAddr,
    swallowing: watch::Sender<bool>,
}

impl Hole {
    pub(crate) async fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (swallowing, swallowed) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let swallowed = swallowed.clone();
                tokio::spawn(async move {
                    let far = TcpStream::connect(target).await.unwrap();
                    let (near_reader, near_writer) = near.into_split();
                    let (far_reader, far_writer) = far.into_split();
                    let there = forward(near_reader, far_writer, swallowed.clone());
                    let back = forward(far_reader, near_writer, swallowed);
                    tokio::join!(there, back)
                });
            }
        });
        Self { address, swallowing }
    }

    /// From now on nothing comes through, in no direction.
    pub(crate) fn swallow(&self) {
        self.swallowing.send_replace(true);
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn forward(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut swallowed: watch::Receiver<bool>,
) {
    let copying = async {
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
    };
    tokio::select! {
        () = copying => return,
        _ = swallowed.wait_for(|swallowing| *swallowing) => {}
    }
    // Both ends stay open.
    std::future::pending::<()>().await;
}

/// A server behind a hole, and a client that is connected to it: by HTTP/2 over TLS, or by HTTP/1.1.
async fn connected(tls: bool) -> (Client, Hole, TestServer) {
    let builder = if tls { TestServer::builder().tls() } else { TestServer::builder() };
    let server = builder.start().await.unwrap();
    let hole = Hole::before(server.addr()).await;
    let mut config = config_of(&server);
    let scheme = if tls { "https" } else { "http" };
    config.cluster_url = format!("{scheme}://{}", hole.address()).parse().unwrap();
    let client = Client::try_from(config).unwrap();
    create(&client, "a").await.unwrap();
    (client, hole, server)
}

/// How many seconds of paused time a call takes.
pub(crate) async fn timed<F: Future>(call: F) -> (F::Output, u64) {
    tokio::time::pause();
    let started = Instant::now();
    let limit = Duration::from_secs(7 * 3600);
    let output = tokio::time::timeout(limit, call).await.expect("it should not take hours");
    let took = started.elapsed().as_secs();
    tokio::time::resume();
    (output, took)
}

const MINUTE: u64 = 60;

#[tokio::test]
async fn calls_over_either_protocol_fail_within_a_minute() {
    for tls in [true, false] {
        let (client, hole, _server) = connected(tls).await;
        let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
        hole.swallow();
        let (got, took) = timed(api.get("a")).await;
        assert!(took <= MINUTE, "tls {tls}: {took} s");
        assert!(matches!(got, Err(Error::Service(_) | Error::HyperError(_))), "{got:?}");
        // The next one makes a connection, and that is not answered either.
        let (listed, took) = timed(api.list(&ListParams::default())).await;
        assert!(listed.is_err() && took <= MINUTE, "tls {tls}: {took} s");
        let (written, took) = timed(create(&client, "b")).await;
        assert!(written.is_err() && took <= MINUTE, "tls {tls}: {took} s");
    }
}

#[tokio::test]
async fn watches_over_either_protocol_end_within_a_minute() {
    for tls in [true, false] {
        let (client, hole, _server) = connected(tls).await;
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        let params = WatchParams::default().timeout(290);
        let mut events = Box::pin(api.watch(&params, "0").await.unwrap());
        // The server is known to be there.
        assert!(matches!(events.next().await, Some(Ok(WatchEvent::Added(_)))));
        hole.swallow();
        let (rest, took) = timed(events.collect::<Vec<_>>()).await;
        assert!(took <= MINUTE, "tls {tls}: {took} s");
        let Some(Err(err)) = rest.last() else { panic!("{rest:?}") };
        let Error::ReadEvents(cause) = err else { panic!("{err:?}") };
        assert_eq!(cause.kind(), std::io::ErrorKind::TimedOut);
        // Over HTTP/2 it is known that the connection is dead.
        assert_eq!(err.is_idle_watch(), !tls, "{}", chain(err));
        let (started, took) = timed(api.watch(&params, "0")).await;
        assert!(started.is_err() && took <= MINUTE, "tls {tls}: {took} s");
    }
}

#[tokio::test]
async fn a_stream_that_is_followed_fails_within_a_minute_over_http2() {
    let (client, hole, _server) = connected(true).await;
    // Any answer that does not end is as good as a log.
    let request = Request::get("/api/v1/configmaps?watch=true&follow=true").body(Vec::new()).unwrap();
    let mut reader = Box::pin(client.request_stream(request).await.unwrap());
    let mut buffer = [0; 1 << 16];
    assert!(reader.read(&mut buffer).await.unwrap() > 0);
    hole.swallow();
    let (read, took) = timed(async {
        while reader.read(&mut buffer).await? > 0 {}
        Ok::<_, std::io::Error>(())
    })
    .await;
    assert!(read.is_err() && took <= MINUTE, "{read:?} after {took} s");
}

/// A client of a server that sends this much of its first answer and then keeps the connection open. On others it gives the second
/// answer, if there is one.
async fn stopping_after(answer: &'static str, others: Option<&'static str>) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut held = Vec::new();
        let mut next = Some(answer);
        while let Ok((mut socket, _)) = listener.accept().await {
            let Some(answer) = std::mem::replace(&mut next, others) else {
                held.push(socket);
                continue;
            };
            let _ = tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 4096]).await.unwrap();
            socket.write_all(answer.as_bytes()).await.unwrap();
            held.push(socket);
        }
    });
    Client::try_from(kube_client::Config::new(url.parse().unwrap())).unwrap()
}

#[tokio::test]
async fn an_answer_that_stops_midway_fails_within_a_minute() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"kind\":\"List\",";
    let api: Api<ConfigMap> = Api::default_namespaced(stopping_after(half, None).await);
    // The connection is made in real time.
    let params = ListParams::default();
    let mut listing = Box::pin(api.list(&params));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut listing).await.is_err());
    let (listed, took) = timed(listing).await;
    let err = listed.unwrap_err();
    assert!(chain(&err).contains("the server sent nothing more for 55s"), "{}", chain(&err));
    assert!(took <= MINUTE, "{took} s");
}

/// A log over HTTP/1.1 that has said something and is quiet then, before a server that answers so when it is asked for newer lines.
async fn quiet_log(newer: Option<&'static str>) -> impl futures::AsyncBufRead + Unpin {
    let client = stopping_after("HTTP/1.1 200 OK\r\n\r\nstarted\n", newer).await;
    let request = Request::get("/api/v1/namespaces/ns/pods/a/log?follow=true").body(Vec::new()).unwrap();
    let mut reader = Box::pin(client.request_stream(request).await.unwrap());
    reader.read_exact(&mut [0; 8]).await.unwrap();
    reader
}

#[tokio::test]
async fn a_log_that_is_followed_may_be_quiet_for_long_while_the_server_says_so() {
    // Questions are asked in real time, during which paused time goes on.
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
async fn a_log_fails_within_a_minute_when_the_server_does_not_answer_or_has_newer_lines() {
    for newer in [None, Some("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx")] {
        let mut reader = quiet_log(newer).await;
        let (read, took) = timed(reader.read(&mut [0])).await;
        let err = read.unwrap_err();
        assert!(took <= MINUTE, "{took} s");
        assert!(chain(&err).contains("the server sent nothing for 55s"), "{}", chain(&err));
    }
}
