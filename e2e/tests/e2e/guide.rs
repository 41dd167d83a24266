//! The guide's samples of "Reconciler Patterns" (also `spec/reconciler.txt`), with the corrections listed in
//! `docs/design/spec-notes.md`. Each test checks what the guide says about its sample, under paused time on the embedded server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::reflector::{self, reflector};
use kube::runtime::utils::predicate::PredicateConfig;
use kube::runtime::{Controller, Predicate as _, WatchStreamExt as _, predicates, watcher};
use kube::{Api, Client, CustomResource, CustomResourceExt, Resource as _, ResourceExt as _};
use kube_testserver::ApiServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::widget::{Widget, widget};

async fn setup<K>() -> anyhow::Result<(Client, Api<K>)>
where
    K: CustomResourceExt + kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
{
    let client = Client::new(ApiServer::new(), "default");
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &K::crd()).await?;
    Ok((client.clone(), Api::default_namespaced(client)))
}

fn spawn<T: Send + 'static>(output: impl Stream<Item = T> + Send + 'static) {
    tokio::spawn(output.for_each(|_| async {}));
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("Kubernetes API error: {0}")]
    KubeApi(#[from] kube::Error),

    #[error("Missing spec field: {0}")]
    MissingField(String),
}

#[derive(Default)]
struct Context {
    began: Mutex<Vec<Instant>>,
    failure_counts: Mutex<HashMap<String, u32>>,
}

impl Context {
    fn runs(&self) -> usize {
        self.began.lock().expect("no holder panics").len()
    }

    fn begin(&self) -> usize {
        self.began.lock().expect("no holder panics").push(Instant::now());
        self.runs()
    }
}

/// "Pattern 1: new resourceVersion → watch event → re-trigger → infinite loop", and "only update when the value has
/// changed" as its prevention.
#[tokio::test(start_paused = true)]
async fn skipping_unchanged_status_writes_prevents_infinite_loops() -> anyhow::Result<()> {
    for (deterministic, most) in [(false, usize::MAX), (true, 2)] {
        let (_client, api) = setup::<Widget>().await?;
        api.create(&PostParams::default(), &widget("a", 1)).await?;
        let ctx = Arc::<Context>::default();
        let writes = api.clone();
        let output = Controller::new(api, watcher::Config::default()).run(
            move |obj: Arc<Widget>, ctx: Arc<Context>| {
                let api = writes.clone();
                async move {
                    let run = ctx.begin();
                    sleep(Duration::from_millis(100)).await;
                    let phase = if deterministic { "ready".to_owned() } else { format!("run {run}") };
                    if obj.status.as_ref().is_none_or(|status| status.phase != phase) {
                        let patch = Patch::Merge(json!({ "status": { "phase": phase } }));
                        api.patch_status(&obj.name_any(), &PatchParams::default(), &patch).await?;
                    }
                    Ok::<_, Error>(Action::await_change())
                }
            },
            |_, _, _| Action::requeue(Duration::from_secs(5)),
            ctx.clone(),
        );
        spawn(output);
        sleep(Duration::from_secs(60)).await;
        let runs = ctx.runs();
        assert!(runs <= most && (deterministic || runs > 500), "{runs} runs in a minute");
    }
    Ok(())
}

/// "Status changes don't change the generation, so they get filtered out", nor do finalizers, unless combined.
#[tokio::test(start_paused = true)]
async fn predicate_filters_drop_status_changes() -> anyhow::Result<()> {
    for (combined, expected) in [(false, [1, 1, 2]), (true, [1, 2, 3])] {
        let (_client, api) = setup::<Widget>().await?;
        api.create(&PostParams::default(), &widget("a", 1)).await?;
        let ctx = Arc::<Context>::default();
        let (reader, writer) = reflector::store();
        let stream = reflector(writer, watcher(api.clone(), watcher::Config::default()))
            .default_backoff()
            .applied_objects();
        let stream = if combined {
            let both = predicates::generation.combine(predicates::finalizers);
            stream.predicate_filter(both, PredicateConfig::default()).boxed()
        } else {
            stream.predicate_filter(predicates::generation, PredicateConfig::default()).boxed()
        };
        let output = Controller::for_stream(stream, reader).run(
            |_, ctx: Arc<Context>| async move {
                ctx.begin();
                Ok::<_, Error>(Action::await_change())
            },
            |_, _, _| Action::await_change(),
            ctx.clone(),
        );
        spawn(output);
        let params = PatchParams::default();
        let mut runs = Vec::new();
        sleep(Duration::from_secs(1)).await;
        let status = Patch::Merge(json!({ "status": { "phase": "ready" } }));
        api.patch_status("a", &params, &status).await?;
        sleep(Duration::from_secs(1)).await;
        runs.push(ctx.runs());
        let finalizers = Patch::Merge(json!({ "metadata": { "finalizers": ["example.com/cleanup"] } }));
        api.patch("a", &params, &finalizers).await?;
        sleep(Duration::from_secs(1)).await;
        runs.push(ctx.runs());
        api.patch("a", &params, &Patch::Merge(json!({ "spec": { "size": 2 } }))).await?;
        sleep(Duration::from_secs(1)).await;
        runs.push(ctx.runs());
        assert_eq!(runs, expected, "combined: {combined}");
    }
    Ok(())
}

async fn reconcile(obj: Arc<Widget>, ctx: Arc<Context>) -> Result<Action, Error> {
    let key = obj.name_any();

    match reconcile_inner(&obj, &ctx).await {
        Ok(action) => {
            // Reset the counter on success
            ctx.failure_counts.lock().expect("no holder panics").remove(&key);
            Ok(action)
        }
        Err(e) => {
            // Increment the counter on failure
            let mut counts = ctx.failure_counts.lock().expect("no holder panics");
            let count = counts.entry(key).or_insert(0);
            *count += 1;
            Err(e)
        }
    }
}

async fn reconcile_inner(_obj: &Widget, ctx: &Context) -> Result<Action, Error> {
    match ctx.begin() {
        ..=7 => Err(Error::MissingField("color".into())),
        8 => Ok(Action::requeue(Duration::from_secs(300))),
        9 => Err(Error::MissingField("color".into())),
        _ => Ok(Action::await_change()),
    }
}

fn error_policy(obj: Arc<Widget>, _err: &Error, ctx: Arc<Context>) -> Action {
    let count =
        ctx.failure_counts.lock().expect("no holder panics").get(&obj.name_any()).copied().unwrap_or(1);
    let backoff = Duration::from_secs(2u64.pow(count.min(6))); // Max 64 seconds
    Action::requeue(backoff)
}

/// The guide's wrapper: the delay doubles up to 64 s and starts again after a success.
#[tokio::test(start_paused = true)]
async fn backoff_is_per_key_and_resets_on_success() -> anyhow::Result<()> {
    let (_client, api) = setup::<Widget>().await?;
    api.create(&PostParams::default(), &widget("a", 1)).await?;
    let ctx = Arc::<Context>::default();
    spawn(Controller::new(api, watcher::Config::default()).run(reconcile, error_policy, ctx.clone()));
    sleep(Duration::from_secs(1000)).await;
    let began = ctx.began.lock().expect("no holder panics").clone();
    let waits: Vec<_> = began.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 64, 300, 2]);
    Ok(())
}

/// "Permanent error: record in status and don't retry"
#[tokio::test(start_paused = true)]
async fn permanent_errors_are_not_retried() -> anyhow::Result<()> {
    let (_client, api) = setup::<Widget>().await?;
    api.create(&PostParams::default(), &widget("a", -1)).await?;
    let ctx = Arc::<Context>::default();
    let writes = api.clone();
    let output = Controller::new(api.clone(), watcher::Config::default()).run(
        move |obj: Arc<Widget>, ctx: Arc<Context>| {
            let api = writes.clone();
            async move {
                ctx.begin();
                if obj.spec.size < 0 {
                    let patch = Patch::Merge(json!({ "status": { "phase": "InvalidSpec" } }));
                    api.patch_status(&obj.name_any(), &PatchParams::default(), &patch).await?;
                    return Ok::<_, Error>(Action::await_change());
                }
                Ok(Action::requeue(Duration::from_secs(300)))
            }
        },
        |_, _, _| Action::requeue(Duration::from_secs(5)),
        ctx.clone(),
    );
    spawn(output);
    sleep(Duration::from_secs(3600)).await;
    assert!(ctx.runs() <= 2, "one for the creation, one for the status write: {}", ctx.runs());
    let phase = api.get("a").await?.status.map(|status| status.phase);
    assert_eq!(phase.as_deref(), Some("InvalidSpec"));
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
) -> Result<Action, Error> {
    let pod_data = create_owned_pod(obj);
    let serverside = PatchParams::apply("mycontroller");
    let pod = pods.patch(&pod_data.name_any(), &serverside, &Patch::Apply(&pod_data)).await?;
    if fail_between {
        return Err(Error::MissingField("power".into()));
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
