//! Apply sets: kubectl and our calls take turns on one set.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::apply_set::ApplySet;
use kube::yaml::{Applier, Objects};
use serde_json::{Value, json};

use crate::definition::definition;
use crate::kubectl::Kubectl;
use crate::test_env::{Requires, TestEnv, run, skip, unique};

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

/// A definition and its object, two ConfigMaps, and a Deployment where its controller runs.
fn write_directory(directory: &Path, group: &str, with_workload: bool) -> anyhow::Result<()> {
    // Its JSON has apiVersion and kind.
    let gadgets = serde_json::to_value(definition(group, "gadgets", "Gadget", "Namespaced", &["v1"]))?;
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "web" } }, "template": {
            "metadata": { "labels": { "app": "web" } },
            "spec": { "containers": [{ "name": "web", "image": "registry.k8s.io/pause:3.10" }] },
        } },
    });
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    let gadget =
        json!({ "apiVersion": format!("{group}/v1"), "kind": "Gadget", "metadata": { "name": "red" } });
    let mut files = vec![("a", map("a")), ("b", map("b")), ("gadget", gadget), ("gadgets", gadgets)];
    if with_workload {
        files.push(("web", web));
    }
    for (name, object) in files {
        std::fs::write(directory.join(name).with_extension("json"), object.to_string())?;
    }
    Ok(())
}

#[test]
fn a_directory_is_applied_awaited_and_pruned_in_turns_with_kubectl() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(kubectl) = Kubectl::open(env)? else { return skip("KUBE_E2E_KUBECTL is not set") };
            if env.older_than(30) {
                return skip("kubectl 1.37 is not made for this server");
            }
            let (group, directory) = (format!("{}.example.com", unique("turns")), tempfile::tempdir()?);
            write_directory(directory.path(), &group, env.server.is_none())?;
            let remove = |file: &str| std::fs::remove_file(directory.path().join(file));
            let applier = Applier::new(env.client.clone())
                .namespace(&env.namespace)
                .wait_ready(Duration::from_secs(60))
                .prune(ApplySet::secret(&env.namespace, "turns"));
            let ours = async |params: PatchParams| {
                let report = applier.apply(&Objects::read(directory.path())?, &params).await;
                println!("{report}");
                let pruned: Vec<_> = report.pruned().iter().map(ToString::to_string).collect();
                report.into_result()?;
                anyhow::Ok(pruned)
            };
            let path = directory.path().display().to_string();
            let theirs = ["apply", "--server-side", "--prune", "--applyset=turns", "-f", &path];
            // As kubectl's field manager, so that both own the same fields.
            let params = PatchParams::apply("kubectl");

            // Ours starts, with a kind that does not exist before; kubectl prunes, and adds an object.
            assert_eq!(ours(params.clone()).await?, [] as [&str; 0]);
            remove("a.json")?;
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" } });
            std::fs::write(directory.path().join("c.json"), map.to_string())?;
            let printed = kubectl.run(&theirs, "").await?;
            ensure!(printed.contains("configmap/a pruned"), "{printed}");
            ensure!(printed.matches("pruned").count() == 1, "{printed}");

            // Ours prunes what kubectl has added, and what it has itself.
            remove("c.json")?;
            remove("gadget.json")?;
            let expected = [format!("gadget.{group}/red"), "configmap/c".to_owned()];
            assert_eq!(ours(params.clone().dry_run()).await?, expected);
            assert_eq!(ours(params.clone()).await?, expected);
            let maps = env.api::<ConfigMap>();
            assert!(maps.get_opt("c").await?.is_none() && maps.get_opt("b").await?.is_some());

            // Nothing is pruned after an object that failed.
            remove("b.json")?;
            let bad = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "Bad" } });
            std::fs::write(directory.path().join("bad.json"), bad.to_string())?;
            let err = ours(params.clone()).await.expect_err("a bad name").to_string();
            ensure!(
                err.contains("bad.json, document 1, line 1)") && err.contains("nothing was pruned"),
                "{err}"
            );
            assert!(maps.get_opt("b").await?.is_some());
            remove("bad.json")?;
            let printed = kubectl.run(&theirs, "").await?;
            ensure!(printed.contains("configmap/b pruned"), "{printed}");
            let rest = Objects::read(directory.path())?;
            applier.delete(&rest, &DeleteParams::background()).await.into_result()?;
            Ok(())
        }
        .boxed()
    })
}
