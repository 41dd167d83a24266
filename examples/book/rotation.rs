//! Clients whose credentials change.

use kube::config::KubeConfigOptions;
use kube_testserver::{TestServer, User};

// ANCHOR: all
use kube::client::KubeconfigSecret;
use kube::{Client, Config};

/// Follows `KUBECONFIG`, or `~/.kube/config`, or the files of the pod.
async fn following() -> Result<Client, Box<dyn std::error::Error>> {
    Ok(Client::try_from(Config::infer().await?.follow()?)?)
}

/// A client of a cluster whose kubeconfig is in a Secret of this one, under the key of cluster-api. Follows the Secret.
async fn member(hub: Client, name: &str) -> Result<Client, Box<dyn std::error::Error>> {
    let secret = KubeconfigSecret::new(hub, "fleet", name).key("value");
    Ok(Client::try_from(secret.read().await?.follow()?)?)
}

/// For a client, and its clones, whose token comes from elsewhere.
async fn use_token(client: &Client, mut config: Config, token: String) -> kube::Result<()> {
    config.auth_info.token = Some(token.into());
    client.set_credentials(config).await
}
// ANCHOR_END: all

#[tokio::test]
async fn another_token_is_another_user_of_all_clones() {
    let users = ["ann", "bob"].map(|name| User::new(name).token(name).group("system:masters"));
    let builder =
        users.into_iter().fold(TestServer::builder().tls(), |builder, user| builder.with_user(user));
    let server = builder.start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    std::fs::write(&path, server.kubeconfig()).unwrap();
    let options = KubeConfigOptions { context: Some("ann".into()), ..KubeConfigOptions::default() };
    let config = Config::from_kubeconfig_file(&path, &options).await.unwrap();
    let client = Client::try_from(config.clone()).unwrap();
    let clone = client.clone();
    use_token(&client, config.clone(), "bob".into()).await.unwrap();
    clone.list_api_groups().await.unwrap();
    use_token(&client, config, "nobody".into()).await.unwrap();
    let refused = clone.list_api_groups().await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
}
