//! The servers of a manager: their addresses, routes and start.

use std::net::SocketAddr;

use axum::{Router, routing::get};
use futures::{
    FutureExt,
    future::{BoxFuture, pending},
};
use http::Request;
use kube_client::{Client, Config};
use kube_operator::{
    manager::{Manager, ManagerError, ManagerHandle, Restart},
    webhook::{
        Webhooks,
        certificates::{CertificateError, CertificateSource, SelfSigned, Serving},
    },
};
use tokio::time::{sleep, timeout};

use crate::manager::{Log, component, run, seconds, server_with};

const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// A certificate that is never there, such as one from a server that does not respond.
struct NoCertificate;

impl CertificateSource for NoCertificate {
    fn start(self) -> BoxFuture<'static, Result<Serving, CertificateError>> {
        pending().boxed()
    }
}

async fn addresses(handle: &ManagerHandle) -> (Option<SocketAddr>, Option<SocketAddr>) {
    let both = async { (handle.metrics_address().await, handle.webhook_address().await) };
    timeout(seconds(20), both).await.expect("no address after 20 s")
}

#[tokio::test]
async fn without_the_debug_page_its_path_is_free() {
    let (_server, client) = server_with(&[]).await;
    let own = || Router::new().route("/debug/controllers", get(async || "not here"));
    let shown = Manager::new(client.clone()).serve_metrics(ANY_PORT).routes(own()).run_until(pending());
    assert!(matches!(timeout(seconds(20), shown).await.unwrap(), Err(ManagerError::Routes(_))));
    let manager = Manager::new(client).serve_metrics(ANY_PORT).routes(own()).without_debug_page();
    let handle = manager.handle();
    let (stop, running) = run(manager);
    assert!(timeout(seconds(20), handle.metrics_address()).await.unwrap().is_some());
    stop.cancel();
    timeout(seconds(20), running).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_manager_without_servers_needs_no_port_and_no_certificate() {
    let (_server, client) = server_with(&[]).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let with_servers = || {
        let manager = Manager::new(client.clone()).serve_metrics(address).serve_debug_page(address);
        manager.routes(Router::new()).webhooks(address, NoCertificate, Webhooks::new())
    };
    let refused = timeout(seconds(20), with_servers().run_until(pending())).await.unwrap();
    assert!(matches!(refused, Err(ManagerError::Bind { .. })), "{refused:?}");
    let manager = with_servers().without_servers();
    let handle = manager.handle();
    let (stop, running) = run(manager);
    assert_eq!(addresses(&handle).await, (None, None));
    stop.cancel();
    timeout(seconds(20), running).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn the_debug_page_can_have_an_address_of_its_own() {
    let (_server, client) = server_with(&[]).await;
    let page_on_metrics = Router::new().route("/debug/controllers", get(async || "not here"));
    let manager =
        Manager::new(client).serve_metrics(ANY_PORT).serve_debug_page(ANY_PORT).routes(page_on_metrics);
    let handle = manager.handle();
    let (stop, running) = run(manager);
    let addresses = async { (handle.metrics_address().await, handle.debug_page_address().await) };
    let (Some(metrics), Some(page)) = timeout(seconds(20), addresses).await.unwrap() else {
        panic!("both are served")
    };
    assert_ne!(metrics, page);
    let read = async |address: SocketAddr, path: &str| {
        let client = Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap();
        client.request_text(Request::get(path).body(Vec::new()).unwrap()).await
    };
    assert!(read(page, "/debug/controllers").await.unwrap().contains("uptime_seconds"));
    assert_eq!(read(metrics, "/debug/controllers").await.unwrap(), "not here");
    assert!(read(page, "/metrics").await.is_err() && read(page, "/livez").await.is_err());
    stop.cancel();
    timeout(seconds(20), running).await.unwrap().unwrap().unwrap();
}

/// With the real clock, because making the certificate takes real time in another thread.
#[tokio::test]
async fn the_addresses_are_known_when_they_are_bound() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client.clone()).serve_metrics(ANY_PORT).webhooks(
        ANY_PORT,
        SelfSigned::new(client, "default", "operator"),
        Webhooks::new(),
    );
    let handle = manager.handle();
    let (stop, running) = run(manager);
    let (Some(metrics), Some(webhooks)) = addresses(&handle).await else { panic!("both are served") };
    assert!(metrics.port() != 0 && webhooks.port() != 0 && metrics != webhooks);
    for address in [metrics, webhooks] {
        tokio::net::TcpStream::connect(address).await.unwrap();
    }
    stop.cancel();
    timeout(seconds(20), running).await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn there_is_no_address_without_a_server_or_after_the_end() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client.clone());
    let handle = manager.handle();
    let (stop, running) = run(manager);
    assert_eq!(addresses(&handle).await, (None, None));
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(addresses(&handle).await, (None, None));
    let never_run = Manager::new(client).serve_metrics(ANY_PORT);
    let handle = never_run.handle();
    drop(never_run);
    assert_eq!(addresses(&handle).await, (None, None));
}

#[tokio::test(start_paused = true)]
async fn routes_that_collide_are_an_error() {
    let (_server, client) = server_with(&[]).await;
    let with = |path: &str| Router::new().route(path, get(async || ""));
    for (routes, problem) in [
        ([with("/metrics"), Router::new()], "/metrics"),
        ([with("/livez/{name}"), Router::new()], "/livez/"),
        ([with("/about"), with("/about")], "/about"),
        ([with("/a").fallback(async || ""), with("/b").fallback(async || "")], "fallback"),
    ] {
        let mut manager = Manager::new(client.clone()).serve_metrics(ANY_PORT);
        for routes in routes {
            manager = manager.routes(routes);
        }
        let error = timeout(seconds(5), manager.run_until(pending())).await.unwrap().unwrap_err();
        assert!(matches!(&error, ManagerError::Routes(text) if text.contains(problem)), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_while_webhooks_wait_for_their_certificate_ends_the_manager() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let manager = Manager::new(client)
        .serve_metrics(ANY_PORT)
        .webhooks(ANY_PORT, NoCertificate, Webhooks::new())
        .component("component", Restart::Never, component(&log, "component"));
    let handle = manager.handle();
    let (stop, running) = run(manager);
    let metrics = handle.metrics_address().await.expect("metrics are served first");
    sleep(seconds(60)).await;
    tokio::net::TcpStream::connect(metrics).await.unwrap();
    stop.cancel();
    timeout(seconds(2), running).await.unwrap().unwrap().unwrap();
    assert_eq!(log.take(), [] as [String; 0], "servers are started first");
    assert_eq!(handle.webhook_address().await, None);
}
