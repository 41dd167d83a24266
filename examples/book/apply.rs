//! What a program does with server-side apply.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, api::PatchParams};

// ANCHOR: all
use kube::apply::{Sparse, extract};
use kube::prelude::*;

/// Applies `wanted` beside all that this program has applied before, and takes over what others own of it.
async fn apply_more(
    maps: &Api<ConfigMap>,
    wanted: Sparse<ConfigMap>,
    name: &str,
) -> Result<ConfigMap, Box<dyn std::error::Error>> {
    // Once, for objects that a former version of the program created and replaced.
    maps.adopt(name, "painter").await?;
    let applied = extract(&maps.get(name).await?, "painter", None)?;
    let wanted = applied.merge(wanted);
    match maps.apply(&PatchParams::apply("painter"), &wanted).await {
        Err(error) if !error.field_conflicts().is_empty() => {
            for conflict in error.field_conflicts() {
                eprintln!("{} has set {}", conflict.manager_name(), conflict.field);
            }
            Ok(maps.apply(&PatchParams::apply("painter").force(), &wanted).await?)
        }
        result => Ok(result?),
    }
}
// ANCHOR_END: all

#[tokio::test]
async fn a_configuration_grows_and_keeps_what_was_applied() -> Result<(), Box<dyn std::error::Error>> {
    let maps: Api<ConfigMap> =
        Api::default_namespaced(Client::new(kube_testserver::ApiServer::new(), "default"));
    let map = |data: &[(&str, &str)]| {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("settings".into());
        map.data = Some(data.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect());
        map
    };
    let params = kube::api::PostParams { field_manager: Some("painter".into()), ..Default::default() };
    maps.create(&params, &map(&[("color", "blue")])).await?;
    let other = maps.apply(&PatchParams::apply("other"), &map(&[("size", "1")])).await?;
    let more = extract(&other, "other", None)?;
    maps.apply(&PatchParams::apply("other"), &map(&[("size", "2")])).await?;
    let both = apply_more(&maps, more, "settings").await?.data.unwrap_or_default();
    assert_eq!((both["color"].as_str(), both["size"].as_str()), ("blue", "1"));
    Ok(())
}
