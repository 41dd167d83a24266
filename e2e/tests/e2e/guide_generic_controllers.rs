//! The guide's samples of "Generic Controllers", "Relations and Finalizers" and "Mock Testing", with the corrections listed in
//! `docs/design/spec-notes.md`. Each test checks what the guide says about its sample, under paused time on the embedded server.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use http::{Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{self, Event, finalizer};
use kube::runtime::reflector::{self, reflector};
use kube::runtime::{Controller, WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use kube_testserver::ApiServer;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tower_test::mock;

type Error = kube::Error;

struct Context {
    client: Client,
    seen: Mutex<Vec<String>>,
}

impl Context {
    fn new(client: Client) -> Arc<Self> {
        Arc::new(Self { client, seen: Mutex::default() })
    }

    fn record(&self, what: impl Into<String>) {
        self.seen.lock().expect("no holder panics").push(what.into());
    }

    fn take(&self) -> Vec<String> {
        let mut seen = std::mem::take(&mut *self.seen.lock().expect("no holder panics"));
        seen.sort();
        seen
    }
}

/// An embedded server with the ConfigMaps `a` and `b`.
async fn setup() -> anyhow::Result<(Client, Api<ConfigMap>)> {
    let client = Client::new(ApiServer::new(), "default");
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for name in ["a", "b"] {
        api.create(&PostParams::default(), &configmap(name)).await?;
    }
    Ok((client, api))
}

fn configmap(name: &str) -> ConfigMap {
    let data = BTreeMap::from([("title".to_owned(), format!("about {name}"))]);
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

fn error_policy<K>(_obj: Arc<K>, _error: &Error, _ctx: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

async fn reconcile_metadata(
    obj: Arc<PartialObjectMeta<ConfigMap>>,
    ctx: Arc<Context>,
) -> Result<Action, Error> {
    let name = obj.metadata.name.as_deref().unwrap_or_default();
    let labels = obj.metadata.labels.as_ref();
    ctx.record(format!("{name} {labels:?}"));

    // Metadata-based logic
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
#[allow(deprecated)] // the sample says metadata_watcher
async fn a_controller_reconciles_metadata_only() -> anyhow::Result<()> {
    use kube::runtime::watcher::metadata_watcher;
    let (client, api) = setup().await?;
    let ctx = Context::new(client);
    let (reader, writer) = reflector::store();
    let stream = reflector(writer, metadata_watcher(api, watcher::Config::default())).applied_objects();
    let output = Controller::for_stream(stream, reader).run(reconcile_metadata, error_policy, ctx.clone());
    tokio::spawn(output.for_each(|_| async {}));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.take(), ["a None", "b None"]);
    Ok(())
}

async fn reconcile_dynamic(obj: Arc<DynamicObject>, ctx: Arc<Context>) -> Result<Action, Error> {
    let name = obj.metadata.name.as_deref().unwrap_or_default();

    // Access JSON values from the data field
    let title = obj.data.get("data").and_then(|s| s.get("title")).and_then(|t| t.as_str());
    ctx.record(format!("{name}: {}", title.unwrap_or("without a title")));

    // Use try_parse if you need strong typing
    let typed: ConfigMap =
        (*obj).clone().try_parse().map_err(|error| kube::Error::Service(Box::new(error)))?;
    assert_eq!(typed.metadata.name, obj.metadata.name);

    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_controller_reconciles_dynamic_objects() -> anyhow::Result<()> {
    let (client, _api) = setup().await?;
    let ctx = Context::new(client.clone());
    let gvk = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let ar = ApiResource::from_gvk(&gvk);
    let api = Api::<DynamicObject>::all_with(client.clone(), &ar);
    let (found, _caps) = kube::discovery::pinned_kind(&client, &gvk).await?;
    assert_eq!(found.plural, ar.plural);

    let output = Controller::new_with(api, watcher::Config::default(), ar).run(
        reconcile_dynamic,
        error_policy,
        ctx.clone(),
    );
    tokio::spawn(output.for_each(|_| async {}));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.take(), ["a: about a", "b: about b"]);
    Ok(())
}

async fn run_controller<K>(client: Client, ctx: Arc<Context>) -> anyhow::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    let api = Api::<K>::all(client);
    Controller::new(api, watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile::<K>, error_policy::<K>, ctx)
        .for_each(|res| async move {
            match res {
                Ok(obj) => tracing::info!(?obj, "reconciled"),
                Err(err) => tracing::error!(%err, "reconcile failed"),
            }
        })
        .await;
    Ok(())
}

async fn reconcile<K: Resource<DynamicType = ()>>(obj: Arc<K>, ctx: Arc<Context>) -> Result<Action, Error> {
    let name = obj.meta().name.as_deref().unwrap_or_default();
    // Common reconcile logic
    ctx.record(format!("{} {name}", K::kind(&())));
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_generic_reconciler_serves_several_kinds() -> anyhow::Result<()> {
    let (client, _api) = setup().await?;
    let metadata = ObjectMeta { name: Some("s".into()), ..ObjectMeta::default() };
    let secret = Secret { metadata, ..Secret::default() };
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &secret).await?;
    let ctx = Context::new(client.clone());
    tokio::spawn(run_controller::<ConfigMap>(client.clone(), ctx.clone()));
    tokio::spawn(run_controller::<Secret>(client, ctx.clone()));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.take(), ["ConfigMap a", "ConfigMap b", "Secret s"]);
    Ok(())
}

/// The guide's table: with `join!` the others continue running, with `select!` all stop.
#[tokio::test(start_paused = true)]
async fn join_keeps_other_controllers_running_and_select_stops_all() -> anyhow::Result<()> {
    for joined in [true, false] {
        let (client, api) = setup().await?;
        let ctx = Context::new(client);
        let (stop, stopped) = oneshot::channel::<()>();
        let ctrl_a = Controller::new(api.clone(), watcher::Config::default())
            .graceful_shutdown_on(async move {
                stopped.await.ok();
            })
            .run(reconcile::<ConfigMap>, error_policy, ctx.clone())
            .for_each(|_| async {});
        let ctrl_b = Controller::new(api.clone(), watcher::Config::default())
            .run(reconcile::<ConfigMap>, error_policy, ctx.clone())
            .for_each(|_| async {});
        let both = tokio::spawn(async move {
            if joined {
                tokio::join!(ctrl_a, ctrl_b);
            } else {
                tokio::select! {
                    _ = ctrl_a => tracing::warn!("controller A exited"),
                    _ = ctrl_b => tracing::warn!("controller B exited"),
                }
            }
        });
        sleep(Duration::from_secs(1)).await;
        assert_eq!(ctx.take().len(), 4, "each controller reconciles both objects");
        stop.send(()).map_err(|()| anyhow::anyhow!("a controller has ended too early"))?;
        sleep(Duration::from_secs(1)).await;
        api.create(&PostParams::default(), &configmap("c")).await?;
        sleep(Duration::from_secs(1)).await;
        let later = if joined { vec!["ConfigMap c"] } else { vec![] };
        assert_eq!(ctx.take(), later);
        assert_eq!(both.is_finished(), !joined);
        both.abort();
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_shared_reflector_feeds_two_controllers() -> anyhow::Result<()> {
    let (client, api) = setup().await?;
    let ctx = Context::new(client);
    // Create a shared store
    let (reader, writer) = reflector::store_shared(1024);
    let stream = watcher(api, watcher::Config::default()).default_backoff().reflect_shared(writer);

    // Branch to each Controller via subscribers
    let sub_a = reader.subscribe().expect("the store is shared");
    let sub_b = reader.subscribe().expect("the store is shared");
    let ctrl_a = Controller::for_shared_stream(sub_a, reader.clone())
        .run(reconcile::<ConfigMap>, error_policy, ctx.clone())
        .for_each(|_| async {});
    let ctrl_b = Controller::for_shared_stream(sub_b, reader.clone())
        .run(reconcile::<ConfigMap>, error_policy, ctx.clone())
        .for_each(|_| async {});

    // Consume the source stream + run both Controllers concurrently
    let all = async { tokio::join!(stream.for_each(|_| async {}), ctrl_a, ctrl_b) };
    assert!(timeout(Duration::from_secs(1), all).await.is_err(), "the controllers do not end");
    assert_eq!(ctx.take(), ["ConfigMap a", "ConfigMap a", "ConfigMap b", "ConfigMap b"]);
    Ok(())
}

/// The guide's table of owner references, and "automatically deleted by Kubernetes when the parent is deleted".
#[tokio::test(start_paused = true)]
async fn owner_references_are_set_and_collected() -> anyhow::Result<()> {
    let (_client, api) = setup().await?;
    let obj = api.get("a").await?;
    assert_eq!(obj.controller_owner_ref(&()).and_then(|owner| owner.controller), Some(true));
    assert_eq!(obj.owner_ref(&()).and_then(|owner| owner.controller), None);

    let mut child = configmap("my-config");
    child.metadata.owner_references = obj.controller_owner_ref(&()).map(|owner| vec![owner]);
    api.create(&PostParams::default(), &child).await?;
    api.delete("a", &DeleteParams::background()).await?;
    sleep(Duration::from_secs(1)).await;
    assert!(api.get_opt("my-config").await?.is_none());
    Ok(())
}

const FINALIZER_NAME: &str = "myapp.example.com/cleanup";

async fn with_finalizer(
    obj: Arc<ConfigMap>,
    ctx: Arc<Context>,
) -> Result<Action, finalizer::Error<std::io::Error>> {
    let namespace = obj.namespace().unwrap_or_default();
    let api = Api::<ConfigMap>::namespaced(ctx.client.clone(), &namespace);

    finalizer(&api, FINALIZER_NAME, obj, |event| async {
        match event {
            Event::Apply(obj) => apply(obj, &ctx).await,
            Event::Cleanup(obj) => cleanup(obj, &ctx).await,
        }
    })
    .await
}

async fn apply(obj: Arc<ConfigMap>, ctx: &Context) -> Result<Action, std::io::Error> {
    // Normal reconcile logic
    ctx.record(format!("apply {}", obj.name_any()));
    Ok(Action::requeue(Duration::from_secs(300)))
}

async fn cleanup(obj: Arc<ConfigMap>, ctx: &Context) -> Result<Action, std::io::Error> {
    ctx.record(format!("cleanup {}", obj.name_any()));
    if obj.labels().contains_key("stuck") {
        return Err(std::io::Error::other("the bucket is not empty"));
    }
    // Once this function succeeds, the finalizer is removed
    Ok(Action::await_change())
}

/// The state machine from absent to gone, and "the object won't be deleted if cleanup fails".
#[tokio::test(start_paused = true)]
async fn a_finalizer_keeps_the_object_while_cleanup_fails() -> anyhow::Result<()> {
    let (client, api) = setup().await?;
    let label = Patch::Merge(json!({ "metadata": { "labels": { "stuck": "yes" } } }));
    api.patch("b", &PatchParams::default(), &label).await?;
    let ctx = Context::new(client);
    let output = Controller::new(api.clone(), watcher::Config::default()).run(
        with_finalizer,
        |_, _, _| Action::requeue(Duration::from_secs(5)),
        ctx.clone(),
    );
    tokio::spawn(output.for_each(|_| async {}));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ctx.take(), ["apply a", "apply b"]);
    assert_eq!(api.get("a").await?.finalizers(), [FINALIZER_NAME]);
    for name in ["a", "b"] {
        api.delete(name, &DeleteParams::default()).await?;
    }
    sleep(Duration::from_secs(12)).await;
    assert_eq!(ctx.take(), ["cleanup a", "cleanup b", "cleanup b", "cleanup b"]);
    assert!(api.get_opt("a").await?.is_none());
    assert!(api.get("b").await?.metadata.deletion_timestamp.is_some());

    let solved = Patch::Merge(json!({ "metadata": { "labels": { "stuck": null } } }));
    api.patch("b", &PatchParams::default(), &solved).await?;
    sleep(Duration::from_secs(12)).await;
    assert!(api.get_opt("b").await?.is_none());
    Ok(())
}

/// A reconciler against prepared responses.
#[tokio::test]
async fn a_reconciler_runs_against_a_mock_service() -> anyhow::Result<()> {
    let (mock_service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    let mock_client = Client::new(mock_service, "default");

    // Task acting as the API server
    let api_server = tokio::spawn(async move {
        // First request: GET ConfigMap (404 — does not exist, so it needs to be created)
        let (request, send_response) = handle.next_request().await.expect("a request");
        assert!(request.uri().path().contains("/configmaps/test-config"));
        let not_found = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
        });
        let response = Response::builder().status(404).body(Body::from(not_found.to_string().into_bytes()));
        send_response.send_response(response.expect("a valid response"));

        // Second request: PATCH ConfigMap (creation)
        let (request, send_response) = handle.next_request().await.expect("a request");
        assert_eq!(request.method(), http::Method::PATCH);
        let body = serde_json::to_vec(&configmap("test-config")).expect("it serializes");
        send_response.send_response(Response::new(Body::from(body)));
    });

    let ctx = Context::new(mock_client);
    let maps: Api<ConfigMap> = Api::default_namespaced(ctx.client.clone());
    if maps.get_opt("test-config").await?.is_none() {
        let params = PatchParams::apply("test");
        maps.patch("test-config", &params, &Patch::Apply(configmap("test-config"))).await?;
    }
    api_server.await?;
    Ok(())
}
