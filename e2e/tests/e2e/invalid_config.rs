//! Invalid configuration: each error names what is wrong.

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::error::ErrorChain;
use kube::{Client, Config};

fn kubeconfig(cluster: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts:\n- {{name: here, context: {{cluster: c, user: u}}}}\nclusters:\n- {{name: c, cluster: {{{cluster}}}}}\nusers:\n- {{name: u, user: {{}}}}\n"
    )
}

/// Loads the kubeconfig and returns the error, with its causes.
async fn load_error(text: &str, options: &KubeConfigOptions) -> String {
    match Kubeconfig::from_yaml(text) {
        Err(error) => ErrorChain(&error).to_string(),
        Ok(kubeconfig) => match Config::from_custom_kubeconfig(kubeconfig, options).await {
            Err(error) => ErrorChain(&error).to_string(),
            Ok(config) => panic!("expected an error, got {config:?}"),
        },
    }
}

#[tokio::test]
async fn an_unknown_context_error_names_the_context() {
    let options = KubeConfigOptions { context: Some("elsewhere".into()), ..KubeConfigOptions::default() };
    let text = load_error(&kubeconfig("server: \"https://127.0.0.1:1\""), &options).await;
    assert!(text.contains("elsewhere"), "{text}");
}

#[tokio::test]
async fn a_yaml_error_names_the_line() {
    let text = load_error("clusters: [\n- name", &KubeConfigOptions::default()).await;
    assert!(text.contains("line"), "{text}");
}

#[tokio::test]
async fn an_unreadable_ca_file_error_names_the_file() {
    let text = kubeconfig("server: \"https://127.0.0.1:1\", certificate-authority: /no/such/ca.crt");
    let text = load_error(&text, &KubeConfigOptions::default()).await;
    assert!(text.contains("/no/such/ca.crt"), "{text}");
}

#[tokio::test]
async fn an_unreachable_cluster_is_an_immediate_error() -> anyhow::Result<()> {
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig("server: \"http://127.0.0.1:1\""))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let version = tokio::time::timeout(std::time::Duration::from_secs(5), client.apiserver_version()).await?;
    let text = ErrorChain(&version.expect_err("nothing listens on this port")).to_string();
    assert!(text.contains("refused"), "{text}");
    Ok(())
}
