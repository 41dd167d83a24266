//! What is started and dropped leaves nothing behind.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::WatchParams;
use kube_client::{Api, Client};
use kube_testserver::TestServer;

use crate::server::{config_of, create};

/// Waits until no more than this many tasks are alive.
pub(crate) async fn settle(tasks: usize) {
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for _ in 0..500 {
        if alive() <= tasks {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} tasks are alive, expected {tasks}", alive());
}

pub(crate) fn alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// Memory that this process holds, in KiB.
#[cfg(target_os = "linux")]
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn thousand_watches(client: &Client) {
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut watches = Vec::new();
    for _ in 0..1000 {
        let mut watch = Box::pin(api.watch(&WatchParams::default(), "0").await.unwrap());
        watch.next().await.unwrap().unwrap();
        watches.push(watch);
    }
}

#[tokio::test]
async fn a_thousand_watches_leave_no_task_and_no_memory_behind() {
    let server = TestServer::builder().tls().start().await.unwrap();
    let client = Client::try_from(config_of(&server)).unwrap();
    create(&client, "a").await.unwrap();
    // Connections stay in the pool, each with its task on either side; so does what the allocator keeps.
    thousand_watches(&client).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let tasks = alive();
    #[cfg(target_os = "linux")]
    let memory = resident();
    for _ in 0..2 {
        thousand_watches(&client).await;
    }
    settle(tasks).await;
    #[cfg(target_os = "linux")]
    assert!(resident() < memory + 16_384, "{} KiB, before {memory} KiB", resident());
}
