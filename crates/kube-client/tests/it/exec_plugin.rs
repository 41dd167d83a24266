//! Exec plugins against a server with authentication: concurrent requests share one run, and a refused credential is refreshed.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::ListParams;
use kube_client::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use kube_client::{Api, Client, Config, Error};
use kube_testserver::{TestServer, User};

use crate::server::config_of;

/// Appends to the file `runs`, and prints the token in the file `token`.
const PLUGIN: &str = r#"echo ran >>"$0/runs"; sleep 0.2
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat "$0/token")""#;

/// Credentials by a shell script, whose `$0` is the folder.
fn config_with_plugin(server: &TestServer, script: &str, folder: &Path) -> Config {
    let exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".into()),
        command: Some("sh".into()),
        args: Some(vec!["-c".into(), script.into(), folder.to_str().unwrap().into()]),
        interactive_mode: Some(ExecInteractiveMode::Never),
        ..ExecConfig::default()
    };
    let mut config = config_of(server);
    config.auth_info = AuthInfo { exec: Some(exec), ..AuthInfo::default() };
    config
}

fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("runs")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn a_plugin_runs_once_for_concurrent_requests_and_again_after_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "not-known-yet").unwrap();
    let admin = User::new("robot").group("system:masters").token("known");
    let server = TestServer::builder().tls().with_rbac().with_user(admin).start().await.unwrap();
    let config = config_with_plugin(&server, PLUGIN, folder.path());
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

/// Appends to the file `runs`, waits until something is written to the FIFO `gate`, and fails if there was no token at its start.
const GATED_PLUGIN: &str = r#"token=$(cat "$0/token"); echo ran >>"$0/runs"; cat "$0/gate"; [ -n "$token" ] || exit 1
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$token""#;

/// The user may have logged in meanwhile.
#[tokio::test]
async fn a_failed_run_that_began_before_a_request_does_not_fail_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("token"), "").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path("gate")).status().unwrap().success());
    let server = TestServer::start().await.unwrap();
    let config = config_with_plugin(&server, GATED_PLUGIN, folder.path());
    let client = Client::try_from(config).unwrap();
    let request = |client: &Client| {
        let client = client.clone();
        tokio::spawn(async move { client.apiserver_version().await })
    };
    let runs_are = async |expected: usize| {
        while runs(folder.path()) < expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let go_on = || {
        let gate = path("gate");
        tokio::task::spawn_blocking(move || std::fs::write(gate, ""))
    };
    let scenario = async {
        let before = request(&client);
        runs_are(1).await;
        std::fs::write(path("token"), "known").unwrap();
        let after = [request(&client), request(&client)];
        tokio::time::sleep(Duration::from_millis(50)).await;
        go_on().await.unwrap().unwrap();
        assert!(matches!(before.await.unwrap(), Err(Error::Auth(_))));
        runs_are(2).await;
        go_on().await.unwrap().unwrap();
        for answered in join_all(after).await {
            answered.unwrap().unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), scenario).await.expect("it takes no time");
    assert_eq!(runs(folder.path()), 2);
}
