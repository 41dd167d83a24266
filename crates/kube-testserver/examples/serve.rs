//! Serves until Ctrl-C, for `kubectl` and other clients: `cargo run -p kube-testserver --example serve -- [--tls] [--port N]`.
//!
//! Prints the path of a kubeconfig, and nothing else, on standard output.

use std::path::PathBuf;

use kube_testserver::TestServer;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = TestServer::builder();
    let mut file = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--tls" => builder = builder.tls(),
            "--port" => {
                let port = args.next().ok_or("--port needs a number")?;
                builder =
                    builder.port(port.parse().map_err(|_| format!("--port needs a number, not {port:?}"))?);
            }
            "--kubeconfig" => file = Some(PathBuf::from(args.next().ok_or("--kubeconfig needs a path")?)),
            other => {
                return Err(format!(
                    "unknown argument {other:?}; there are --tls, --port N and --kubeconfig FILE"
                )
                .into());
            }
        }
    }
    let server = builder.start().await?;
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
