//! Dropped watches leave no tasks and no memory behind.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::WatchParams;
use kube_client::{Api, Client};
use kube_testserver::TestServer;

use crate::server::{config_of, create};
use crate::tasks::{alive_tasks, wait_for_tasks};

/// Resident set size of this process, in KiB.
#[cfg(target_os = "linux")]
pub(crate) fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn open_thousand_watches(client: &Client) {
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
    // The first round fills the connection pool, which has a task for each end of a connection, and the allocator's caches.
    open_thousand_watches(&client).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let tasks = alive_tasks();
    #[cfg(target_os = "linux")]
    let memory = rss();
    for _ in 0..2 {
        open_thousand_watches(&client).await;
    }
    wait_for_tasks(tasks).await;
    #[cfg(target_os = "linux")]
    assert!(rss() < memory + 16_384, "{} KiB, before {memory} KiB", rss());
}
