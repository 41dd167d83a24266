//! Programs that use leader election, sharding, children and status without a manager, by the paths of `kube::runtime`.

#![cfg(feature = "kube-operator")]
#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{ObjectMeta, PostParams},
    runtime::{
        Controller,
        apply::{Apply, Change},
        conditions::{Conditions, Summary},
        controller::{Action, Assignments},
        leader_election::{self, LeaderElector, State},
        sharding::{self, Membership},
        status::{StatusWrite, apply_status},
        wait::{self, await_condition},
        watcher,
    },
};
use kube_testserver::ApiServer;
use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};
use tokio::{sync::mpsc, time::timeout};

async fn server(names: &[&str]) -> (Client, Api<ConfigMap>) {
    let client = Client::new(ApiServer::new(), "default");
    let maps = Api::default_namespaced(client.clone());
    for name in names {
        let metadata = ObjectMeta { name: Some((*name).into()), ..Default::default() };
        maps.create(&PostParams::default(), &ConfigMap { metadata, ..Default::default() }).await.unwrap();
    }
    (client, maps)
}

/// A controller of what is assigned to this replica; the names that it reconciles.
fn controller(maps: &Api<ConfigMap>, assignments: Assignments) -> mpsc::UnboundedReceiver<String> {
    let (sender, names) = mpsc::unbounded_channel();
    let run = Controller::new(maps.clone(), watcher::Config::default()).assigned_by(assignments).run(
        move |map: Arc<ConfigMap>, sender: Arc<mpsc::UnboundedSender<String>>| async move {
            sender.send(map.name_any()).unwrap();
            Ok::<_, Infallible>(Action::await_change())
        },
        |_, _, _| Action::await_change(),
        Arc::new(sender),
    );
    tokio::spawn(run.for_each(async |_| ()));
    names
}

/// The names that arrive within ten seconds of tokio's clock.
async fn received(names: &mut mpsc::UnboundedReceiver<String>) -> BTreeSet<String> {
    tokio::time::sleep(Duration::from_secs(10)).await;
    std::iter::from_fn(|| names.recv().now_or_never().flatten()).collect()
}

#[tokio::test(start_paused = true)]
async fn of_two_replicas_the_leader_reconciles() {
    let (client, maps) = server(&["a", "b"]).await;
    let elector = |identity: &str| {
        let config = leader_election::Config::new("operator", "default").identity(identity);
        LeaderElector::start(client.clone(), config).unwrap()
    };
    let first = elector("first");
    first.wait_for_leadership().await.unwrap();
    let second = elector("second");
    let mut leader = controller(&maps, first.assignments(async || ()));
    let mut standby = controller(&maps, second.assignments(async || ()));
    assert_eq!(received(&mut leader).await, ["a".to_owned(), "b".to_owned()].into());
    assert_eq!(second.state(), State::Standby { holder: Some("first".to_owned()) });
    assert_eq!(received(&mut standby).await, BTreeSet::new());
    first.release().await;
    timeout(Duration::from_secs(5), second.wait_for_leadership()).await.unwrap().unwrap();
    assert_eq!(received(&mut standby).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn two_members_share_the_objects() {
    let names: Vec<String> = (0..20).map(|n| format!("map-{n}")).collect();
    let (client, maps) = server(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let member = |identity: &str| {
        let config = sharding::Config::new("operator", "default").identity(identity);
        Membership::join(client.clone(), config).unwrap()
    };
    let (first, second) = (member("first"), member("second"));
    tokio::time::sleep(Duration::from_secs(30)).await; // both know each other
    let mut of_first = controller(&maps, first.assignments());
    let mut of_second = controller(&maps, second.assignments());
    let (of_first, of_second) = (received(&mut of_first).await, received(&mut of_second).await);
    assert!(!of_first.is_empty() && !of_second.is_empty(), "{of_first:?} {of_second:?}");
    assert!(of_first.is_disjoint(&of_second), "{of_first:?} {of_second:?}");
    assert_eq!(of_first.len() + of_second.len(), 20);
}

#[tokio::test]
async fn children_and_status_are_written_once() {
    let (client, maps) = server(&["site"]).await;
    let owner = maps.get("site").await.unwrap();
    let metadata = ObjectMeta { name: Some("child".into()), ..Default::default() };
    let child = Secret { metadata, ..Default::default() };
    let children = Apply::owned_by(client.clone(), "sites.example.com", &owner).unwrap();
    assert_eq!(children.apply(&child).await.unwrap().change, Change::Created);
    assert_eq!(children.apply(&child).await.unwrap().change, Change::Unchanged);

    let namespaces: Api<Namespace> = Api::all(client);
    let namespace = namespaces.get("default").await.unwrap();
    let mut list = Vec::new();
    let mut conditions = Conditions::new(&mut list, namespace.metadata.generation);
    conditions.set("Audited", true, "NoFindings", "nothing was found").unwrap();
    conditions.summarize("Ready", &Summary::default()).unwrap();
    let status = serde_json::json!({ "conditions": list });
    let written = apply_status(&namespaces, "auditor.example.com", &namespace, &status).await.unwrap();
    let stored = written.written().unwrap();
    let again = apply_status(&namespaces, "auditor.example.com", stored, &status).await.unwrap();
    assert_eq!(again, StatusWrite::Unchanged);

    let uid = owner.uid().unwrap();
    let exists = wait::conditions::is_created::<ConfigMap>();
    assert!(
        await_condition(maps.clone(), "site", exists)
            .await
            .unwrap()
            .is_some_and(|map| map.uid() == Some(uid))
    );
}
