//! Chapters "Reconciler patterns" and "Relations and finalizers".

use super::prelude::*;

mod context {
    use super::*;

    struct Context {
        client: Client,
        metrics: Metrics,
        config: AppConfig,
    }

    struct Metrics;
    struct AppConfig;

    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        Ok(Action::await_change())
    }

    fn error_policy(obj: Arc<MyResource>, error: &Error, ctx: Arc<Context>) -> Action {
        Action::await_change()
    }

    async fn run(client: Client, metrics: Metrics, config: AppConfig, api: Api<MyResource>, wc: watcher::Config) {
    // Running the Controller
    let ctx = Arc::new(Context { client, metrics, config });
    Controller::new(api, wc)
        .run(reconcile, error_policy, ctx)
        .for_each(|res| async move {
            match res {
                Ok(o) => tracing::info!("reconciled {:?}", o),
                Err(e) => tracing::error!("reconcile error: {:?}", e),
            }
        })
        .await;
    }
}

async fn patch_only_changes(
    api: Api<MyResource>,
    pp: PatchParams,
    patch: Patch<MyResource>,
    current_status: MyStatus,
    desired_status: MyStatus,
) -> anyhow::Result<()> {
    // ✓ Only update when the value has changed
    if current_status != desired_status {
        api.patch_status("name", &pp, &patch).await?;
    }
    Ok(())
}

async fn generation_only(api: Api<MyResource>, wc: watcher::Config, reader: Store<MyResource>, ctx: Arc<Context>) {
    use kube::runtime::{predicates, WatchStreamExt};

    // Status changes don't change the generation, so they get filtered out
    let stream = watcher(api, wc)
        .default_backoff()
        .applied_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());

    Controller::for_stream(stream, reader)
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

fn combined_predicates(stream: impl Stream<Item = watcher::Result<MyResource>>) -> impl Stream {
    stream
    // Combine two predicates
    .predicate_filter(predicates::generation.combine(predicates::finalizers), PredicateConfig::default())
}

fn requeue() -> Result<Action, Error> {
    // Check external API status every 5 minutes
    Ok(Action::requeue(Duration::from_secs(300)))
}

fn await_change() -> Result<Action, Error> {
    // Re-run only when a watch event arrives
    Ok(Action::await_change())
}

mod policy {
    use super::*;
    fn error_policy(obj: Arc<MyResource>, err: &Error, ctx: Arc<Context>) -> Action {
        tracing::error!(?err, "reconcile failed");
        Action::requeue(Duration::from_secs(5))
    }
}

mod backoff {
    use super::*;
    use std::collections::HashMap;
    use std::sync::Mutex;

    struct Context {
        client: Client,
        failure_counts: Mutex<HashMap<String, u32>>,
    }

    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        let key = obj.name_any();

        match reconcile_inner(&obj, &ctx).await {
            Ok(action) => {
                // Reset the counter on success
                ctx.failure_counts.lock().unwrap().remove(&key);
                Ok(action)
            }
            Err(e) => {
                // Increment the counter on failure
                let mut counts = ctx.failure_counts.lock().unwrap();
                let count = counts.entry(key).or_insert(0);
                *count += 1;
                Err(e)
            }
        }
    }

    fn error_policy(obj: Arc<MyResource>, err: &Error, ctx: Arc<Context>) -> Action {
        let count = ctx.failure_counts.lock().unwrap()
            .get(&obj.name_any()).copied().unwrap_or(1);
        let backoff = Duration::from_secs(2u64.pow(count.min(6))); // Max 64 seconds
        Action::requeue(backoff)
    }
}

fn is_valid_spec(spec: &MySpec) -> bool {
    !spec.value.is_empty()
}

async fn update_status_condition(api: &Api<MyResource>, obj: &MyResource, reason: &str, message: &str) -> Result<(), Error> {
    Ok(())
}

async fn permanent_error(api: Api<MyResource>, obj: Arc<MyResource>) -> Result<Action, Error> {
    // Permanent error: record in status and don't retry
    if !is_valid_spec(&obj.spec) {
        update_status_condition(&api, &obj, "InvalidSpec", "Spec validation failed").await?;
        return Ok(Action::await_change());
    }
    Ok(Action::await_change())
}

fn owns(controller: Controller<MyResource>, api: Api<ConfigMap>, wc: watcher::Config) -> Controller<MyResource> {
    controller.owns::<ConfigMap>(api, wc)
}

fn owner_reference(obj: &MyResource) -> ConfigMap {
    let owner_ref = obj.controller_owner_ref(&()).unwrap();
    let cm = ConfigMap {
        metadata: ObjectMeta {
            name: Some("my-config".into()),
            namespace: obj.namespace(),
            owner_references: Some(vec![owner_ref]),
            ..Default::default()
        },
        data: Some(BTreeMap::from([("key".into(), "value".into())])),
        ..Default::default()
    };
    cm
}

fn watches(controller: Controller<MyResource>, api: Api<Secret>, wc: watcher::Config) -> Controller<MyResource> {
    controller.watches::<Secret, _>(api, wc, |secret| {
        // Return the list of ObjectRefs for related primary resources from the Secret
        let name = secret.labels().get("app")?.clone();
        let ns = secret.namespace()?;
        Some(ObjectRef::new(&name).within(&ns))
    })
}

mod finalizing {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Error {
        #[error(transparent)]
        Finalizing(Box<kube::runtime::finalizer::Error<Error>>),
    }

    use kube::runtime::finalizer::{finalizer, Event};

    const FINALIZER_NAME: &str = "myapp.example.com/cleanup";

    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        let api = Api::<MyResource>::namespaced(
            ctx.client.clone(),
            &obj.namespace().unwrap(),
        );

        finalizer(&api, FINALIZER_NAME, obj, |event| async {
            match event {
                Event::Apply(obj) => apply(obj, &ctx).await,
                Event::Cleanup(obj) => cleanup(obj, &ctx).await,
            }
        }).await.map_err(|error| Error::Finalizing(Box::new(error)))
    }

    async fn apply(obj: Arc<MyResource>, ctx: &Context) -> Result<Action, Error> {
        // Normal reconcile logic
        Ok(Action::requeue(Duration::from_secs(300)))
    }

    async fn cleanup(obj: Arc<MyResource>, ctx: &Context) -> Result<Action, Error> {
        // Clean up external resources
        // Once this function succeeds, the finalizer is removed
        Ok(Action::await_change())
    }
}

fn with_finalizers(stream: impl Stream<Item = watcher::Result<MyResource>>) -> impl Stream {
    stream
    // ✗ May miss finalizer events
    .predicate_filter(predicates::generation, PredicateConfig::default())

    // ✓ Also detects finalizer changes
    .predicate_filter(predicates::generation.combine(predicates::finalizers), PredicateConfig::default())
}
