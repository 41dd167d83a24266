//! The operator `pages`: everything that runs, and what is deployed.

#[cfg(feature = "embedded")]
pub mod embedded;

pub mod page;

use kube::{
    Client,
    operator::{
        manager::Manager,
        manifests::{Form, Manifests, offline_client},
    },
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The name of the operator: of its Deployment, Service and Lease, and of its field manager.
pub const NAME: &str = "pages";

/// The forms of the manifests in `deploy/`.
pub const FORMS: [Form; 3] = [Form::Yaml, Form::Kustomize, Form::Helm];

/// Where the operator listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// `/metrics`, `/livez`, `/readyz` and `/debug/controllers`, over HTTP.
    pub metrics: SocketAddr,
    /// The webhooks, over HTTPS, if there are any.
    pub webhooks: SocketAddr,
}

impl Addresses {
    /// The usual ports at this address.
    pub fn at(ip: impl Into<IpAddr>) -> Self {
        let ip = ip.into();
        Self {
            metrics: SocketAddr::new(ip, 8080),
            webhooks: SocketAddr::new(ip, 9443),
        }
    }
}

// ANCHOR: manager
/// Everything that runs. The namespace is that of the client: in a cluster, that of the pod.
pub fn manager(client: Client, addresses: Addresses) -> Manager {
    let namespace = client.default_namespace().to_owned();
    let mut manager = Manager::new(client.clone())
        .version(env!("CARGO_PKG_VERSION"))
        .leader_election(NAME, namespace)
        .serve_metrics(addresses.metrics);
    manager = page::reconcile::add_to(manager, &client);
    manager
}
// ANCHOR_END: manager

/// What is deployed. Makes the manager, but runs nothing and connects to nothing.
pub fn manifests(namespace: &str) -> anyhow::Result<Manifests> {
    let addresses = Addresses::at(Ipv4Addr::UNSPECIFIED);
    let manager = manager(offline_client(namespace), addresses);
    let mut manifests = Manifests::new(NAME, &manager);
    manifests = manifests.crd(page::crd()?);
    manifests = manifests.sample(&page::sample());
    Ok(manifests)
}
