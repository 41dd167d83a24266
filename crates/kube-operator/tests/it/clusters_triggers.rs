//! Objects of one cluster that have objects of another reconciled.

use crate::{
    clusters::{Requests, client_of, cluster, maps, options, reconcile},
    manager::{Log, add, run, seconds},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{
    Api,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use kube_core::ResourceExt;
use kube_operator::{
    clusters::{Cluster, ClusterName, ClusterTriggers, Clusters},
    manager::Manager,
};
use kube_runtime::{Controller, controller::Action, reflector::ObjectRef, watcher};
use kube_testserver::TestFleet;
use serde_json::json;
use std::{convert::Infallible, sync::Arc};
use tokio::time::sleep;

fn secret(name: &str, cluster: &str) -> Secret {
    let labels = Some([("cluster".to_owned(), cluster.to_owned())].into());
    let metadata = ObjectMeta { name: Some(name.to_owned()), labels, ..ObjectMeta::default() };
    Secret { metadata, ..Secret::default() }
}

/// The ConfigMap `a` of the cluster in the label.
fn of_label(secret: &Secret) -> Option<(ClusterName, ObjectRef<ConfigMap>)> {
    let cluster: ClusterName = secret.labels().get("cluster")?.parse().ok()?;
    Some((cluster, ObjectRef::new("a").within("default")))
}

/// Logs the name.
async fn log_secret(secret: Arc<Secret>, log: Arc<Log>) -> Result<Action, Infallible> {
    log.add(secret.name_any());
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_hub_has_those_of_the_members_reconciled_that_it_names() {
    let servers = TestFleet::new(["hub", "east", "west"]);
    for host in ["east", "west"] {
        add(&client_of(&servers, host), "a").await;
    }
    let hub = client_of(&servers, "hub");
    let secrets = Api::<Secret>::default_namespaced(hub.clone());
    let (log, requests, triggers) =
        (Log::default(), Requests::default(), ClusterTriggers::<ConfigMap>::new());
    let listened = triggers.clone();
    let manager = Manager::new(hub)
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east"), cluster("west")]))
        .trigger_members("secrets", secrets.clone(), watcher::Config::default(), &triggers, of_label)
        .controller_on_each(
            "maps",
            move |cluster| maps(cluster).reconcile_on(listened.on(cluster)),
            reconcile,
            Arc::new(log.clone()),
        );
    let (stop, running) = run(manager);
    let reconciled = async || {
        sleep(seconds(5)).await;
        let mut entries = log.take();
        entries.sort();
        entries
    };
    assert_eq!(reconciled().await, ["east a", "west a"]);
    secrets.create(&PostParams::default(), &secret("s", "west")).await.unwrap();
    assert_eq!(reconciled().await, ["west a"]);
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "cluster": "east" } } }));
    secrets.patch("s", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(reconciled().await, ["east a", "west a"], "also what it named before");
    secrets.delete("s", &DeleteParams::default()).await.unwrap();
    assert_eq!(reconciled().await, ["east a"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_member_has_those_of_the_hub_reconciled_also_when_it_is_deleted() {
    let servers = TestFleet::new(["hub", "east"]);
    let hub = client_of(&servers, "hub");
    let secrets = Api::<Secret>::default_namespaced(hub.clone());
    secrets.create(&PostParams::default(), &secret("a", "none")).await.unwrap();
    let (log, requests, triggers) = (Log::default(), Requests::default(), ClusterTriggers::<Secret>::new());
    let controller = Controller::new(secrets, watcher::Config::default()).reconcile_on(triggers.on_hub());
    let manager = Manager::new(hub)
        .cluster_options(options(&servers, &requests))
        .clusters(Clusters::fixed([cluster("east")]))
        .controller("secrets", controller, log_secret, Arc::new(log.clone()))
        .trigger_hub(
            "copies",
            |cluster: &Cluster| {
                (Api::<ConfigMap>::default_namespaced(cluster.client()), watcher::Config::default())
            },
            &triggers,
            |_: &Cluster, map: &ConfigMap| Some(ObjectRef::new(&map.name_any()).within("default")),
        );
    let fleet = manager.fleet();
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    assert_eq!((log.take(), fleet.clusters().len()), (vec!["a".to_owned()], 1));
    let east = client_of(&servers, "east");
    add(&east, "a").await;
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["a"]);
    Api::<ConfigMap>::default_namespaced(east).delete("a", &DeleteParams::default()).await.unwrap();
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["a"]);

    // What is deleted while the cluster is away.
    add(&client_of(&servers, "east"), "a").await;
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["a"]);
    let away = servers.remove("east").unwrap();
    sleep(seconds(30)).await;
    assert!(fleet.clusters().is_empty(), "its only watch fails");
    let maps = Api::<ConfigMap>::default_namespaced(kube_client::Client::new(away.clone(), "default"));
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    servers.insert("east", away);
    sleep(seconds(30)).await;
    assert_eq!((log.take(), fleet.clusters().len()), (vec!["a".to_owned()], 1));
    stop.cancel();
    running.await.unwrap().unwrap();
}
