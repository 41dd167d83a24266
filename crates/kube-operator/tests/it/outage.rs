//! Leaders and members of groups after outages of the API server: 5 s later they have reconciled everything.

use crate::{
    common::{ApiExt, Outputs, config_maps, named, server, spawn_outputs, wait_for_change},
    layers::refusing,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_core::ResourceExt;
use kube_operator::{
    leader_election::{self, LeaderElector},
    sharding::{Config, Membership},
};
use kube_runtime::{Controller, controller::Action, watcher};
use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep},
};

const OUTAGES: [u64; 5] = [3, 10, 45, 90, 600];
const KEYS: usize = 60;

type Reconciled = mpsc::UnboundedSender<(String, Option<String>)>;

/// Adds the outputs of a controller that sends name and last change of each object that it reconciles.
fn run(controller: Controller<ConfigMap>, reconciled: &Reconciled) -> Outputs {
    let output = controller.run(
        |map: Arc<ConfigMap>, reconciled: Arc<Reconciled>| async move {
            let _ended = reconciled.send((map.name_any(), map.annotations().get("touched").cloned()));
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        Arc::new(reconciled.clone()),
    );
    spawn_outputs(output)
}

/// Changes every object when an outage ends, and expects that all are reconciled 5 s later.
async fn survive(
    away: &watch::Sender<bool>,
    client: &Client,
    reconciled: &mut mpsc::UnboundedReceiver<(String, Option<String>)>,
) {
    for seconds in OUTAGES {
        sleep(Duration::from_secs(60)).await;
        away.send_replace(true);
        sleep(Duration::from_secs(seconds)).await;
        for n in 0..KEYS {
            config_maps(client).touch(&format!("map-{n}"), &seconds.to_string()).await;
        }
        away.send_replace(false);
        let back = Instant::now();
        let mut done = BTreeSet::new();
        while done.len() < KEYS {
            let (name, change) = reconciled.recv().await.unwrap();
            if change == Some(seconds.to_string()) {
                done.insert(name);
            }
        }
        assert!(back.elapsed() <= Duration::from_secs(5), "{seconds} s: {:?}", back.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_has_reconciled_everything_5_s_after_an_outage() {
    let (server, client) = server();
    for n in 0..KEYS {
        config_maps(&client).add(named(&format!("map-{n}"))).await;
    }
    let (refused, away) = refusing(&server);
    let config = leader_election::Config::new("operator", "default").identity("a");
    let elector = LeaderElector::start(refused.clone(), config).unwrap();
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let controller = Controller::new(config_maps(&refused), watcher::Config::default());
    let _outputs = run(controller.assigned_by(elector.assignments(async || {})), &sender);
    survive(&away, &client, &mut reconciled).await;
}

#[tokio::test(start_paused = true)]
async fn a_group_has_reconciled_everything_5_s_after_an_outage() {
    let (server, client) = server();
    for n in 0..KEYS {
        config_maps(&client).add(named(&format!("map-{n}"))).await;
    }
    let (refused, away) = refusing(&server);
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let mut members = Vec::new();
    for identity in ["a", "b", "c"] {
        let membership =
            Membership::join(refused.clone(), Config::new("group", "default").identity(identity)).unwrap();
        let controller = Controller::new(config_maps(&refused), watcher::Config::default());
        let outputs = run(controller.assigned_by(membership.assignments()), &sender);
        members.push((membership, outputs));
        sleep(Duration::from_millis(700)).await; // they renew at different times
    }
    survive(&away, &client, &mut reconciled).await;
}
