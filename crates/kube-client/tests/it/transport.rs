//! The transport over real sockets, with and without TLS.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{WatchEvent, WatchParams};
use kube_client::client::ConfigExt;
use kube_client::{Api, Client};
use kube_testserver::TestServer;

use crate::server::{config_of, create};

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
