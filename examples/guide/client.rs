//! Chapters "Client internals" and "The journey of a request": layers, timeouts, errors.

use super::prelude::*;

async fn call_timeout(pods: Api<Pod>) -> anyhow::Result<()> {
    // Guard against slow calls inside reconciler
    let pod = tokio::time::timeout(
        Duration::from_secs(10),
        pods.get("my-pod")
    ).await??;
    Ok(())
}

async fn custom_layers() -> anyhow::Result<()> {
    use kube::client::ClientBuilder;

    let config = Config::infer().await?;
    let client = ClientBuilder::try_from(config)?
        // Custom Tower layers can be added here
        .build();
    Ok(())
}

async fn client_timeouts() -> anyhow::Result<()> {
    // Default Client — no timeout (works for watcher, exec, etc.)
    let client = Client::try_default().await?;

    // If you need a short timeout for a specific use case
    let mut config = Config::infer().await?;
    config.read_timeout = Some(Duration::from_secs(30));
    let short_timeout_client = Client::try_from(config)?;
    Ok(())
}

async fn list_request() -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let list = pods.list(&ListParams::default()).await?;
    Ok(())
}

async fn api_errors(pods: Api<Pod>) {
    let err = pods.get("nonexistent").await.unwrap_err();
    if let kube::Error::Api(status) = err {
        println!("code: {}", status.code);       // 404
        println!("reason: {}", status.reason);    // "NotFound"
        println!("message: {}", status.message);  // "pods \"nonexistent\" not found"
    }
}

async fn lists_and_watches(pods: Api<Pod>, lp: ListParams) -> anyhow::Result<()> {
    // Regular request: done when it completes
    let list = pods.list(&lp).await?;

    // Watch request: infinite stream
    let mut stream = pods.watch(&WatchParams::default(), "0").await?;
    while let Some(event) = stream.try_next().await? {
        // Process each WatchEvent one by one
    }
    Ok(())
}
