//! An operator that works with kinds that may not be installed.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::operator::manager::{Manager, ServedController};
use kube::runtime::controller::{Action, Related};
use kube::runtime::{Controller, watcher::Config};
use kube::{Api, Client, CustomResource};
use serde::{Deserialize, Serialize};
use std::{convert::Infallible, sync::Arc};

/// A kind of another project.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "cert.example.com", version = "v1", kind = "Certificate", namespaced, schema = "disabled")]
struct CertificateSpec {}

async fn reconcile<K>(_object: Arc<K>, _client: Arc<Client>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

fn manager(client: Client) -> Manager {
    let mut manager = Manager::new(client.clone());
    let certificates = Api::<Certificate>::all(client.clone());
    // ConfigMaps are reconciled in any case, and after changes of their Certificates where there are such.
    let owned = Related::metadata(certificates.clone(), Config::default()).if_served(&manager.served_kinds());
    let maps = Controller::new(Api::<ConfigMap>::all(client.clone()), Config::default()).owns_related(owned);
    let context = Arc::new(client);
    manager.controller("maps", maps, reconcile, Arc::clone(&context)).while_served::<Certificate>(
        "certificates",
        move || {
            let controller = Controller::new(certificates.clone(), Config::default());
            ServedController::new(controller, reconcile, Arc::clone(&context))
        },
    )
}
// ANCHOR_END: all

#[tokio::test]
async fn it_is_ready_without_the_kind() {
    use kube_testserver::TestServer;

    let manager = manager(Client::new(TestServer::service(), "default"));
    let health = manager.health().clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager.run_until(async { stopped.await.unwrap_or_default() }));
    let missing = async || {
        let report = health.report().await;
        report.into_iter().find(|check| check.check == "served-kinds").and_then(|check| check.message)
    };
    while missing().await.is_none_or(|note| !note.contains("Certificate.cert.example.com is missing")) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(
        health
            .report()
            .await
            .iter()
            .filter(|check| check.check == "served-kinds")
            .all(|check| check.state == "ok")
    );
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}
