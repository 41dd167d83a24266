//! Members of a group, their controllers, and a server that some of them cannot reach.

use crate::{
    common::{ApiExt, Outputs, config_maps, labelled, named, server, spawn_outputs, wait_for_change},
    layers::gated,
};
use futures::StreamExt;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube_client::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use kube_core::ResourceExt;
use kube_operator::{
    leader_election,
    sharding::{Config, Membership, label_shards},
};
use kube_runtime::{Controller, controller::Action, watcher};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashSet},
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{sleep, timeout};

const KEYS: usize = 60;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What the reconcilers of all replicas do.
#[derive(Default)]
struct Log {
    running: HashSet<String>,
    /// The replica that reconciled a name last.
    last: BTreeMap<String, String>,
    overlaps: Vec<String>,
}

/// Removes a name from those that run, also when its reconcile is cancelled.
struct Run(Arc<Mutex<Log>>, String);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.lock().unwrap().running.remove(&self.1);
    }
}

struct Replica {
    membership: Membership,
    _outputs: Outputs,
}

/// A member whose controller reconciles each of its ConfigMaps every second, for half a second.
fn replica(client: &Client, identity: &str, log: &Arc<Mutex<Log>>) -> Replica {
    let config = Config::new("group", "default").identity(identity);
    let membership = Membership::join(client.clone(), config).unwrap();
    let name = identity.to_owned();
    let output = Controller::new(config_maps(client), watcher::Config::default())
        .assigned_by(membership.assignments())
        .run(
            move |object: Arc<ConfigMap>, log: Arc<Mutex<Log>>| {
                let (name, replica) = (object.name_any(), name.clone());
                async move {
                    let _run = {
                        let mut entries = log.lock().unwrap();
                        if !entries.running.insert(name.clone()) {
                            entries.overlaps.push(name.clone());
                        }
                        entries.last.insert(name.clone(), replica);
                        Run(Arc::clone(&log), name)
                    };
                    sleep(Duration::from_millis(500)).await;
                    Ok::<_, Infallible>(Action::requeue(seconds(1)))
                }
            },
            wait_for_change,
            Arc::clone(log),
        );
    Replica { membership, _outputs: spawn_outputs(output) }
}

/// The number of keys of each replica that were reconciled in the last 10 s.
async fn shares(log: &Arc<Mutex<Log>>) -> BTreeMap<String, usize> {
    log.lock().unwrap().last.clear();
    sleep(seconds(10)).await;
    let log = log.lock().unwrap();
    assert_eq!(log.overlaps, [] as [String; 0], "reconciled by two at once");
    assert_eq!(log.last.len(), KEYS, "every object is reconciled");
    let mut shares = BTreeMap::new();
    for replica in log.last.values() {
        *shares.entry(replica.clone()).or_default() += 1;
    }
    shares
}

#[tokio::test(start_paused = true)]
async fn members_that_join_leave_and_hang_share_the_objects() {
    let (server, client) = server();
    for n in 0..KEYS {
        config_maps(&client).add(named(&format!("map-{n}"))).await;
    }
    let log = Arc::default();
    let first = replica(&client, "a", &log);
    sleep(seconds(5)).await;
    assert_eq!(shares(&log).await, [("a".to_owned(), KEYS)].into());

    let (cut_off, gate) = gated(&server, "leases");
    let second = replica(&client, "b", &log);
    let _third = replica(&cut_off, "c", &log);
    sleep(seconds(20)).await;
    assert_eq!(first.membership.members(), ["a", "b", "c"]);
    let three = shares(&log).await;
    assert_eq!(three.len(), 3);
    assert!(three.values().all(|share| *share > 10), "{three:?}");

    second.membership.leave().await;
    assert_eq!(second.membership.members(), [] as [String; 0]);
    sleep(seconds(5)).await;
    assert_eq!(shares(&log).await.len(), 2);

    gate.send_replace(false);
    sleep(seconds(20)).await;
    assert_eq!(shares(&log).await.len(), 1, "c has stopped, and a took over");
    gate.send_replace(true);
    sleep(seconds(10)).await;
    assert_eq!(shares(&log).await.len(), 2, "c is back");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_dropped_leaves() {
    let (_server, client) = server();
    let join = |identity: &str| {
        Membership::join(client.clone(), Config::new("group", "default").identity(identity)).unwrap()
    };
    let (first, second) = (join("a"), join("b"));
    sleep(seconds(10)).await;
    assert_eq!(first.members(), ["a", "b"]);
    drop(second);
    sleep(seconds(5)).await;
    assert_eq!(first.members(), ["a"]);
    let lease = Api::<Lease>::default_namespaced(client.clone()).get("group-b").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None);
    // Nobody needs the Lease any more.
    sleep(seconds(200)).await;
    assert!(Api::<Lease>::default_namespaced(client).get_opt("group-b").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn each_label_shard_has_one_leader_and_its_own_objects() {
    let (_server, client) = server();
    for n in 0..4 {
        let shard = (n % 2).to_string();
        config_maps(&client).add(labelled(&format!("map-{n}"), ("shard", &shard))).await;
    }
    let shards = |identity: &str| {
        let config = leader_election::Config::new("operator", "default").identity(identity);
        label_shards(client.clone(), config, "shard", 2).unwrap()
    };
    let first = shards("first");
    for shard in &first {
        shard.elector().wait_for_leadership().await.unwrap();
        let config = shard.select(watcher::Config::default().labels("shard"));
        let params = kube_client::api::ListParams::default().labels(&config.label_selector.unwrap());
        let names: Vec<_> =
            config_maps(&client).list(&params).await.unwrap().iter().map(|map| map.name_any()).collect();
        assert_eq!(names, [format!("map-{}", shard.index()), format!("map-{}", shard.index() + 2)]);
    }
    let second = shards("second");
    sleep(seconds(5)).await;
    assert!(second.iter().all(|shard| !shard.elector().is_leader()));
    first[1].elector().release().await;
    second[1].elector().wait_for_leadership().await.unwrap();
    assert!(first[0].elector().is_leader() && !second[0].elector().is_leader());
}

/// Changes the Lease of a member as people do with kubectl.
async fn edit(client: &Client, name: &str, patch: serde_json::Value) {
    let leases = Api::<Lease>::default_namespaced(client.clone());
    leases.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_member_takes_its_lease_back_that_has_lost_the_label_of_the_group() {
    let (_server, client) = server();
    for n in 0..KEYS {
        config_maps(&client).add(named(&format!("map-{n}"))).await;
    }
    let log = Arc::default();
    let first = replica(&client, "a", &log);
    let second = replica(&client, "b", &log);
    sleep(seconds(20)).await;
    assert_eq!(shares(&log).await.len(), 2);
    edit(&client, "group-b", json!({ "metadata": { "labels": { "sharding-group": null } } })).await;
    sleep(seconds(20)).await;
    assert_eq!(shares(&log).await.len(), 2, "b is a member again");
    for replica in [&first, &second] {
        assert_eq!(replica.membership.members(), ["a", "b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_this_name_without_the_label_is_adopted_unless_another_holds_it() {
    let (_server, client) = server();
    let leases = Api::<Lease>::default_namespaced(client.clone());
    for (name, spec) in [
        ("group-a", json!(null)),
        ("group-b", json!({ "holderIdentity": "someone", "leaseDurationSeconds": 15 })),
    ] {
        let lease = json!({ "metadata": { "name": name }, "spec": spec });
        leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
    }
    let join = |identity: &str| {
        Membership::join(client.clone(), Config::new("group", "default").identity(identity)).unwrap()
    };
    let (first, second) = (join("a"), join("b"));
    sleep(seconds(60)).await;
    assert_eq!(first.members(), ["a"]);
    assert_eq!(second.members(), [] as [String; 0], "another program uses the Lease");
    edit(&client, "group-b", json!({ "spec": { "holderIdentity": "" } })).await;
    sleep(seconds(20)).await;
    assert_eq!(second.members(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_kept_and_not_polled_holds_no_keys_and_no_end_back() {
    let (_server, client) = server();
    for n in 0..KEYS {
        config_maps(&client).add(named(&format!("map-{n}"))).await;
    }
    let log = Arc::default();
    let member = Membership::join(client.clone(), Config::new("group", "default").identity("a")).unwrap();
    let mut kept = Box::pin(
        Controller::new(config_maps(&client), watcher::Config::default())
            .assigned_by(member.assignments())
            .run(async |_, _| Ok::<_, Infallible>(Action::await_change()), wait_for_change, Arc::new(())),
    );
    for _ in 0..KEYS {
        assert!(kept.next().await.unwrap().is_ok());
    }
    let newcomer = replica(&client, "b", &log);
    sleep(seconds(20)).await;
    let share = log.lock().unwrap().last.len();
    assert!(share > KEYS / 4, "{share} keys have moved to the newcomer");
    timeout(seconds(20), member.leave()).await.expect("the end does not wait for the owner of the output");
    sleep(seconds(20)).await;
    assert_eq!(shares(&log).await, [("b".to_owned(), KEYS)].into());
    drop((kept, newcomer));
}
