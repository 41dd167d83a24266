//! Exec plugins against a server with authentication: concurrent requests share one run, and a refused credential is refreshed.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::ListParams;
use kube_client::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use kube_client::{Api, Client, Error};
use kube_testserver::{TestServer, User};

use crate::server::config_of;

/// Appends to the file `runs`, and prints the token in the file `token`.
const PLUGIN: &str = r#"echo ran >>"$0/runs"; sleep 0.2
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat "$0/token")""#;

fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_plugin_runs_once_for_concurrent_requests_and_again_after_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "not-known-yet").unwrap();
    let admin = User::new("robot").group("system:masters").token("known");
    let server = TestServer::builder().tls().with_rbac().with_user(admin).start().await.unwrap();
    let exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".into()),
        command: Some("sh".into()),
        args: Some(vec!["-c".into(), PLUGIN.into(), folder.path().to_str().unwrap().into()]),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    };
    let mut config = config_of(&server);
    config.auth_info = AuthInfo { exec: Some(exec), ..AuthInfo::default() };
    // Two clients of one configuration send requests concurrently.
    let clients = [Client::try_from(config.clone()).unwrap(), Client::try_from(config).unwrap()];
    let maps: Vec<Api<ConfigMap>> = clients.into_iter().map(Api::default_namespaced).collect();
    let (few, params) = ([&maps[0], &maps[1], &maps[0], &maps[1]], ListParams::default());

    // A new credential is not refreshed, even if the server refuses it.
    for outcome in join_all(few.map(|maps| maps.list(&params))).await {
        assert!(matches!(&outcome, Err(Error::Api(status)) if status.code == 401), "{outcome:?}");
    }
    assert_eq!(runs(folder.path()), 1);
    std::fs::write(folder.path().join("token"), "known").unwrap();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(6)).await;
    tokio::time::resume();
    for outcome in join_all(few.map(|maps| maps.list(&params))).await {
        outcome.unwrap();
    }
    assert_eq!(runs(folder.path()), 2);
    server.shutdown().await;
}
