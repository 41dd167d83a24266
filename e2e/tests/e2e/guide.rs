//! What the guide says about its samples and no other test shows, under paused time on the embedded server. The samples themselves are
//! compiled in `examples/guide`; corrections are listed in `docs/design/spec-notes.md`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, CustomResource, CustomResourceExt, Resource as _, ResourceExt as _};
use kube_testserver::ApiServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::widget::{Widget, widget};

/// An embedded server with the definition of a kind.
async fn setup<K>() -> anyhow::Result<(Client, Api<K>)>
where
    K: CustomResourceExt + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
{
    let client = Client::new(ApiServer::new(), "default");
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &K::crd()).await?;
    Ok((client.clone(), Api::default_namespaced(client)))
}

/// "Pattern 1: new resourceVersion → watch event → re-trigger → infinite loop", and "only update when the value has
/// changed" as its prevention.
#[tokio::test(start_paused = true)]
async fn skipping_unchanged_status_writes_prevents_infinite_loops() -> anyhow::Result<()> {
    for (deterministic, most) in [(false, usize::MAX), (true, 2)] {
        let (_client, api) = setup::<Widget>().await?;
        api.create(&PostParams::default(), &widget("a", 1)).await?;
        let runs = Arc::<AtomicUsize>::default();
        let writes = api.clone();
        let output = Controller::new(api, watcher::Config::default()).run(
            move |obj: Arc<Widget>, runs: Arc<AtomicUsize>| {
                let api = writes.clone();
                async move {
                    let run = runs.fetch_add(1, Ordering::Relaxed);
                    sleep(Duration::from_millis(100)).await;
                    let phase = if deterministic { "ready".to_owned() } else { format!("run {run}") };
                    if obj.status.as_ref().is_none_or(|status| status.phase != phase) {
                        let patch = Patch::Merge(json!({ "status": { "phase": phase } }));
                        api.patch_status(&obj.name_any(), &PatchParams::default(), &patch).await?;
                    }
                    Ok::<_, kube::Error>(Action::await_change())
                }
            },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            runs.clone(),
        );
        tokio::spawn(output.for_each(|_| async {}));
        sleep(Duration::from_secs(60)).await;
        let runs = runs.load(Ordering::Relaxed);
        assert!(runs <= most && (deterministic || runs > 500), "{runs} runs in a minute");
    }
    Ok(())
}

/// The guide's table: with `join!` the others continue running, with `select!` all stop.
#[tokio::test(start_paused = true)]
async fn join_keeps_other_controllers_running_and_select_stops_all() -> anyhow::Result<()> {
    for joined in [true, false] {
        let (_client, api) = setup::<Widget>().await?;
        api.create(&PostParams::default(), &widget("a", 1)).await?;
        let runs = Arc::<AtomicUsize>::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let reconcile = async |_: Arc<Widget>, runs: Arc<AtomicUsize>| {
            runs.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Action::await_change())
        };
        let ctrl_a = Controller::new(api.clone(), watcher::Config::default())
            .graceful_shutdown_on(async move {
                stopped.await.ok();
            })
            .run(reconcile, |_, error, _| match *error {}, runs.clone())
            .for_each(|_| async {});
        let ctrl_b = Controller::new(api.clone(), watcher::Config::default())
            .run(reconcile, |_, error, _| match *error {}, runs.clone())
            .for_each(|_| async {});
        let both = tokio::spawn(async move {
            if joined {
                tokio::join!(ctrl_a, ctrl_b);
            } else {
                tokio::select! {
                    _ = ctrl_a => {}
                    _ = ctrl_b => {}
                }
            }
        });
        sleep(Duration::from_secs(1)).await;
        assert_eq!(runs.load(Ordering::Relaxed), 2, "each controller reconciles the object");
        stop.send(()).map_err(|()| anyhow::anyhow!("a controller has ended too early"))?;
        sleep(Duration::from_secs(1)).await;
        api.create(&PostParams::default(), &widget("b", 1)).await?;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(runs.load(Ordering::Relaxed), if joined { 3 } else { 2 });
        assert_eq!(both.is_finished(), !joined);
        both.abort();
    }
    Ok(())
}

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "PodManager", namespaced, status = "PodManagerStatus")]
struct PodManagerSpec {}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct PodManagerStatus {
    #[schemars(with = "Option<String>")]
    pod_created: Option<Time>,
}

fn my_pod_spec() -> PodSpec {
    let container = Container { name: "main".into(), image: Some("pause".into()), ..Container::default() };
    PodSpec { containers: vec![container], ..PodSpec::default() }
}

fn create_owned_pod(source: &PodManager) -> Pod {
    let oref = source.controller_owner_ref(&()).expect("an object of the server has a uid");
    Pod {
        metadata: ObjectMeta {
            name: Some(format!("{}-pod", source.name_any())),
            owner_references: Some(vec![oref]),
            ..ObjectMeta::default()
        },
        spec: Some(my_pod_spec()),
        ..Pod::default()
    }
}

/// The guide's solution that takes "advantage of Server-Side Apply and deterministic naming".
async fn manage(
    obj: &PodManager,
    api: &Api<PodManager>,
    pods: &Api<Pod>,
    fail_between: bool,
) -> anyhow::Result<Action> {
    let pod_data = create_owned_pod(obj);
    let serverside = PatchParams::apply("mycontroller");
    let pod = pods.patch(&pod_data.name_any(), &serverside, &Patch::Apply(&pod_data)).await?;
    if fail_between {
        anyhow::bail!("the power has failed");
    }

    // update status object with the creation_timestamp of the owned Pod
    let status = json!({
        "status": PodManagerStatus { pod_created: pod.meta().creation_timestamp.clone() }
    });
    api.patch_status(&obj.name_any(), &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(Action::await_change())
}

/// "If a reconciler is triggered twice for the same object, it must cause the same outcome", and "recover from errors
/// occurring in a previous reconcile run".
#[tokio::test(start_paused = true)]
async fn a_partly_failed_reconcile_is_repeated_idempotently() -> anyhow::Result<()> {
    let (client, api) = setup::<PodManager>().await?;
    let pods: Api<Pod> = Api::default_namespaced(client);
    let obj = api.create(&PostParams::default(), &PodManager::new("m", PodManagerSpec {})).await?;
    assert!(manage(&obj, &api, &pods, true).await.is_err());
    let partial = api.get("m").await?;
    assert!(partial.status.is_none(), "the pod was created, the status was not written");
    let first = pods.get("m-pod").await?;

    manage(&partial, &api, &pods, false).await?;
    let complete = api.get("m").await?;
    let created = complete.status.as_ref().and_then(|status| status.pod_created.clone());
    assert_eq!(created, first.metadata.creation_timestamp);

    manage(&complete, &api, &pods, false).await?;
    assert_eq!(pods.get("m-pod").await?.metadata, first.metadata, "the pod is unchanged");
    assert_eq!(api.get("m").await?.resource_version(), complete.resource_version());

    api.delete("m", &DeleteParams::background()).await?;
    sleep(Duration::from_secs(1)).await;
    assert!(pods.get_opt("m-pod").await?.is_none(), "the pod is deleted with its owner");
    Ok(())
}
