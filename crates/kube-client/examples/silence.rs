//! Measures how long a watch and a followed log over HTTP/1.1 take to detect that packets are dropped. `cargo xtask packet-loss` runs it
//! and drops packets.
//!
//! `cargo run -p kube-client --example silence -- URL` prints `open` when both have started; then the network may be cut. Exit code 1 if
//! either of them reports no error within 60 s.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::{AsyncReadExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube_client::api::{LogParams, WatchParams};
use kube_client::{Api, Client, Config};

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("expected the URL of a server")?;
    let pods: Api<Pod> = Api::default_namespaced(Client::try_from(Config::new(url.parse()?))?);
    let mut events = Box::pin(pods.watch(&WatchParams::default(), "0").await?);
    let params = LogParams { follow: true, ..LogParams::default() };
    let mut log = Box::pin(pods.log_stream("web", &params).await?);
    println!("open");
    let began = Instant::now();
    let watch = async {
        let end = tokio::time::timeout(LIMIT, events.next()).await;
        let failed = matches!(end, Ok(Some(Err(_))));
        println!("watch: after {} s {end:?}", began.elapsed().as_secs());
        failed
    };
    let log = async {
        let end = tokio::time::timeout(LIMIT, log.read(&mut [0; 64])).await;
        let failed = matches!(end, Ok(Err(_)));
        println!("log: after {} s {end:?}", began.elapsed().as_secs());
        failed
    };
    let (watch, log) = tokio::join!(watch, log);
    Ok(if watch && log { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
