//! What a user sees who got something wrong: one clear error that names it.

use std::error::Error;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The error and all that caused it, as a program would print it.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn kubeconfig(cluster: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts:\n- {{name: here, context: {{cluster: c, user: u}}}}\nclusters:\n- {{name: c, cluster: {{{cluster}}}}}\nusers:\n- {{name: u, user: {{}}}}\n"
    )
}

async fn load(text: &str, options: &KubeConfigOptions) -> String {
    match Kubeconfig::from_yaml(text) {
        Err(error) => told(&error),
        Ok(kubeconfig) => match Config::from_custom_kubeconfig(kubeconfig, options).await {
            Err(error) => told(&error),
            Ok(config) => panic!("expected a refusal, got {config:?}"),
        },
    }
}

#[tokio::test]
async fn an_unknown_context_is_named() {
    let options = KubeConfigOptions { context: Some("elsewhere".into()), ..KubeConfigOptions::default() };
    let text = load(&kubeconfig("server: \"https://127.0.0.1:1\""), &options).await;
    assert!(text.contains("elsewhere"), "{text}");
}

#[tokio::test]
async fn malformed_yaml_is_located() {
    let text = load("clusters: [\n- name", &KubeConfigOptions::default()).await;
    assert!(text.contains("line"), "{text}");
}

#[tokio::test]
async fn an_unreadable_ca_file_is_named() {
    let text = kubeconfig("server: \"https://127.0.0.1:1\", certificate-authority: /no/such/ca.crt");
    let text = load(&text, &KubeConfigOptions::default()).await;
    assert!(text.contains("/no/such/ca.crt"), "{text}");
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_an_error_at_once() -> anyhow::Result<()> {
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig("server: \"http://127.0.0.1:1\""))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let asked = tokio::time::timeout(std::time::Duration::from_secs(5), client.apiserver_version()).await?;
    let text = told(&asked.expect_err("nothing listens there"));
    assert!(text.contains("refused"), "{text}");
    Ok(())
}
