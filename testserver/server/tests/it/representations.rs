//! Metadata-only representations.

use serde_json::json;

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn metadata_lists_contain_metadata_only() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let list = client
        .get_as("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", CONFIG_MAPS)
        .await
        .ok();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    let item = &list["items"][0];
    assert_eq!((&item["kind"], item.get("data")), (&json!("PartialObjectMetadata"), None));
    client.get_as("text/html", CONFIG_MAPS).await.refused(406, "NotAcceptable");
}
