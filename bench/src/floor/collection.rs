//! A collection, as pages of a list and as events of a watch.

use anyhow::ensure;
use http_body_util::BodyExt;
use k8s_openapi::{List, ListableResource};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::connection::Connection;

pub(super) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(super) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Calls `keep` with each page of a list.
pub(super) async fn each_page<K: DeserializeOwned + ListableResource>(
    connection: &mut Connection,
    collection: &str,
    mut keep: impl FnMut(Vec<K>),
) -> anyhow::Result<()> {
    let mut path = format!("{collection}?limit=500");
    loop {
        let page: List<K> = serde_json::from_slice(&connection.get(&path).await?)?;
        keep(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => path = format!("{collection}?limit=500&continue={token}"),
            None => return Ok(()),
        }
    }
}

/// Calls `keep` with each of `count` Pods of a watch.
pub(super) async fn each_event<K: DeserializeOwned>(
    connection: &mut Connection,
    count: usize,
    mut keep: impl FnMut(K),
) -> anyhow::Result<()> {
    #[derive(Deserialize)]
    struct Event<K> {
        object: K,
    }
    // A watch from version 1 makes the server send all objects as events.
    let mut body = connection.open(&format!("{PODS}?watch=true&resourceVersion=1")).await?;
    let (mut received, mut seen) = (Vec::new(), 0);
    while seen < count
        && let Some(frame) = body.frame().await
    {
        let Ok(data) = frame?.into_data() else { continue };
        received.extend_from_slice(&data);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &received) {
            let Event { object } = serde_json::from_slice(&received[start..end])?;
            keep(object);
            (start, seen) = (end + 1, seen + 1);
        }
        received.drain(..start);
    }
    ensure!(seen == count, "received {seen} of {count} events");
    Ok(())
}
