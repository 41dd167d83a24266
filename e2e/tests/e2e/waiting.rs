//! Readiness, rollouts and conditions, compared with `kubectl rollout status` and `kubectl wait`.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::{FutureExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Patch, PatchParams, PostParams};
use kube::ready::Readiness;
use kube::wait::{WaitError, WaitFor};
use kube::{Api, ApiExt};
use serde_json::{Value, json};

use crate::kubectl::Kubectl;
use crate::test_env::{Requires, TestEnv, run, skip};

/// Why a scenario is skipped.
const NO_KUBECTL: &str = "KUBE_E2E_KUBECTL is not set";

const TIMEOUT: Duration = Duration::from_secs(45);

/// A workload of this kind with two replicas; pods that need a node which does not exist are never scheduled.
fn workload<K: serde::de::DeserializeOwned>(name: &str, spec: Value, schedulable: bool) -> anyhow::Result<K> {
    let labels = json!({ "app": name });
    let selector = if schedulable { json!({}) } else { json!({ "no-such-node": "" }) };
    let template = json!({
        "metadata": { "labels": labels },
        "spec": { "nodeSelector": selector, "containers": [{ "name": "c", "image": "registry.k8s.io/pause:3.10" }] },
    });
    let mut object = json!({ "metadata": { "name": name }, "spec": { "selector": { "matchLabels": labels }, "template": template } });
    for (field, value) in spec.as_object().context("an object")? {
        object["spec"][field] = value.clone();
    }
    Ok(serde_json::from_value(object)?)
}

/// One look at the state: the message, or what kubectl prints as an error.
async fn look(states: impl futures::Stream<Item = Result<Readiness, WaitError>>) -> anyhow::Result<String> {
    let mut states = std::pin::pin!(states);
    Ok(states.try_next().await?.context("a state")?.to_string())
}

/// What kubectl prints, or its error.
async fn rollout_status(kubectl: &Kubectl, workload: &str) -> String {
    match kubectl.run(&["rollout", "status", "--watch=false", workload], "").await {
        Ok(text) => text.trim().to_owned(),
        Err(err) => {
            err.to_string().split_once("error: ").map_or(err.to_string(), |(_, text)| text.trim().to_owned())
        }
    }
}

/// Without controllers, so that every status can be set.
#[test]
fn every_state_of_a_rollout_has_the_text_of_kubectl() -> anyhow::Result<()> {
    run(Requires::EmbeddedServer, |env| {
        async move {
            let Some(kubectl) = Kubectl::open(env)? else { return skip(NO_KUBECTL) };
            let (params, deployments) = (PostParams::default(), env.api::<Deployment>());
            deployments.create(&params, &workload("d", json!({ "replicas": 3 }), true)?).await?;
            let deadline = json!([{ "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded" }]);
            for status in [
                json!({}),
                json!({ "observedGeneration": 1 }),
                json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 3, "availableReplicas": 3 }),
                json!({ "observedGeneration": 1, "replicas": 4, "updatedReplicas": 3, "availableReplicas": 3 }),
                json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 2 }),
                json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3 }),
                json!({ "observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "conditions": deadline }),
            ] {
                let patch = Patch::Merge(json!({ "status": status }));
                deployments.patch_status("d", &PatchParams::default(), &patch).await?;
                let (ours, theirs) = (look(deployments.rollout_status("d")).await?, rollout_status(&kubectl, "deploy/d").await);
                assert_eq!(ours, theirs, "{status}");
            }

            let sets = env.api::<StatefulSet>();
            let rolling = |partition: i64| json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": partition } });
            let counts = |ready: i64, updated: i64| {
                json!({ "observedGeneration": 1, "replicas": 3, "readyReplicas": ready, "updatedReplicas": updated,
                        "currentReplicas": 3, "currentRevision": "r-1", "updateRevision": "r-2" })
            };
            for (name, strategy) in [("s0", rolling(0)), ("s1", rolling(1))] {
                let spec = json!({ "replicas": 3, "serviceName": "s", "updateStrategy": strategy });
                sets.create(&params, &workload(name, spec, true)?).await?;
                for status in [json!({}), counts(1, 0), counts(3, 1), counts(3, 2), counts(3, 3)] {
                    let patch = Patch::Merge(json!({ "status": status }));
                    sets.patch_status(name, &PatchParams::default(), &patch).await?;
                    let theirs = rollout_status(&kubectl, &format!("statefulset/{name}")).await;
                    assert_eq!(look(sets.rollout_status(name)).await?, theirs, "{name} {status}");
                }
            }

            let daemons = env.api::<DaemonSet>();
            daemons.create(&params, &workload("a", json!({}), true)?).await?;
            let counts = |updated: i64, available: i64| {
                json!({ "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": updated,
                        "numberAvailable": available, "currentNumberScheduled": 2, "numberMisscheduled": 0, "numberReady": available })
            };
            for status in [json!({}), counts(1, 2), counts(2, 1), counts(2, 2)] {
                let patch = Patch::Merge(json!({ "status": status }));
                daemons.patch_status("a", &PatchParams::default(), &patch).await?;
                assert_eq!(look(daemons.rollout_status("a")).await?, rollout_status(&kubectl, "ds/a").await, "{status}");
            }
            Ok(())
        }
        .boxed()
    })
}

/// Nodes on which pods become ready.
async fn has_nodes(env: &TestEnv) -> anyhow::Result<bool> {
    Ok(env.server.is_none()
        && !Api::<Node>::all(env.client.clone()).list(&Default::default()).await?.items.is_empty())
}

#[test]
fn rollouts_on_nodes_end_as_those_of_kubectl() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            if !has_nodes(env).await? {
                return skip("the server has no nodes");
            }
            let Some(kubectl) = Kubectl::open(env)? else { return skip(NO_KUBECTL) };
            let (params, deployments) = (PostParams::default(), env.api::<Deployment>());
            let sets = env.api::<StatefulSet>();
            deployments.create(&params, &workload("web", json!({ "replicas": 2 }), true)?).await?;
            let progress: Vec<_> = deployments.rollout_status("web").try_collect().await?;
            ensure!(progress.len() > 1, "there was progress to see: {progress:?}");
            assert_eq!(
                progress.last().context("a last one")?.to_string(),
                rollout_status(&kubectl, "deploy/web").await
            );
            let restarted = deployments.restart_and_wait("web", TIMEOUT).await?;
            assert_eq!(restarted.metadata.generation, Some(2));
            kubectl
                .run(&["rollout", "status", "--timeout=1s", "deploy/web"], "")
                .await
                .context("kubectl says that it is not done")?;
            let scaled = deployments.scale_and_wait("web", 3, TIMEOUT).await?;
            assert_eq!(scaled.status.and_then(|status| status.available_replicas), Some(3));

            sets.create(&params, &workload("set", json!({ "replicas": 2, "serviceName": "s" }), true)?)
                .await?;
            sets.wait_ready("set", TIMEOUT).await?;
            assert_eq!(
                look(sets.rollout_status("set")).await?,
                rollout_status(&kubectl, "statefulset/set").await
            );
            let daemons = env.api::<DaemonSet>();
            daemons.create(&params, &workload("agent", json!({}), true)?).await?;
            daemons.wait_ready("agent", TIMEOUT).await?;
            assert_eq!(
                look(daemons.rollout_status("agent")).await?,
                rollout_status(&kubectl, "ds/agent").await
            );

            // What cannot be scheduled exceeds its deadline.
            let stuck = json!({ "replicas": 1, "progressDeadlineSeconds": 2, "minReadySeconds": 0 });
            deployments.create(&params, &workload("stuck", stuck, false)?).await?;
            let err = deployments.wait_ready("stuck", TIMEOUT).await.expect_err("no node");
            ensure!(matches!(err, WaitError::Failed { .. }), "{err}");
            let theirs = rollout_status(&kubectl, "deploy/stuck").await;
            ensure!(err.to_string().ends_with(&theirs), "{err}: {theirs}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn conditions_hold_when_they_hold_for_kubectl() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let Some(kubectl) = Kubectl::open(env)? else { return skip(NO_KUBECTL) };
            if env.older_than(30) {
                return skip("kubectl 1.37 is not made for this server");
            }
            let deployments = env.api::<Deployment>();
            deployments.create(&PostParams::default(), &workload("d", json!({ "replicas": 0 }), true)?).await?;
            let map = json!({ "metadata": { "name": "m", "labels": { "a.b/c": "x" } }, "data": { "n": "1", "e": "" } });
            env.api::<ConfigMap>().create(&PostParams::default(), &serde_json::from_value(map)?).await?;
            if env.server.is_some() {
                let conditions = json!([{ "type": "Available", "status": "True" }, { "type": "Progressing", "status": "False" }]);
                let patch = Patch::Merge(json!({ "status": { "observedGeneration": 1, "conditions": conditions } }));
                deployments.patch_status("d", &PatchParams::default(), &patch).await?;
            } else {
                deployments.wait_for("d", &WaitFor::condition("Available"), TIMEOUT).await?;
            }
            for condition in [
                "condition=Available",
                "condition=available=TRUE",
                "condition=Available=False",
                "condition=Nope",
                "jsonpath={.spec.replicas}=0",
                "jsonpath=.spec.replicas=0",
                "jsonpath={.spec.replicas}=1",
                "jsonpath={.metadata.name}=d",
                "jsonpath={.metadata.name}='d'",
                "jsonpath={.metadata.nope}",
                "jsonpath={.spec.template}",
                r#"jsonpath={.status.conditions[?(@.type=="Available")].status}=True"#,
                r#"jsonpath={.status.conditions[?(@.type=="Available")].status}=False"#,
                "jsonpath={.spec.template}=x",
                "create",
                "delete",
            ] {
                compare(&kubectl, &deployments, "deploy/d", "d", condition).await?;
            }
            let maps = env.api::<ConfigMap>();
            for condition in [
                r"jsonpath={.metadata.labels.a\.b/c}=x",
                "jsonpath={.data.n}=1",
                "jsonpath={.data.e}",
                "jsonpath={.data}",
                "condition=Ready",
            ] {
                compare(&kubectl, &maps, "cm/m", "m", condition).await?;
            }
            for condition in ["delete", "condition=Ready", "jsonpath={.data}"] {
                compare(&kubectl, &maps, "cm/none", "none", condition).await?;
            }
            Ok(())
        }
        .boxed()
    })
}

/// One look by both.
async fn compare<K>(
    kubectl: &Kubectl,
    api: &Api<K>,
    reference: &str,
    name: &str,
    condition: &str,
) -> anyhow::Result<()>
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let ours = api.wait_for(name, &condition.parse()?, Duration::ZERO).await;
    let theirs = kubectl.run(&["wait", "--timeout=0", &format!("--for={condition}"), reference], "").await;
    assert_eq!(ours.is_ok(), theirs.is_ok(), "{condition}: ours {ours:?}, kubectl {theirs:?}");
    Ok(())
}
