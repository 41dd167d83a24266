//! The layers of a real client, without a socket.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config};
use kube_testserver::{FaultResponse, Match, TestServer};

#[tokio::test(start_paused = true)]
async fn a_throttled_list_is_repeated_by_the_client() {
    let server = TestServer::service();
    let throttle = FaultResponse::status(429, "TooManyRequests").retry_after(1);
    let throttled = server.fault(Match::list::<ConfigMap>().times(1), throttle);
    let client = Client::with_transport(&Config::new("http://server".parse().unwrap()), server).unwrap();

    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    assert!(maps.list(&Default::default()).await.unwrap().items.is_empty());
    assert_eq!(throttled.hits(), 1);
}
// ANCHOR_END: all
