//! The metrics that an elector records, compared with the table of `kube_operator::leader_election`.

use crate::{common::server, layers::gated};
use kube_operator::leader_election::{Config, LeaderElector};
use metrics_util::{
    MetricKind,
    debugging::{DebugValue, DebuggingRecorder, Snapshotter},
};
use std::collections::BTreeMap;

/// The rows of the table: name and type, without the value.
fn documented() -> BTreeMap<String, String> {
    let text = include_str!("../../src/leader_election/mod.rs");
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        assert_eq!(cells[2], "name`, `lease_namespace", "the labels of {}", cells[0]);
        (cells[0].to_owned(), cells[1].to_owned())
    })
    .collect()
}

/// The types of all metrics, and their values since the last call: the recorder resets them.
fn recorded(snapshotter: &Snapshotter) -> (BTreeMap<String, String>, BTreeMap<String, f64>) {
    let (mut types, mut values) = (BTreeMap::new(), BTreeMap::new());
    for (key, _unit, description, value) in snapshotter.snapshot().into_vec() {
        let name = key.key().name().to_owned();
        assert!(description.is_some(), "{name} has no description");
        let labels: Vec<_> = key.key().labels().map(|label| (label.key(), label.value())).collect();
        assert_eq!(labels, [("name", "my-operator"), ("lease_namespace", "default")], "{name}");
        let kind = if key.kind() == MetricKind::Gauge { "gauge" } else { "counter" };
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(_) => panic!("{name} is a histogram"),
        };
        types.insert(name.clone(), kind.to_owned());
        values.insert(name, value);
    }
    (types, values)
}

#[tokio::test(start_paused = true)]
async fn an_elector_records_what_the_table_says() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (server, _client) = server();
    let (client, gate) = gated(&server, "leases");
    let elector = LeaderElector::start(client, Config::new("my-operator", "default")).unwrap();
    let (types, first) = recorded(&snapshotter);
    assert_eq!(types, documented());
    assert!(first.values().all(|value| *value == 0.0), "{first:?}");

    elector.wait_for_leadership().await.unwrap();
    let (_, leading) = recorded(&snapshotter);
    assert_eq!(leading["leader_election_master_status"], 1.0);
    assert_eq!(leading["leader_election_slowpath_total"], 0.0);
    assert_eq!(leading["kube_runtime_leader_election_transitions_total"], 1.0);

    gate.send_replace(false); // a renewal gets no response, so the next one reads the Lease first
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    gate.send_replace(true);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let (_, renewed) = recorded(&snapshotter);
    assert_eq!(renewed["leader_election_slowpath_total"], 1.0);
    assert_eq!(renewed["kube_runtime_leader_election_transitions_total"], 0.0, "it leads all the time");

    elector.release().await;
    let (_, ended) = recorded(&snapshotter);
    assert_eq!(ended["leader_election_master_status"], -1.0, "one less than at the last call");
    assert_eq!(ended["kube_runtime_leader_election_transitions_total"], 1.0);
}

#[tokio::test(start_paused = true)]
async fn electors_of_one_name_do_not_overwrite_each_other() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (_server, client) = server();
    let start = |namespace: &str, identity: &str| {
        let config = Config::new("my-operator", namespace).identity(identity);
        LeaderElector::start(client.clone(), config).unwrap()
    };
    let first = start("default", "a");
    first.wait_for_leadership().await.unwrap();
    let _second = start("default", "b");
    let other = start("kube-system", "a");
    other.wait_for_leadership().await.unwrap();
    other.release().await;
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    let status: BTreeMap<_, _> = snapshotter
        .snapshot()
        .into_vec()
        .into_iter()
        .filter(|(key, ..)| key.key().name() == "leader_election_master_status")
        .map(|(key, _, _, value)| {
            let labels: Vec<_> = key.key().labels().map(|label| label.value().to_owned()).collect();
            (labels[1].clone(), value)
        })
        .collect();
    let expected = [
        ("default".to_owned(), DebugValue::Gauge(1.0.into())),
        ("kube-system".to_owned(), DebugValue::Gauge(0.0.into())),
    ];
    assert_eq!(status, expected.into());
}
