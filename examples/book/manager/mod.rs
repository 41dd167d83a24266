//! A manager: a controller with leader election, metrics, health and a webhook.

mod check;

use check::check;
use kube_testserver::TestServer;
use std::time::Duration;

// ANCHOR: all
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::operator::manager::Manager;
use kube::operator::webhook::{Webhooks, certificates::SelfSigned};
use kube::runtime::{Controller, controller::Action, watcher::Config};
use kube::{Api, Client};
use std::{convert::Infallible, net::SocketAddr, sync::Arc};

async fn reconcile(map: Arc<ConfigMap>, _client: Arc<Client>) -> Result<Action, Infallible> {
    println!("{:?}", map.metadata.name);
    Ok(Action::await_change())
}

fn manager(client: Client, metrics: SocketAddr, webhooks: SocketAddr) -> Manager {
    let (maps, secrets) = (Api::<ConfigMap>::all(client.clone()), Api::<Secret>::all(client.clone()));
    let certificates = SelfSigned::new(client.clone(), "default", "my-operator");
    let children = Config::default().labels("app.kubernetes.io/managed-by=my-operator");
    let controller = Controller::new(maps, Config::default()).owns(secrets, children);
    Manager::new(client.clone())
        .leader_election("my-operator", "default")
        .serve_metrics(metrics) // /metrics, /livez, /readyz, /debug/controllers
        .webhooks(webhooks, certificates, Webhooks::new().validate(check))
        .controller("maps", controller, reconcile, Arc::new(client))
}
// ANCHOR_END: all

#[tokio::test]
async fn the_manager_serves_and_stops() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let manager = manager(Client::new(TestServer::service(), "default"), any, any);
    let handle = manager.handle();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { drop(stopped.await) }));
    let served = async { (handle.metrics_address().await, handle.webhook_address().await) };
    let (metrics, webhooks) = tokio::time::timeout(Duration::from_secs(30), served).await.unwrap();
    assert!(metrics.unwrap().port() != 0 && webhooks.unwrap().port() != 0);
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}
