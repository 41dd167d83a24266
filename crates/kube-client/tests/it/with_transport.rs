//! A client with the layers of a real one over a server in the process, under paused time.

use std::{
    convert::Infallible,
    future::Ready,
    task::{Context, Poll},
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, Config, client::Body};
use kube_testserver::{Fault, FaultResponse, Match, TestServer, User};
use tokio::time::Instant;

fn config() -> Config {
    Config::new(http::Uri::from_static("http://server"))
}

#[tokio::test(start_paused = true)]
async fn a_throttled_request_is_repeated_after_the_time_that_the_server_names() {
    let server = TestServer::service();
    let throttled = FaultResponse::status(429, "TooManyRequests").retry_after(7);
    let throttled = server.fault(Match::list::<ConfigMap>().times(1), throttled);
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::with_transport(&config(), server).unwrap());
    let began = Instant::now();
    maps.list(&Default::default()).await.unwrap();
    assert_eq!(throttled.hits(), 1);
    assert!(began.elapsed() >= Duration::from_secs(7), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_detected() {
    let server = TestServer::service();
    server.fault(Match::list::<ConfigMap>(), Fault::Stall);
    let mut config = config();
    config.default_retry = false;
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::with_transport(&config, server).unwrap());
    let began = Instant::now();
    maps.list(&Default::default()).await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_secs(60), "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_credentials_and_the_namespace_of_the_configuration_are_used() {
    let user = User::new("ann").token("secret");
    let server = TestServer::builder().with_user(user).service().unwrap();
    let mut config = config();
    config.default_namespace = "kube-system".into();
    let list = async |config: &Config| {
        let client = Client::with_transport(config, server.clone()).unwrap();
        assert_eq!(client.default_namespace(), "kube-system");
        Api::<ConfigMap>::default_namespaced(client).list(&Default::default()).await
    };
    // Without credentials, a handle of the service has the rights of an administrator.
    list(&config).await.unwrap();
    config.auth_info.token = Some("secret".to_owned().into());
    let error = list(&config).await.unwrap_err().to_string();
    assert!(error.contains(r#"User "ann" cannot list resource "configmaps""#), "{error}");
}

/// As a server whose connections are all in use.
#[derive(Clone)]
struct NeverReady;

impl tower::Service<http::Request<Body>> for NeverReady {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Pending
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        unreachable!("it was never ready")
    }
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_is_never_ready_is_detected() {
    let mut config = config();
    config.default_retry = false;
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::with_transport(&config, NeverReady).unwrap());
    let params = Default::default();
    let listed = tokio::time::timeout(Duration::from_secs(120), maps.list(&params));
    listed.await.expect("the time limit of the configuration applies").unwrap_err();
}
