//! Checks a kubeconfig: prints its server, the server's version and kinds, and the namespaces that the user may list.
//!
//!     cargo run -p kube-client --example doctor -- [CONTEXT]

use k8s_openapi::api::core::v1::Namespace;
use kube_client::api::ListParams;
use kube_client::config::KubeConfigOptions;
use kube_client::error::ErrorChain;
use kube_client::{Api, Client, Config, Discovery, ResourceExt};

#[tokio::main]
async fn main() -> std::process::ExitCode {
    match examine(std::env::args().nth(1)).await {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {}", ErrorChain(&*err));
            std::process::ExitCode::FAILURE
        }
    }
}

async fn examine(context: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    let config = match context {
        Some(_) => {
            Config::from_kubeconfig(&KubeConfigOptions { context, ..KubeConfigOptions::default() }).await?
        }
        None => Config::infer().await?,
    };
    println!("server:     {}", config.cluster_url.host().unwrap_or_default()); // the URL may contain a password
    println!("namespace:  {}", config.default_namespace);
    let client = Client::try_from(config)?;
    println!("version:    {}", client.apiserver_version().await?.git_version);
    let discovery = Discovery::new(client.clone()).run().await?;
    let kinds: usize = discovery.groups().map(|group| group.resources_by_stability().len()).sum();
    println!("kinds:      {kinds} in {} groups", discovery.groups().count());
    let namespaces = Api::<Namespace>::all(client).list(&ListParams::default()).await?;
    println!("namespaces: {}", namespaces.iter().map(ResourceExt::name_any).collect::<Vec<_>>().join(", "));
    Ok(())
}
