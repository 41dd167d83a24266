//! What the workload asks of the server, beside the API.

use super::super::kube::Client;

/// Opens a connection, which is not measured.
pub(super) async fn connect(client: &Client) -> anyhow::Result<()> {
    get(client, "/version").await.map(drop)
}

/// The number of open connections.
pub(super) async fn connections(client: &Client) -> anyhow::Result<f64> {
    Ok(get(client, "/bench/connections").await?.parse()?)
}

/// Ends the watch with 410, as soon as one is open.
pub(super) async fn expire(client: &Client) -> anyhow::Result<()> {
    get(client, "/bench/expire").await.map(drop)
}

/// When the last list began, in nanoseconds since the epoch.
pub(super) async fn listed_at(client: &Client) -> anyhow::Result<u64> {
    Ok(get(client, "/bench/listed-at").await?.parse()?)
}

/// Changes objects, as soon as a watch is open: `count` times, `rate` a second. Returns the time of the last change, in nanoseconds since
/// the epoch.
pub(super) async fn change(client: &Client, count: usize, rate: usize) -> anyhow::Result<u64> {
    Ok(get(client, &format!("/bench/change?count={count}&rate={rate}")).await?.parse()?)
}

/// The JSON of a Pod.
pub(super) async fn pod(client: &Client, name: &str) -> anyhow::Result<String> {
    get(client, &format!("/api/v1/namespaces/default/pods/{name}")).await
}

async fn get(client: &Client, path: &str) -> anyhow::Result<String> {
    Ok(client.request_text(http::Request::get(path).body(Vec::new())?).await?)
}
