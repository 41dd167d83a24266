//! What the server costs: time to start, memory, creates per second with watchers.
//! `cargo run --release -p kube-testserver --example measure`

use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use kube_testserver::{ApiServer, TestServer};
use tower::ServiceExt;

const CREATES: usize = 10_000;
const WATCHERS: usize = 100;
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let before = resident_kib()?;
    let start = Instant::now();
    let server = TestServer::start().await?;
    println!(
        "start: {:.1} ms, {} KiB more than before",
        millis(start),
        resident_kib()?.saturating_sub(before)
    );

    let api = server.api();
    println!("creates, nobody watching: {:.0} a second", creates(&api, "quiet").await?);
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={}", api.resource_version());
        let mut body =
            api.clone().oneshot(http::Request::get(path).body(Full::<Bytes>::default())?).await?.into_body();
        watchers.push(tokio::spawn(async move {
            let mut lines = 0;
            while lines < CREATES
                && let Some(Ok(frame)) = body.frame().await
            {
                lines +=
                    frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
            }
            lines
        }));
    }
    let start = Instant::now();
    println!("creates, {WATCHERS} watchers: {:.0} a second", creates(&api, "watched").await?);
    let mut seen = 0;
    for watcher in watchers {
        seen += watcher.await?;
    }
    println!("events: {seen} of {}, all there after {:.0} ms", CREATES * WATCHERS, millis(start));
    println!("memory with {} objects: {} KiB", 2 * CREATES, resident_kib()?);
    server.shutdown().await;
    Ok(())
}

/// Creates objects of about a kilobyte, one after the other.
async fn creates(api: &ApiServer, prefix: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let filling = "x".repeat(600);
    let start = Instant::now();
    for i in 0..CREATES {
        let body = format!(r#"{{"metadata":{{"name":"{prefix}-{i}"}},"data":{{"k":"{filling}"}}}}"#);
        let request = http::Request::post(CONFIG_MAPS).body(Full::new(Bytes::from(body)))?;
        let response = api.clone().oneshot(request).await?;
        assert_eq!(response.status(), 201);
        tokio::task::yield_now().await;
    }
    Ok(f64::from(u32::try_from(CREATES)?) / start.elapsed().as_secs_f64())
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Resident memory of this process.
fn resident_kib() -> Result<usize, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
