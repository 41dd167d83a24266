//! Changes an object that others change as well.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

/// Sets an entry of a ConfigMap. If another client changes the map in the same moment, it is read and changed again.
pub async fn set(maps: &Api<ConfigMap>, name: &str, key: &str, value: &str) -> kube::Result<ConfigMap> {
    maps.get_or_create(name, ConfigMap::default).await?;
    maps.update_with_retry(name, |map| {
        map.data.get_or_insert_default().insert(key.to_owned(), value.to_owned());
    })
    .await
}
// ANCHOR_END: all
