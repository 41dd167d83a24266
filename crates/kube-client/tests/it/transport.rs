//! The transport over real sockets, with and without TLS.

use std::time::Duration;

use futures::StreamExt;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{PostParams, WatchEvent, WatchParams};
use kube_client::client::{Body, ConfigExt};
use kube_client::{Api, Client};
use kube_testserver::TestServer;
use tokio::net::{TcpSocket, TcpStream};

use crate::server::{config_map, config_of, create};

#[tokio::test]
async fn calls_and_watches_work_over_plain_http() {
    let server = TestServer::start().await.unwrap();
    let client = Client::try_from(config_of(&server)).unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut events = Box::pin(api.watch(&WatchParams::default(), "0").await.unwrap());
    create(&client, "over-http").await.unwrap();
    loop {
        if let WatchEvent::Added(map) = events.next().await.unwrap().unwrap()
            && map.metadata.name.as_deref() == Some("over-http")
        {
            break;
        }
    }
    drop(events);
    server.shutdown().await;
}

#[tokio::test]
async fn concurrent_calls_work_over_tls() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let client = Client::try_from(config_of(&server)).unwrap();
    let calls = (0..64).map(|number| {
        let client = client.clone();
        async move { create(&client, &format!("map-{number}")).await }
    });
    for created in futures::future::join_all(calls).await {
        created.unwrap();
    }
    server.shutdown().await;
}

#[tokio::test]
async fn open_watches_do_not_block_calls() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let client = Client::try_from(config_of(&server)).unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut watches = Vec::new();
    for _ in 0..250 {
        watches.push(Box::pin(within(api.watch(&WatchParams::default(), "0")).await.unwrap()));
    }
    let burst = (0..50).map(|number| {
        let client = client.clone();
        async move { create(&client, &format!("map-{number}")).await }
    });
    for created in within(futures::future::join_all(burst)).await {
        created.unwrap();
    }
    for watch in &mut watches {
        let mut seen = 0;
        while seen < 50 {
            let event = within(watch.next()).await.unwrap().unwrap();
            seen += usize::from(
                matches!(event, WatchEvent::Added(map) if map.metadata.name.as_deref().unwrap().starts_with("map-")),
            );
        }
    }
}

/// More than the window of a stream is sent to each watch.
#[tokio::test]
async fn unread_watches_do_not_block_calls() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let client = Client::try_from(config_of(&server)).unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for number in 0..5 {
        let large = config_map(&format!("large-{number}"), &"x".repeat(900_000));
        within(api.create(&PostParams::default(), &large)).await.unwrap();
    }
    let mut watches = Vec::new();
    for _ in 0..30 {
        watches.push(Box::pin(within(api.watch(&WatchParams::default(), "0")).await.unwrap()));
    }
    for number in 0..20 {
        within(create(&client, &format!("small-{number}"))).await.unwrap();
    }
    let last = watches.last_mut().unwrap();
    let mut added = 0;
    while added < 25 {
        match within(last.next()).await {
            Some(Ok(WatchEvent::Added(_))) => added += 1,
            // The end of the initial events.
            Some(Ok(WatchEvent::Bookmark(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// A request waits for the server, and its future is not polled any more, as in the other arm of a `select!`.
#[tokio::test]
async fn a_request_that_is_not_polled_does_not_block_others_after_an_outage() {
    for tls in [true, false] {
        let builder = if tls { TestServer::builder().tls() } else { TestServer::builder() };
        let server = builder.start().await.unwrap();
        // Nothing listens here until the outage is over.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut config = config_of(&server);
        let scheme = if tls { "https" } else { "http" };
        config.cluster_url = format!("{scheme}://{}", socket.local_addr().unwrap()).parse().unwrap();
        let client = Client::try_from(config).unwrap();
        let get = || client.apiserver_version();
        within(get()).await.unwrap_err();
        // An exec needs a connection of its own.
        let exec = Request::get("/version").header("upgrade", "websocket").body(Body::empty()).unwrap();
        let mut unpolled = Box::pin(client.send(exec));
        assert!(futures::poll!(&mut unpolled).is_pending());
        let listener = socket.listen(16).unwrap();
        let address = server.addr();
        let forwarding = tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(address).await.unwrap();
                    tokio::io::copy_bidirectional(&mut near, &mut far).await
                });
            }
        });
        within(get()).await.unwrap();
        within(unpolled).await.unwrap();
        forwarding.abort();
    }
}

/// Fails after 30 s.
async fn within<F: Future>(call: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), call).await.expect("the call completes in time")
}

#[tokio::test]
async fn tls_server_name_replaces_the_host() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let mut config = config_of(&server);
    config.tls_server_name = Some("not-the-server.example".to_owned());
    let wrong = create(&Client::try_from(config.clone()).unwrap(), "a").await.unwrap_err();
    assert!(chain(&wrong).contains("not valid for name"), "{}", chain(&wrong));
    config.tls_server_name = Some("localhost".to_owned());
    create(&Client::try_from(config).unwrap(), "a").await.unwrap();
}

#[tokio::test]
async fn a_connector_works_in_a_custom_stack() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let config = config_of(&server);
    let connector = config.rustls_https_connector().unwrap();
    let http =
        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build(connector);
    let service = tower::ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().unwrap())
        .map_err(tower::BoxError::from)
        .service(http);
    create(&Client::new(service, "default"), "own-stack").await.unwrap();
}

/// An error with its sources.
pub(crate) fn chain(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        text.push_str(": ");
        text.push_str(&err.to_string());
        cause = err.source();
    }
    text
}
