//! The roles that a program needs, recorded from its requests.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::operator::rbac::RbacRecorder;
use kube::{Api, Client};
use kube_testserver::TestServer;
use tower::Layer;

#[tokio::test]
async fn the_program_needs_this_role() {
    let recorder = RbacRecorder::default();
    let client = Client::new(recorder.layer(TestServer::service()), "shop");

    // Instead of these requests, run what the program does.
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.list(&Default::default()).await.unwrap();
    maps.get_opt("a").await.unwrap();

    let role = recorder.permissions().to_yaml("my-operator");
    assert!(role.contains("resources: [\"configmaps\"]\n  verbs: [\"get\",\"list\"]"), "{role}");
}
// ANCHOR_END: all
