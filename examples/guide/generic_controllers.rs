//! Chapter "Generic controllers": one reconciler for several kinds, several controllers in one process.

use super::prelude::*;

use reconcile as reconcile_a;
use reconcile as reconcile_b;
use MyResource as ResourceA;
use Document as ResourceB;

async fn metadata_controller(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use kube::runtime::watcher::metadata_watcher;
    use kube::core::PartialObjectMeta;
    use kube::runtime::Controller;

    // Controller that handles PartialObjectMeta<MyResource>
    let (reader, writer) = reflector::store();
    let stream = reflector(writer, metadata_watcher(api, wc))
        .applied_objects();

    Controller::for_stream(stream, reader)
        .run(reconcile_metadata, error_policy, ctx)
        .for_each(|_| async {})
        .await;
}

async fn reconcile_metadata(
    obj: Arc<PartialObjectMeta<MyResource>>,
    ctx: Arc<Context>,
) -> Result<Action, Error> {
    let name = obj.metadata.name.as_deref().unwrap_or_default();
    let labels = obj.metadata.labels.as_ref();

    // Metadata-based logic
    Ok(Action::await_change())
}

async fn dynamic_api(client: Client, gvk: GroupVersionKind) -> anyhow::Result<()> {
    use kube::api::{Api, ApiResource, DynamicObject};
    use kube::discovery;

    // Determine resource type at runtime
    let ar = ApiResource::from_gvk(&GroupVersionKind {
        group: "example.com".into(),
        version: "v1".into(),
        kind: "Document".into(),
    });
    let api = Api::<DynamicObject>::all_with(client.clone(), &ar);

    // Or obtain from discovery
    let (ar, _caps) = discovery::pinned_kind(&client, &gvk).await?;
    let api = Api::<DynamicObject>::all_with(client, &ar);
    Ok(())
}

async fn reconcile_dynamic(
    obj: Arc<DynamicObject>,
    ctx: Arc<Context>,
) -> Result<Action, Error> {
    let name = obj.metadata.name.as_deref().unwrap_or_default();

    // Access JSON values from the data field
    let title = obj.data.get("spec")
        .and_then(|s| s.get("title"))
        .and_then(|t| t.as_str());

    // Use try_parse if you need strong typing
    // let typed: MyResource = obj.try_parse()?;

    Ok(Action::await_change())
}

mod generic_reconciler {
    use super::*;
    use kube::{Api, Client, Resource, ResourceExt};
    use kube::runtime::{Controller, watcher, Config};
    use std::fmt::Debug;

    async fn run_controller<K>(
        client: Client,
        ctx: Arc<Context>,
    ) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = ()>
            + Clone + Debug
            + serde::de::DeserializeOwned
            + Send + Sync + 'static,
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

    async fn reconcile<K: Resource<DynamicType = ()>>(
        obj: Arc<K>,
        ctx: Arc<Context>,
    ) -> Result<Action, Error> {
        let name = obj.meta().name.as_deref().unwrap_or_default();
        // Common reconcile logic
        Ok(Action::await_change())
    }
}

async fn join_controllers(api_a: Api<MyResource>, api_b: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) -> anyhow::Result<()> {
    let ctrl_a = Controller::new(api_a, wc.clone())
        .shutdown_on_signal()
        .run(reconcile_a, error_policy, ctx.clone())
        .for_each(|_| async {});

    let ctrl_b = Controller::new(api_b, wc.clone())
        .shutdown_on_signal()
        .run(reconcile_b, error_policy, ctx.clone())
        .for_each(|_| async {});

    // Run both
    tokio::join!(ctrl_a, ctrl_b);
    Ok(())
}

async fn select_controllers(ctrl_a: impl Future<Output = ()>, ctrl_b: impl Future<Output = ()>) {
    tokio::select! {
        _ = ctrl_a => tracing::warn!("controller A exited"),
        _ = ctrl_b => tracing::warn!("controller B exited"),
    }
}

async fn client_clone() -> anyhow::Result<()> {
    let client = Client::try_default().await?;

    // clone is equivalent to Arc::clone — cheap
    let api_a = Api::<ResourceA>::all(client.clone());
    let api_b = Api::<ResourceB>::all(client.clone());
    Ok(())
}

async fn shared(api: Api<MyResource>, wc: watcher::Config, ctx: Arc<Context>) {
    use kube::runtime::{reflector, watcher, WatchStreamExt, Controller};

    // Create a shared store
    let (reader, writer) = reflector::store_shared(1024);
    let stream = watcher(api, wc)
        .default_backoff()
        .reflect_shared(writer);

    // Branch to each Controller via subscribers
    let sub_a = reader.subscribe().unwrap();
    let sub_b = reader.subscribe().unwrap();

    let ctrl_a = Controller::for_shared_stream(sub_a, reader.clone())
        .run(reconcile_a, error_policy, ctx.clone())
        .for_each(|_| async {});

    let ctrl_b = Controller::for_shared_stream(sub_b, reader.clone())
        .run(reconcile_b, error_policy, ctx.clone())
        .for_each(|_| async {});

    // Consume the source stream + run both Controllers concurrently
    tokio::join!(stream.for_each(|_| async {}), ctrl_a, ctrl_b);
}
