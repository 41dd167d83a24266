//! Times the decoding of a list and a watch of 2 000 pods, with and without intermediate `serde_json` values.
//!
//! `cargo run --release -p kube-client --example decode`

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::Pod;
use kube_client::Client;
use kube_client::client::Body;
use kube_core::{DeserializeGuard, ObjectList, WatchEvent};

const PODS: usize = 2_000;
const ROUNDS: u32 = 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pods: Vec<String> = (0..PODS).map(pod).collect();
    let list = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9"}},"items":[{}]}}"#,
        pods.join(",")
    );
    let watch: String = pods.iter().map(|pod| format!("{{\"type\":\"ADDED\",\"object\":{pod}}}\n")).collect();
    println!("{PODS} pods of {} bytes, {ROUNDS} rounds", pods[0].len());

    let (list, watch) = (responding(list), responding(watch));
    let guard = time(|| async {
        let list: ObjectList<DeserializeGuard<Pod>> = list.request(get()).await?;
        Ok(list.items.len())
    });
    let guard = guard.await?;
    let whole = time(|| async { Ok(list.request::<ObjectList<Pod>>(get()).await?.items.len()) }).await?;
    let each = time(|| async { Ok(list.request_list_guarded::<Pod>(get()).await?.items.len()) }).await?;
    println!("list:  through values {guard:?}, whole body {whole:?}, item by item {each:?}");
    println!("list:  item by item is {:.2} times as fast as through values", ratio(guard, each));

    let guard = time(|| async {
        let events = watch.request_events::<DeserializeGuard<Pod>>(get()).await?;
        Ok(events.filter(|event| std::future::ready(added(event))).count().await)
    });
    let guard = guard.await?;
    let each = time(|| async {
        let events = watch.request_events_guarded::<Pod>(get()).await?;
        Ok(events.filter(|event| std::future::ready(added(event))).count().await)
    });
    let each = each.await?;
    println!("watch: through values {guard:?}, directly {each:?}: {:.2} times as fast", ratio(guard, each));
    Ok(())
}

fn added(event: &kube_client::Result<WatchEvent<DeserializeGuard<Pod>>>) -> bool {
    matches!(event, Ok(WatchEvent::Added(DeserializeGuard(Ok(_)))))
}

fn ratio(before: Duration, after: Duration) -> f64 {
    before.as_secs_f64() / after.as_secs_f64()
}

async fn time<F>(round: impl Fn() -> F) -> kube_client::Result<Duration>
where
    F: Future<Output = kube_client::Result<usize>>,
{
    assert_eq!(round().await?, PODS);
    let started = Instant::now();
    for _ in 0..ROUNDS {
        assert_eq!(round().await?, PODS);
    }
    Ok(started.elapsed() / ROUNDS)
}

fn get() -> Request<Vec<u8>> {
    Request::new(Vec::new())
}

/// A client of a server that sends this text, in chunks like those of a socket.
fn responding(text: String) -> Client {
    let bytes = Bytes::from(text);
    let server = tower::service_fn(move |_: Request<Body>| {
        let bytes = bytes.clone();
        let chunks = (0..bytes.len())
            .step_by(16 << 10)
            .map(move |at| bytes.slice(at..bytes.len().min(at + (16 << 10))));
        let frames = stream::iter(chunks).map(|chunk| Ok::<_, std::io::Error>(Frame::data(chunk)));
        std::future::ready(Ok::<_, std::io::Error>(Response::new(StreamBody::new(frames))))
    });
    Client::new(server, "default")
}

fn pod(number: usize) -> String {
    let env: Vec<_> = (0..20)
        .map(|at| serde_json::json!({"name": format!("SETTING_{at}"), "value": "v".repeat(40)}))
        .collect();
    let container = |name: &str| {
        serde_json::json!({
            "name": name, "image": "registry.example.org/team/app:1.2.3", "env": env, "args": ["--listen", "0.0.0.0:8080"],
            "ports": [{"containerPort": 8080, "protocol": "TCP"}], "resources": {"limits": {"cpu": "1", "memory": "512Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}})
    };
    serde_json::json!({
        "metadata": {
            "name": format!("web-{number}"), "namespace": "default", "uid": format!("{number:036}"), "resourceVersion": "7",
            "labels": {"app": "web", "pod-template-hash": "abc"}, "annotations": {"note": "n".repeat(300)},
            "managedFields": [{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}, "f:type": {}}}}}}]},
        "spec": {"containers": [container("app"), container("sidecar")], "nodeName": "node-1", "restartPolicy": "Always",
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "cfg", "configMap": {"name": "cfg"}}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    })
    .to_string()
}
