//! Chapter "Controller pipeline": relations, external triggers, streams, results, configuration, shutdown.

use super::prelude::*;

async fn shared(stream: ReflectHandle<MyResource>, reader: Store<MyResource>, ctx: Arc<Context>) {
    // Create Controller with shared stream
    Controller::for_shared_stream(stream, reader.clone())
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

fn owns(controller: Controller<MyResource>, api: Api<ConfigMap>, wc: watcher::Config) -> Controller<MyResource> {
    controller.owns::<ConfigMap>(api, wc)
}

fn watches(controller: Controller<MyResource>, api: Api<Secret>, wc: watcher::Config) -> Controller<MyResource> {
    controller.watches::<Secret, _>(api, wc, |secret| {
        // Return list of ObjectRefs for related primary resources from the Secret
        let name = secret.labels().get("app")?.clone();
        let ns = secret.namespace()?;
        Some(ObjectRef::new(&name).within(&ns))
    })
}

async fn external_trigger(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::ReceiverStream;

    let (tx, rx) = mpsc::channel::<ObjectRef<MyResource>>(256);

    Controller::new(api, wc)
        .reconcile_on(ReceiverStream::new(rx))
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

async fn streams(
    api: Api<MyResource>,
    wc: watcher::Config,
    cm_stream: impl Stream<Item = watcher::Result<ConfigMap>> + Send + 'static,
    secret_stream: impl Stream<Item = watcher::Result<Secret>> + Send + 'static,
    ctx: Arc<Context>,
) {
    // Inject an externally created watcher stream into the Controller
    let (reader, writer) = reflector::store();
    let stream = reflector(writer, watcher(api.clone(), wc))
        .applied_objects();

    Controller::for_stream(stream, reader)
        .owns_stream::<ConfigMap>(cm_stream)
        .watches_stream::<Secret, _>(secret_stream, |_secret| { /* mapper */ None::<ObjectRef<MyResource>> })
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

async fn many_streams(
    main_api: Api<MyResource>,
    cm_api: Api<ConfigMap>,
    secret_api: Api<Secret>,
    wc: watcher::Config,
    ctx: Arc<Context>,
) {
    use futures::stream;
    use kube::runtime::{reflector, watcher, Controller, WatchStreamExt};

    // Primary resource stream
    let (reader, writer) = reflector::store();
    let main_stream = reflector(writer, watcher(main_api, wc.clone()))
        .applied_objects()
        .default_backoff();

    // Related resource streams
    let cm_stream = watcher(cm_api, wc.clone())
        .applied_objects()
        .default_backoff();

    let secret_stream = watcher(secret_api, wc.clone())
        .applied_objects()
        .default_backoff();

    Controller::for_stream(main_stream, reader)
        .watches_stream(cm_stream, |cm| {
            // ConfigMap -> primary resource mapping
            let name = cm.labels().get("app")?.clone();
            let ns = cm.namespace()?;
            Some(ObjectRef::new(&name).within(&ns))
        })
        .watches_stream(secret_stream, |secret| {
            // Secret -> primary resource mapping
            let name = secret.labels().get("app")?.clone();
            let ns = secret.namespace()?;
            Some(ObjectRef::new(&name).within(&ns))
        })
        .run(reconcile, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

mod on_success {
    use super::*;
    async fn reconcile(obj: Arc<MyResource>, ctx: Arc<Context>) -> Result<Action, Error> {
        // ... reconcile logic ...

        // Re-check after 5 minutes
        Ok(Action::requeue(Duration::from_secs(300)))
    }

    fn await_change() -> Result<Action, Error> {
        // Or: wait for the next watch event
        Ok(Action::await_change())
    }
}

mod on_failure {
    use super::*;
    fn error_policy(
        obj: Arc<MyResource>,
        error: &Error,
        ctx: Arc<Context>,
    ) -> Action {
        Action::requeue(Duration::from_secs(5))
    }
}

fn config(controller: Controller<MyResource>) -> Controller<MyResource> {
    use kube::runtime::controller::Config;

    controller.with_config(
        Config::default()
            .debounce(Duration::from_secs(1))  // Minimum interval between triggers
            .concurrency(10)                    // Maximum concurrent reconciles
    )
}

fn shutdown(controller: Controller<MyResource>) -> Controller<MyResource> {
    // React to SIGTERM/SIGINT
    let controller = controller.shutdown_on_signal();

    // Custom shutdown trigger
    controller.graceful_shutdown_on(async {
        // Some condition...
    })
}
