//! Reaches a Service by a local port.

// ANCHOR: all
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::pods::{ForwardPort, ForwardTarget};
use kube::prelude::*;
use tokio::{io::AsyncReadExt, net::TcpStream};

/// Asks a Service by a local port, until the forwarder is dropped.
pub async fn ask(pods: &Api<Pod>, service: &str) -> Result<String, Box<dyn std::error::Error>> {
    let target = ForwardTarget::Service(service.to_owned());
    let forwarder = pods.forward(&target, &[ForwardPort::to("http")]).await?;
    let mut connection = TcpStream::connect(forwarder.local_addrs()[0]).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}
// ANCHOR_END: all
