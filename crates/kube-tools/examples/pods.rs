//! What programs do with running pods, as a program: in the namespace of the kubeconfig's current context.
//!
//!     cargo run -p kube-tools --features cp --example pods -- exec POD COMMAND...
//!     cargo run -p kube-tools --features cp --example pods -- cp FILE POD:FILE      (or POD:FILE FILE)
//!     cargo run -p kube-tools --features cp --example pods -- forward TYPE/NAME [LOCAL:]REMOTE...
//!     cargo run -p kube-tools --features cp --example pods -- logs SELECTOR

use std::error::Error;
use std::io::Write;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube_client::error::ErrorChain;
use kube_client::{Api, Client};
use kube_tools::ApiExt as _;
use kube_tools::pods::{Copied, CopyParams, ExecParams, LogLinesParams};

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args).await {
        Ok(code) => code.into(),
        Err(err) => {
            eprintln!("error: {}", ErrorChain(&*err));
            std::process::ExitCode::FAILURE
        }
    }
}

/// Returns the exit code.
async fn run(args: &[&str]) -> Result<u8, Box<dyn Error>> {
    let pods: Api<Pod> = Api::default_namespaced(Client::try_default().await?);
    match args {
        ["exec", pod, command @ ..] if !command.is_empty() => {
            let output = pods.exec_output(pod, command.iter().copied(), &ExecParams::default()).await?;
            std::io::stdout().write_all(&output.stdout)?;
            std::io::stderr().write_all(&output.stderr)?;
            return Ok(u8::try_from(output.status.code()).unwrap_or(1));
        }
        ["cp", from, to] => {
            let copied = copy(&pods, from, to).await?;
            println!("{} files, {} bytes", copied.files, copied.bytes);
            for skipped in &copied.skipped {
                eprintln!("skipped: {}: {}", skipped.path.display(), skipped.reason);
            }
        }
        ["forward", target, ports @ ..] => {
            let ports = ports.iter().map(|port| port.parse()).collect::<Result<Vec<_>, _>>()?;
            let forwarder = pods.forward(&target.parse()?, &ports).await?;
            for (address, port) in forwarder.local_addrs().iter().zip(&ports) {
                println!("Forwarding from {address} -> {}", port.remote);
            }
            let mut errors = forwarder.errors();
            while let Ok(err) = errors.recv().await {
                eprintln!("error: {err}");
            }
        }
        ["logs", selector] => {
            let mut lines = pods.log_lines(&LogLinesParams::default().labels(selector).follow());
            while let Some(line) = lines.try_next().await? {
                println!("{line}");
            }
        }
        _ => return Err("expected exec, cp, forward or logs; see the first lines of this file".into()),
    }
    Ok(0)
}

async fn copy(pods: &Api<Pod>, from: &str, to: &str) -> Result<Copied, Box<dyn Error>> {
    let params = CopyParams::default();
    Ok(match (from.split_once(':'), to.split_once(':')) {
        (Some((pod, remote)), None) => pods.copy_from(pod, remote, to, &params).await?,
        (None, Some((pod, remote))) => pods.copy_to(pod, from, remote, &params).await?,
        _ => return Err("expected one path of a pod, POD:FILE, and one local path".into()),
    })
}
