//! A client with a stack of layers that the program chooses.

// ANCHOR: all
use http::{Request, Response};
use kube::client::middleware::ReauthLayer;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder, retry::RetryLayer};

fn client(config: &Config) -> kube::Result<Client> {
    let service = ServiceBuilder::new()
        .layer(config.trace_layer())
        .layer(RetryLayer::new(RetryPolicy::server_retry()))
        .layer(config.extra_headers_layer()?)
        .layer(ReauthLayer)
        .option_layer(config.auth_layer()?)
        .layer(config.base_uri_layer())
        .layer(config.deadline_layer())
        // Instead of the network:
        .service_fn(|request: Request<Body>| async move {
            assert_eq!(request.uri(), "http://localhost:8080/version");
            let version = br#"{"major":"1","minor":"37","gitVersion":"v1.37.0"}"#.to_vec();
            Ok::<_, BoxError>(Response::new(Body::from(version)))
        });
    Ok(Client::new(service, "default"))
}

#[tokio::test]
async fn the_stack_sends_a_request() {
    let config = Config::new("http://localhost:8080".parse().unwrap());
    let version = client(&config).unwrap().apiserver_version().await.unwrap();
    assert_eq!(version.git_version, "v1.37.0");
}
// ANCHOR_END: all
