//! The resident memory of a compact cache beside that of an ordinary one, for few small objects.
//!
//! Each cache is filled in a process of its own, which is this program once more: memory that one has freed would serve the next.

#![cfg(all(feature = "compact-cache", target_os = "linux"))]
#![allow(clippy::unwrap_used)] // a panic fails the test

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client, client::Body};
use kube_runtime::{
    WatchStreamExt,
    reflector::{self, Store},
    watcher::{self, Config},
};
use std::{convert::Infallible, env, fs, process::Command};

/// Which cache a child fills: `KIND OBJECTS`.
const CHILD: &str = "KUBE_COMPACT_RSS_CHILD";
const TEST: &str = "a_compact_cache_of_small_objects_takes_less_than_an_ordinary_one";

#[test]
fn a_compact_cache_of_small_objects_takes_less_than_an_ordinary_one() {
    if let Ok(child) = env::var(CHILD) {
        let (kind, objects) = child.split_once(' ').unwrap();
        return fill(kind == "compact", objects.parse().unwrap());
    }
    // At most this part of the ordinary cache. Of 6 MiB with 1000 objects, `malloc_info` counts 1.8 MiB in use; 3.3 MiB were freed when the
    // list had been read. They lie between the objects, from where glibc returns memory to the system only by `malloc_trim` (0.34 after
    // it), which is not called, because it is unsafe and concerns the whole process. They do not grow with the number of objects.
    let mut failures = Vec::new();
    for (objects, most) in [(1_000, 0.95), (3_000, 0.5), (10_000, 0.25)] {
        let [ordinary, compact] = ["ordinary", "compact"].map(|kind| rss(kind, objects) - rss(kind, 0));
        let part = compact / ordinary;
        println!("{objects} objects: {ordinary:.1} MiB, compact {compact:.1} MiB: {part:.2}");
        if part > most {
            failures
                .push(format!("{objects} objects: {compact:.1} of {ordinary:.1} MiB, at most {most} of it"));
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

/// MiB of a process with a cache of this kind. The median of three.
fn rss(kind: &str, objects: usize) -> f64 {
    let mut measured = [0; 3].map(|_| {
        let mut child = Command::new(env::current_exe().unwrap());
        let child = child.args(["--exact", TEST, "--nocapture"]).env(CHILD, format!("{kind} {objects}"));
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let kib = printed
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS: "))
            .unwrap_or_else(|| panic!("{output:?}"));
        kib.parse::<f64>().unwrap() / 1024.0
    });
    measured.sort_by(f64::total_cmp);
    measured[1]
}

/// Fills a cache, and prints the resident memory.
fn fill(compact: bool, objects: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let api = Api::<ConfigMap>::all(client(objects));
        let (store, filling): (Store<ConfigMap>, _) = if compact {
            let (store, writer) = reflector::compact_store();
            (store, tokio::spawn(writer.watch(api, Config::default()).map_ok(drop).for_each(async |_| {})))
        } else {
            let (store, writer) = reflector::store();
            let events = watcher::watcher(api, Config::default()).default_backoff().reflect(writer);
            (store, tokio::spawn(events.map_ok(drop).for_each(async |_| {})))
        };
        store.wait_until_ready().await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        assert_eq!(store.len(), objects);
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        println!("\nVmRSS: {}", line.trim().trim_end_matches(" kB"));
        filling.abort();
    });
}

/// A client of a server that lists objects page by page, which it makes while they are sent, and whose watches are silent.
fn client(objects: usize) -> Client {
    let server = tower::service_fn(move |request: Request<Body>| async move {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let number = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let list = !query.contains("watch=");
        let from = number("continue").unwrap_or(0);
        let to = objects.min(from + number("limit").unwrap_or(objects));
        let next = if to < objects { to.to_string() } else { String::new() };
        let head = format!(
            r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{"resourceVersion":"99","continue":"{next}"}},"items":["#
        );
        let items = (from..to).map(move |index| config_map(index) + if index + 1 < to { "," } else { "" });
        let texts =
            [head].into_iter().chain(items).chain(["]}".to_owned()]).take(if list { usize::MAX } else { 0 });
        let frames = stream::iter(texts.map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from(text)))));
        let open = stream::iter((!list).then_some(())).then(|()| std::future::pending()); // a watch stays open
        Ok::<_, Infallible>(Response::new(StreamBody::new(frames.chain(open))))
    });
    Client::new(server, "default")
}

/// A ConfigMap of 2 KB. A name, numbers, a certificate of 200 bytes and a dozen values differ.
fn config_map(index: usize) -> String {
    let mut rng = fastrand::Rng::with_seed(index as u64);
    let settings: String = (0..34)
        .map(|setting| match setting % 3 {
            0 => format!(r#""setting.{setting}.timeout":"{}s","#, rng.u32(1..600)),
            _ => format!(r#""setting.{setting}.of-the-service":"a value that is the same","#),
        })
        .collect();
    let certificate: String = (0..200).map(|_| rng.alphanumeric()).collect();
    format!(
        r#"{{"metadata":{{"name":"settings-of-service-{index:05}","namespace":"default","uid":"{:08x}-9b1e-4d6e-8f3a-{index:012}","resourceVersion":"{}","creationTimestamp":"2026-01-02T03:04:05Z","labels":{{"app":"service-{}"}}}},"data":{{{settings}"certificate":"{certificate}"}}}}"#,
        rng.u32(..),
        10 + index % 80,
        index % 100,
    )
}

#[test]
fn the_objects_have_2_kb() {
    let size = config_map(7).len();
    assert!((1_900..2_100).contains(&size), "{size}");
}
