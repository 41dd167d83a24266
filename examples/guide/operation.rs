//! Chapters "Optimization", "Scaling" and "Availability".

use super::prelude::*;

fn selectors() -> watcher::Config {
    use kube::runtime::watcher;

    let wc = watcher::Config::default()
        .labels("app=myapp")                    // label selector
        .fields("metadata.name=specific-one");  // field selector
    wc
}

fn metadata_only(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    use kube::runtime::watcher::metadata_watcher;
    use kube::core::PartialObjectMeta;

    let stream = metadata_watcher(api, wc).default_backoff();
    stream
}

fn streaming() -> watcher::Config {
    let wc = watcher::Config::default().streaming_lists();
    wc
}

fn page_size() -> watcher::Config {
    let wc = watcher::Config::default().page_size(100);
    wc
}

fn without_managed_fields(api: Api<MyResource>, wc: watcher::Config) -> impl Stream {
    use kube::runtime::WatchStreamExt;

    let stream = watcher(api, wc)
        .default_backoff()
        .modify(|obj| {
            // Remove managedFields — significant memory savings
            obj.managed_fields_mut().clear();
            // last-applied-configuration annotation — large annotation from pre-SSA approach
            obj.annotations_mut()
                .remove("kubectl.kubernetes.io/last-applied-configuration");
        });
    stream
}

async fn predicate_filter(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use kube::runtime::{predicates, watcher, WatchStreamExt};
    use kube::runtime::utils::predicate::PredicateConfig;

    // Apply predicate_filter to the watcher stream, then inject into the Controller
    let (reader, writer) = reflector::store();
    let stream = reflector(writer, watcher(api.clone(), wc))
        .applied_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());

    Controller::for_stream(stream, reader)
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

async fn debounced(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use kube::runtime::Config;

    Controller::new(api, wc)
        .with_config(Config::default().debounce(Duration::from_secs(1)))
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

async fn concurrency(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use kube::runtime::Config;

    Controller::new(api, wc)
        .with_config(Config::default().concurrency(10))
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

mod fewer_api_calls {
    use super::*;

    struct Context {
        client: Client,
        store: Store<MyResource>,
    }

    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        // 1. Read from the Store (use cache instead of API calls)
        let related = ctx.store.get(&ObjectRef::new("related-name").within("ns"));

        let cm_api = Api::<ConfigMap>::default_namespaced(ctx.client.clone());
        let secret_api = Api::<Secret>::default_namespaced(ctx.client.clone());
        let svc_api = Api::<Service>::default_namespaced(ctx.client.clone());
        let desired_cm = ConfigMap::default();
        let (pp, patch) = (PatchParams::apply("guide"), Patch::Apply(&desired_cm));

        // 2. Skip the patch if no changes are needed
        let current_cm = cm_api.get("my-cm").await?;
        if current_cm.data == desired_cm.data {
            // No patch needed — saves an API call
        } else {
            cm_api.patch("my-cm", &pp, &patch).await?;
        }

        // 3. Parallelize independent API calls
        let (secret, service) = tokio::try_join!(
            secret_api.get("my-secret"),
            svc_api.get("my-service"),
        )?;

        Ok(Action::requeue(Duration::from_secs(300)))
    }
}

fn namespace_isolation(client: Client) -> Api<MyResource> {
    // Entire cluster (high load)
    let api = Api::<MyResource>::all(client.clone());

    // Specific namespace only (low load)
    let api = Api::<MyResource>::namespaced(client.clone(), "target-ns");
    api
}

fn namespace_shard(client: Client) -> Api<MyResource> {
    // Determine the assigned namespace via environment variable
    let ns = std::env::var("WATCH_NAMESPACE").unwrap_or("default".into());
    let api = Api::<MyResource>::namespaced(client, &ns);
    api
}

fn label_shard() -> watcher::Config {
    // label selector per shard
    let shard_id = std::env::var("SHARD_ID").unwrap_or("0".into());
    let wc = watcher::Config::default()
        .labels(&format!("controller.example.com/shard={}", shard_id));
    wc
}

async fn on_signal(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    Controller::new(api, wc)
        .shutdown_on_signal()
        .run(reconcile, error_policy, ctx)
        .for_each(|res| async move {
            match res {
                Ok(obj) => tracing::info!(?obj, "reconciled"),
                Err(err) => tracing::error!(%err, "reconcile failed"),
            }
        })
        .await;
}

async fn graceful_shutdown(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use tokio::sync::oneshot;

    let (tx, rx) = oneshot::channel::<()>();

    Controller::new(api, wc)
        .graceful_shutdown_on(async move { rx.await.ok(); })
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}
