//! The resident memory of a program whose compact caches have the ConfigMaps of many clusters.
//!
//! It is measured in a process of its own, which is this program once more: memory that another test has freed would serve it.

#![cfg(all(feature = "manager", target_os = "linux"))]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, Config, client::Body};
use kube_operator::{
    clusters::{Cluster, ClusterOptions, ClusterSpec, Clusters, OnCluster},
    manager::Manager,
};
use kube_runtime::{Controller, controller::Action, watcher};
use std::{
    convert::Infallible,
    env, fs,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::sleep;

/// How many clusters a child has.
const CHILD: &str = "KUBE_FLEET_RSS_CHILD";
const TEST: &str = "clusters_with_a_thousand_config_maps_each_take_little_memory";
/// Of each cluster, of 2 KB.
const OBJECTS: usize = 1_000;

/// They take 40 MiB, and 100 clusters 108, of which malloc keeps some 30 that lie between the objects and were free when all had listed: 20
/// list at once.
#[test]
fn clusters_with_a_thousand_config_maps_each_take_little_memory() {
    if let Ok(clusters) = env::var(CHILD) {
        return fill(clusters.parse().unwrap());
    }
    let [none, some] = [0, 25].map(rss);
    println!("{none:.1} MiB without clusters, {some:.1} with 25");
    assert!(some - none < 50.0, "{none} {some}");
}

/// MiB of a process with so many clusters.
fn rss(clusters: usize) -> f64 {
    let mut child = Command::new(env::current_exe().unwrap());
    let output =
        child.args(["--exact", TEST, "--nocapture"]).env(CHILD, clusters.to_string()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let kib = printed.lines().find_map(|line| line.strip_prefix("VmRSS: "));
    kib.unwrap_or_else(|| panic!("{output:?}")).parse::<f64>().unwrap() / 1024.0
}

async fn reconcile(_map: Arc<ConfigMap>, context: Arc<OnCluster<AtomicUsize>>) -> Result<Action, Infallible> {
    context.fetch_add(1, Ordering::Relaxed);
    Ok(Action::await_change())
}

/// Prints the resident memory when all objects were reconciled.
fn fill(clusters: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let specs = (0..clusters).map(|number| {
            let config = Config::new(format!("http://c{number}").parse().unwrap());
            ClusterSpec::new(format!("c{number}").parse().unwrap(), config)
        });
        let maps = |cluster: &Cluster| {
            let config = watcher::Config::default().compact_cache();
            Controller::new(Api::<ConfigMap>::all(cluster.client()), config)
        };
        let reconciled = Arc::new(AtomicUsize::new(0));
        let manager = Manager::new(client(&Config::new("http://hub".parse().unwrap())).unwrap())
            .without_streaming_lists()
            .cluster_options(ClusterOptions::new().connect(client))
            .clusters(Clusters::fixed(specs))
            .controller_on_each("maps", maps, reconcile, Arc::clone(&reconciled));
        let done = async {
            while reconciled.load(Ordering::Relaxed) < clusters * OBJECTS {
                sleep(Duration::from_millis(50)).await;
            }
            sleep(Duration::from_millis(500)).await;
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
            println!("\nVmRSS: {}", line.trim().trim_end_matches(" kB"));
            if env::var("EXIT").is_ok() {
                std::process::exit(0);
            }
        };
        manager.run_until(done).await.unwrap();
    });
}

/// A client of a server that lists objects page by page, which it makes while they are sent, and whose watches are silent.
fn client(config: &Config) -> kube_client::Result<Client> {
    let server = tower::service_fn(|request: Request<Body>| async move {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let number = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let is_watch = query.contains("watch=");
        let (from, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(OBJECTS));
        let to = OBJECTS.min(from + limit);
        let is_list = !is_watch && !request.uri().path().ends_with("/kube-system");
        let head = match is_list {
            true => {
                let next = if to < OBJECTS { to.to_string() } else { String::new() };
                format!(
                    r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"99","continue":"{next}"}},"items":["#
                )
            }
            false => format!(r#"{{"metadata":{{"name":"kube-system","uid":"of-{host}"}}}}"#),
        };
        let item = move |index| config_map(&host, index) + if index + 1 < to { "," } else { "]}" };
        let items = (from..if is_list { to } else { from }).map(item);
        let texts = [head].into_iter().chain(items).take(if is_watch { 0 } else { usize::MAX });
        let mut texts = texts.fuse();
        // As they come from a connection.
        let chunks = std::iter::from_fn(move || {
            let mut chunk = String::with_capacity(20 << 10);
            while chunk.len() < 16 << 10 {
                let Some(text) = texts.next() else { break };
                chunk.push_str(&text);
            }
            (!chunk.is_empty()).then_some(chunk)
        });
        let frames = stream::iter(chunks.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text)))));
        let open = stream::iter(is_watch.then_some(())).then(|()| std::future::pending()); // a watch stays open
        Ok::<_, Infallible>(Response::new(StreamBody::new(frames.chain(open))))
    });
    Client::with_transport(config, server)
}

/// A ConfigMap of 2 KB with a file of settings, as those of one kind of service on many clusters: the names of the settings are the same, a
/// third of the values is not, and there is a checksum.
fn config_map(host: &str, index: usize) -> String {
    let seed = host.bytes().fold(index as u64, |seed, byte| seed.wrapping_mul(1_000_003) ^ u64::from(byte));
    let mut random = fastrand::Rng::with_seed(seed);
    let words = ["orders", "billing", "search", "users", "images", "mail", "reports", "audit"];
    let settings: String = (0..36)
        .map(|setting| match setting % 6 {
            0 => format!(r"server.{setting}.timeout: {}s\n", random.u32(1..600)),
            1 => format!(
                r"server.{setting}.address: {}-{}.example.org:{}\n",
                random.choice(&words).unwrap(),
                random.u16(..1000),
                random.u16(1024..)
            ),
            2 => format!(r"server.{setting}.retries: {}\n", random.u8(1..9)),
            _ => format!(r"server.{setting}.compression.of-responses: enabled\n"),
        })
        .collect();
    let key = format!("{:016x}{:016x}", random.u64(..), random.u64(..));
    let uid =
        format!("{:08x}-{:04x}-4000-8000-{:012x}", random.u32(..), random.u16(..), random.u64(..) >> 16);
    format!(
        r#"{{"metadata":{{"name":"map-{index}","namespace":"default","uid":"{uid}","resourceVersion":"{}",
        "creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"shop","number":"{index}"}},
        "managedFields":[{{"manager":"kubectl","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",
        "fieldsV1":{{"f:data":{{".":{{}},"f:text":{{}},"f:key":{{}}}},"f:metadata":{{"f:labels":{{".":{{}},"f:app":{{}},"f:number":{{}}}}}}}}}}]}},
        "data":{{"key":"{key}","text":"{settings}"}}}}"#,
        index + 1
    )
}
