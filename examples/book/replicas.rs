//! Several replicas without a manager: one that leads, or a share of the objects for each.

use futures::StreamExt;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::controller::Action;
use kube_testserver::TestServer;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::mpsc;

// ANCHOR: leader
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::leader_election::{self, LeaderElector};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client};

fn standby(client: Client) -> Result<(Controller<ConfigMap>, LeaderElector), leader_election::InvalidConfig> {
    let lease = leader_election::Config::new("my-operator", "default");
    let elector = LeaderElector::start(client.clone(), lease)?;
    let controller = Controller::new(Api::all(client), watcher::Config::default())
        .assigned_by(elector.assignments(async || println!("this process leads")));
    Ok((controller, elector)) // after the controller has ended: elector.release().await
}
// ANCHOR_END: leader

// ANCHOR: shard
use kube::runtime::sharding::{self, Membership};

fn member(client: Client) -> Result<(Controller<ConfigMap>, Membership), sharding::InvalidConfig> {
    let membership = Membership::join(client.clone(), sharding::Config::new("my-operator", "default"))?;
    let controller =
        Controller::new(Api::all(client), watcher::Config::default()).assigned_by(membership.assignments());
    Ok((controller, membership)) // after the controller has ended: membership.leave().await
}
// ANCHOR_END: shard

async fn create(client: &Client, name: &str) {
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some(name.into()), ..Default::default() },
        ..Default::default()
    };
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &map).await.unwrap();
}

/// Runs a controller that reports the name of each object it reconciles, and of the replica.
fn run(
    controller: Controller<ConfigMap>,
    replica: u8,
    reports: mpsc::UnboundedSender<(u8, String)>,
) -> tokio::task::JoinHandle<()> {
    let reconcile = move |map: Arc<ConfigMap>, reports: Arc<mpsc::UnboundedSender<(u8, String)>>| async move {
        let name = map.metadata.name.clone().unwrap_or_default();
        reports.send((replica, name)).unwrap();
        Ok::<_, Infallible>(Action::await_change())
    };
    tokio::spawn(
        controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(reports)).for_each(async |_| ()),
    )
}

#[tokio::test(start_paused = true)]
async fn the_standby_takes_over_after_a_release() {
    let client = Client::new(TestServer::service(), "default");
    let (reports, mut reported) = mpsc::unbounded_channel();
    create(&client, "a").await;
    let (first, elector) = standby(client.clone()).unwrap();
    let running = run(first, 1, reports.clone());
    assert_eq!(reported.recv().await.unwrap(), (1, "a".into()));

    let (second, _standby) = standby(client.clone()).unwrap();
    let _other = run(second, 2, reports);
    running.abort();
    elector.release().await;
    let took_over = tokio::time::timeout(Duration::from_secs(5), reported.recv()).await;
    assert_eq!(took_over.unwrap().unwrap(), (2, "a".into()));
}

#[tokio::test(start_paused = true)]
async fn each_member_reconciles_its_share() {
    let client = Client::new(TestServer::service(), "default");
    let (reports, mut reported) = mpsc::unbounded_channel();
    let members: Vec<_> = (1..=2).map(|_| member(client.clone()).unwrap()).collect();
    let mut groups = Vec::new();
    for (replica, (controller, membership)) in (1..).zip(members) {
        run(controller, replica, reports.clone());
        groups.push(membership);
    }
    tokio::time::advance(Duration::from_secs(60)).await; // both have seen each other
    tokio::time::sleep(Duration::from_secs(60)).await;
    for index in 0..20 {
        create(&client, &format!("map-{index}")).await;
    }
    let mut seen = std::collections::BTreeMap::new();
    while seen.len() < 20 {
        let (replica, name) = reported.recv().await.unwrap();
        assert_eq!(*seen.entry(name).or_insert(replica), replica, "one object, one member");
    }
    let share = seen.values().filter(|replica| **replica == 1).count();
    assert!((1..20).contains(&share), "{share} of 20");
}
