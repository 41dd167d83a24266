//! Apply sets: kubectl and our calls take turns on one set.

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::apply_set::ApplySet;
use serde_json::{Value, json};

use crate::kubectl::Kubectl;
use crate::test_env::{Requires, TestEnv, run, skip};

/// ConfigMaps and Secrets by these names.
fn manifests(env: &TestEnv, maps: &[&str], secrets: &[&str]) -> Vec<Value> {
    let object = |kind: &'static str| move |name: &&str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name, "namespace": env.namespace } });
    maps.iter().map(object("ConfigMap")).chain(secrets.iter().map(object("Secret"))).collect()
}

async fn ours(env: &TestEnv, set: &ApplySet, maps: &[&str], secrets: &[&str]) -> anyhow::Result<Vec<String>> {
    let mut objects = Vec::new();
    for manifest in manifests(env, maps, secrets) {
        let resource = match manifest["kind"].as_str() {
            Some("Secret") => ApiResource::erase::<Secret>(&()),
            _ => ApiResource::erase::<ConfigMap>(&()),
        };
        objects.push((resource, serde_json::from_value(manifest)?));
    }
    let applying = set.begin(&env.client, &mut objects).await?;
    let mut applied = Vec::new();
    for (resource, object) in &objects {
        let api: Api<DynamicObject> = Api::namespaced_with(env.client.clone(), &env.namespace, resource);
        let name = object.metadata.name.as_deref().context("a name")?;
        // As kubectl's field manager, so that both own the same fields.
        applied.push(api.patch(name, &PatchParams::apply("kubectl"), &Patch::Apply(object)).await?);
    }
    Ok(applying.finish(&applied).await?.iter().map(ToString::to_string).collect())
}

async fn theirs(
    env: &TestEnv,
    kubectl: &Kubectl,
    set: &str,
    maps: &[&str],
    secrets: &[&str],
) -> anyhow::Result<String> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": manifests(env, maps, secrets) });
    let set = format!("--applyset={set}");
    let args = ["apply", "--server-side", "--prune", &set, "-f", "-"];
    kubectl.run(&args, &list.to_string()).await
}

/// The names of the ConfigMaps and Secrets that are members of a set.
async fn members(env: &TestEnv, set: &ApplySet) -> anyhow::Result<Vec<String>> {
    let lp = kube::api::ListParams::default().labels(&format!("applyset.kubernetes.io/part-of={}", set.id()));
    let maps = env.api::<ConfigMap>().list(&lp).await?.items.into_iter().filter_map(|map| map.metadata.name);
    let secrets =
        env.api::<Secret>().list(&lp).await?.items.into_iter().filter_map(|secret| secret.metadata.name);
    Ok(maps.chain(secrets).collect())
}

fn kinds(annotations: Option<std::collections::BTreeMap<String, String>>) -> String {
    annotations
        .and_then(|mut all| all.remove("applyset.kubernetes.io/contains-group-kinds"))
        .unwrap_or_default()
}

#[test]
fn kubectl_and_ours_take_turns() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(kubectl) = Kubectl::open(env)? else { return skip("KUBE_E2E_KUBECTL is not set") };
            if env.older_than(30) {
                return skip("kubectl 1.37 is not made for this server");
            }
            let recorded = async |name: &str| {
                anyhow::Ok(kinds(env.api::<Secret>().get(name).await?.metadata.annotations))
            };

            // Ours starts, kubectl prunes, ours prunes.
            let set = ApplySet::secret(&env.namespace, "one");
            assert_eq!(ours(env, &set, &["a", "b"], &["s"]).await?, [] as [&str; 0]);
            assert_eq!(recorded("one").await?, "ConfigMap,Secret");
            let printed = theirs(env, &kubectl, "one", &["b", "c"], &[]).await?;
            ensure!(
                printed.contains("configmap/a pruned") && printed.contains("secret/s pruned"),
                "{printed}"
            );
            assert_eq!(members(env, &set).await?, ["b", "c"]);
            assert_eq!(recorded("one").await?, "ConfigMap");
            assert_eq!(ours(env, &set, &["c"], &["s"]).await?, ["configmap/b"]);
            assert_eq!(recorded("one").await?, "ConfigMap,Secret");
            let printed = theirs(env, &kubectl, "one", &["c"], &[]).await?;
            ensure!(printed.contains("secret/s pruned"), "{printed}");
            assert_eq!(members(env, &set).await?, ["c"]);

            // kubectl starts, on a ConfigMap; ours prunes.
            let set = ApplySet::config_map(&env.namespace, "two");
            theirs(env, &kubectl, "configmaps/two", &["x", "y"], &["z"]).await?;
            assert_eq!(members(env, &set).await?, ["x", "y", "z"]);
            assert_eq!(ours(env, &set, &["y"], &[]).await?, ["configmap/x", "secret/z"]);
            theirs(env, &kubectl, "configmaps/two", &["y", "w"], &[]).await?;
            let parent = env.api::<ConfigMap>().get("two").await?;
            assert_eq!(kinds(parent.metadata.annotations.clone()), "ConfigMap");

            // A parent that both have written has one owner of its fields, so that either can remove what the other has recorded.
            let managers: Vec<_> = parent
                .metadata
                .managed_fields
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.manager)
                .collect();
            assert_eq!(managers, ["kubectl-applyset"]);

            // Sets of other tools are refused on both sides.
            let mine = ApplySet::secret(&env.namespace, "mine").tooling("mine/v1");
            ours(env, &mine, &["m"], &[]).await?;
            let refused = theirs(env, &kubectl, "mine", &["m"], &[]).await.expect_err("another tool");
            ensure!(refused.to_string().contains("managed by tooling \"mine\""), "{refused}");
            let other = ApplySet::secret(&env.namespace, "one").tooling("mine/v1");
            let refused = ours(env, &other, &["n"], &[]).await.expect_err("another tool");
            ensure!(refused.to_string().contains("belongs to another tool"), "{refused}");
            Ok(())
        }
        .boxed()
    })
}
