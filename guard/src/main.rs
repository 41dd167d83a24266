//! Does one operation a number of times, for `cargo xtask instructions`, which counts its instructions and allocations.
//!
//! `guard OPERATION COUNT` prints the number of allocations and their bytes. The difference between two counts is what the operations cost,
//! without the preparation.

#[path = "../../bench/src/server/pods.rs"]
mod pods;
mod server;

use anyhow::Context;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client,
    api::ListParams,
    runtime::{
        Controller, WatchStreamExt,
        controller::Action,
        reflector::{self, ObjectRef, Store},
        watcher::{self, Event, watcher},
    },
};
use kube_testserver::ApiServer;
use std::{convert::Infallible, env, future::ready, sync::Arc};
use tokio::runtime::Runtime;
use tower::ServiceExt;

/// What is counted.
const OPERATIONS: [&str; 9] = [
    "get",
    "list-item",
    "watch-event",
    "dispatch",
    "compact-fill",
    "compact-fill-and-get",
    "compact-relist",
    "server-create",
    "server-watched-create",
];

fn main() -> anyhow::Result<()> {
    let mut args = env::args().skip(1);
    let usage =
        || format!("usage: guard OPERATION COUNT, where OPERATION is one of {}", OPERATIONS.join(", "));
    let operation = args.next().with_context(usage)?;
    let count: usize = args.next().and_then(|count| count.parse().ok()).with_context(usage)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let prepared = Prepared { client: server::client(count), pods: (0..count).map(small_pod).collect() };
    let mut result = Ok(());
    let counted = allocation_counter::measure(|| result = measured(&runtime, &operation, count, prepared));
    result?;
    println!("{} {}", counted.count_total, counted.bytes_total);
    Ok(())
}

struct Prepared {
    client: Client,
    pods: Vec<Pod>,
}

/// `cargo xtask instructions` counts the instructions in this function.
#[inline(never)]
fn measured(runtime: &Runtime, operation: &str, count: usize, prepared: Prepared) -> anyhow::Result<()> {
    runtime.block_on(run(operation, count, prepared))
}

async fn run(operation: &str, count: usize, Prepared { client, pods }: Prepared) -> anyhow::Result<()> {
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    match operation {
        "get" => {
            for _ in 0..count {
                api.get("pod").await?;
            }
        }
        "list-item" => {
            let list = api.list(&ListParams::default()).await?;
            anyhow::ensure!(list.items.len() == count);
        }
        "watch-event" => watch_events(client, count).await?,
        "dispatch" => dispatch(pods).await?,
        "compact-fill" => compact_fill(client, count).await.map(drop)?,
        "compact-fill-and-get" => compact_get(client, count).await?,
        "compact-relist" => compact_relist(client, count).await?,
        "server-create" => server_creates(count, false).await?,
        "server-watched-create" => server_creates(count, true).await?,
        _ => anyhow::bail!("unknown operation {operation:?}: expected one of {}", OPERATIONS.join(", ")),
    }
    Ok(())
}

/// Events of a watch, decoded and written to a store.
async fn watch_events(client: Client, count: usize) -> anyhow::Result<()> {
    let (store, writer) = reflector::store();
    let config = watcher::Config::default().streaming_lists();
    let events = watcher(Api::<Pod>::default_namespaced(client), config).reflect(writer);
    let applied = events.try_take_while(|event| ready(Ok(!matches!(event, Event::InitDone))));
    applied.try_for_each(|_| ready(Ok(()))).await?;
    anyhow::ensure!(store.is_ready() && store.len() == count);
    Ok(())
}

/// Objects that are written to the store, and their reconciles, from the trigger to the end.
async fn dispatch(pods: Vec<Pod>) -> anyhow::Result<()> {
    let count = pods.len();
    let (store, mut writer) = reflector::store();
    writer.apply_watcher_event(&Event::Init);
    pods.iter().for_each(|pod| writer.apply_watcher_event(&Event::InitApply(pod.clone())));
    writer.apply_watcher_event(&Event::InitDone);
    let done = Controller::for_stream(stream::iter(pods.into_iter().map(Ok)), store)
        .run(
            async |_: Arc<Pod>, _| Ok::<_, Infallible>(Action::await_change()),
            |_, _, _| Action::await_change(),
            Arc::new(()),
        )
        .count()
        .await;
    anyhow::ensure!(done == count);
    Ok(())
}

/// Objects of a list, written to a compact cache.
async fn compact_fill(client: Client, count: usize) -> anyhow::Result<Store<Pod>> {
    let (store, writer) = reflector::compact_store::<Pod>();
    let mut events = Box::pin(writer.watch(Api::default_namespaced(client), watcher::Config::default()));
    while !store.is_ready() {
        events.try_next().await?;
    }
    anyhow::ensure!(store.len() == count);
    Ok(store)
}

/// The same, and the first read of each.
async fn compact_get(client: Client, count: usize) -> anyhow::Result<()> {
    let store = compact_fill(client, count).await?;
    for index in 0..count {
        let name = format!("checkout-7c9d8f6b54-{index:05}");
        anyhow::ensure!(store.try_get(&ObjectRef::new(&name).within("default"))?.is_some());
    }
    Ok(())
}

/// Objects of a list, written to a compact cache, and the same list again after the watch has expired.
async fn compact_relist(client: Client, count: usize) -> anyhow::Result<()> {
    let (store, writer) = reflector::compact_store::<Pod>();
    let config = watcher::Config::default().labels(server::EXPIRES);
    let mut events = Box::pin(writer.watch(Api::default_namespaced(client), config));
    let mut lists = 0;
    while lists < 2 {
        // The expiry is an error of the stream.
        lists += usize::from(matches!(events.next().await, Some(Ok(Event::InitDone))));
    }
    anyhow::ensure!(store.len() == count);
    Ok(())
}

/// ConfigMaps created in the embedded server, without a client; one watcher reads them as they come.
async fn server_creates(count: usize, watched: bool) -> anyhow::Result<()> {
    const PATH: &str = "/api/v1/namespaces/default/configmaps";
    let server = ApiServer::builder().seed(7).service()?;
    let request = |method: &str, path: &str, body: String| {
        let request = http::Request::builder().method(method).uri(path);
        request.header("content-type", "application/json").body(Full::<Bytes>::from(body))
    };
    let watch = request("GET", &format!("{PATH}?watch=1"), String::new())?;
    let mut watch = server.clone().oneshot(watch).await?.into_body();
    for index in 0..count {
        let object =
            format!(r#"{{"metadata":{{"name":"map-{index:06}"}},"data":{{"text":"{}"}}}}"#, "x".repeat(1000));
        let response = server.clone().oneshot(request("POST", PATH, object)?).await?;
        anyhow::ensure!(response.status() == http::StatusCode::CREATED);
        let body = response.into_body().collect().await?.to_bytes();
        if watched {
            let event = watch.frame().await.context("the watch has ended")??.into_data();
            anyhow::ensure!(event.is_ok_and(|event| event.len() > body.len()));
        }
    }
    Ok(())
}

fn small_pod(index: usize) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(format!("pod-{index:06}"));
    pod.metadata.namespace = Some("default".into());
    pod.metadata.resource_version = Some(index.to_string());
    pod
}
