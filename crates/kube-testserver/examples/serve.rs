//! Serves until Ctrl-C, for `kubectl` and other clients: `cargo run -p kube-testserver --example serve -- [--tls] [--port N] [--workloads] [--kubelet] [--listen PORT=ADDRESS]`.
//!
//! Prints the path of a kubeconfig, and nothing else, on standard output.

use std::{net::SocketAddr, path::PathBuf};

use kube_testserver::{BuiltInController, TestServer};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = TestServer::builder();
    let mut file = None;
    let mut listening = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--tls" => builder = builder.tls(),
            "--listen" => {
                let pair = args.next().ok_or("--listen needs PORT=ADDRESS")?;
                let (port, address) = pair.split_once('=').ok_or("--listen needs PORT=ADDRESS")?;
                listening.push((port.parse::<u16>()?, address.parse::<SocketAddr>()?));
            }
            "--rbac" => builder = builder.with_rbac(),
            "--service-accounts" => builder = builder.with(BuiltInController::ServiceAccounts),
            "--workloads" => builder = builder.with(BuiltInController::Workloads),
            "--kubelet" => builder = builder.with(BuiltInController::Kubelet),
            "--port" => {
                let port = args.next().ok_or("--port needs a number")?;
                builder =
                    builder.port(port.parse().map_err(|_| format!("--port needs a number, not {port:?}"))?);
            }
            "--kubeconfig" => file = Some(PathBuf::from(args.next().ok_or("--kubeconfig needs a path")?)),
            other => {
                return Err(format!(
                    "unknown argument {other:?}; there are --tls, --port N, --workloads, --kubelet, --listen PORT=ADDRESS and --kubeconfig FILE"
                )
                .into());
            }
        }
    }
    let server = builder.start().await?;
    for (port, address) in listening {
        server.api().kubelet().listen(port, address);
    }
    let file = file.unwrap_or_else(|| {
        std::env::temp_dir().join(format!("testserver-{}.kubeconfig", server.addr().port()))
    });
    std::fs::write(&file, server.kubeconfig())
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("{}", file.display());
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
