//! The requests for tables.

use k8s_openapi::api::core::v1::Pod;
use kube_client::Api;
use kube_client::api::{ListParams, WatchParams};
use kube_tools::ApiExt as _;

use crate::recorder::Recorder;

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

#[tokio::test]
async fn tables() {
    let recorder = Recorder::new();
    let pods: Api<Pod> = Api::default_namespaced(recorder.client.clone());
    let at = "/api/v1/namespaces/ns/pods";
    let some = ListParams::default().labels("a=b").fields("c=d").limit(5);
    let query = "?&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=5";
    recorder.expect(pods.table(&some), &format!("GET {at}{query} [{TABLE}]")).await;
    recorder.expect(pods.get_table("a"), &format!("GET {at}/a [{TABLE}]")).await;
    let some = WatchParams::default().timeout(10);
    let query = "?&watch=true&timeoutSeconds=10&allowWatchBookmarks=true&resourceVersion=7";
    recorder.expect(pods.watch_table(&some, "7"), &format!("GET {at}{query} [{TABLE}]")).await;
}
