//! A controller whose workers are shared fairly among tenants.

// ANCHOR: all
use kube::runtime::Config;

/// A lane for each namespace; five of ten workers at most are busy with one of them.
fn by_namespace() -> Config {
    Config::default().concurrency(10).fair_by_namespace().lane_concurrency(5)
}

/// A lane for each value of a label.
fn by_tenant() -> Config {
    let config = Config::default().concurrency(10);
    config.fair_by(|object| object.labels.as_ref()?.get("example.com/tenant").cloned())
}
// ANCHOR_END: all

#[tokio::test]
async fn all_objects_are_reconciled() {
    use futures::StreamExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::{Controller, controller::Action, watcher};
    use kube::{Api, Client};
    use kube_testserver::TestServer;
    use std::{convert::Infallible, sync::Arc};

    for config in [by_namespace(), by_tenant()] {
        let client = Client::new(TestServer::service(), "default");
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        for name in ["a", "b"] {
            let map =
                serde_json::json!({ "metadata": { "name": name, "labels": { "example.com/tenant": name } } });
            maps.create(&Default::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
        }
        let reconciled = Controller::new(maps, watcher::Config::default()).with_config(config).run(
            async |_, _| Ok::<_, Infallible>(Action::await_change()),
            |_, _, _| Action::retry(),
            Arc::new(()),
        );
        assert!(reconciled.take(2).all(async |item| item.is_ok()).await);
    }
}
