//! A complete operator: copy it and replace `Page`.
//!
//! - [`page`]: the custom resource in two versions, their conversion and validation.
//! - [`reconcile`]: children, finalizer and status of a page; [`advice`]: the kind of one that the cluster may lack.
//! - [`manifests`]: what is deployed, generated into `deploy/`.
//! - [`register`]: applies the CRD and the webhook configuration, which need more permissions than the operator has at run time.
//! - [`telemetry`]: logs, and spans for OpenTelemetry.
//! - [`embedded`]: an API server in the process, and a demonstration on it.
//!
//! [`manager`] puts the parts together, with the [`webhooks`]; the program (`main.rs`) adds its arguments.

pub mod advice;
pub mod embedded;
pub mod manifests;
pub mod page;
pub mod reconcile;
pub mod register;
pub mod telemetry;

use advice::VerticalPodAutoscaler;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Client, CustomResourceExt,
    operator::{
        children::ChildSet,
        manager::{Manager, Writes},
        webhook::{Versions, Webhooks, certificates::SelfSigned},
    },
    runtime::{Controller, controller::Related, watcher::Config},
};
use page::{check, v1, v2};
use reconcile::{INDEX, stale_lines};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

/// The name of the operator: of its Lease, Service, webhook configuration and field manager.
pub const NAME: &str = "page-operator";

/// The children of all pages.
pub const CHILDREN: ChildSet = ChildSet::new(NAME, env!("CARGO_PKG_VERSION"));

/// Where the operator listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// `/metrics`, `/livez`, `/readyz` and `/debug/controllers`, over HTTP.
    pub metrics: SocketAddr,
    /// The webhooks, over HTTPS.
    pub webhooks: SocketAddr,
}

impl Addresses {
    /// The ports in a cluster.
    pub const IN_CLUSTER: Self = Self {
        metrics: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8080),
        webhooks: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 9443),
    };
}

/// What the API server calls.
pub fn webhooks() -> Webhooks {
    // ANCHOR: webhooks
    Webhooks::new()
        .validate(check::<v1::Page>)
        .validate(check::<v2::Page>)
        .convert(Versions::<v2::Page>::new().version::<v1::Page>())
    // ANCHOR_END: webhooks
}

/// Everything that runs, in the order in which it starts. The namespace is that of the client: in a cluster, that of the pod.
pub fn manager(client: Client, addresses: Addresses) -> Manager {
    let namespace = client.default_namespace().to_owned();
    let certificates =
        SelfSigned::new(client.clone(), &namespace, NAME).validating(NAME).crd(v2::Page::crd_name());
    let mut manager = Manager::new(client.clone());
    let served = manager.served_kinds();
    let advice = Related::metadata(Api::<VerticalPodAutoscaler>::all(client.clone()), CHILDREN.watch());
    // Only the children, not all ConfigMaps of the cluster.
    let pages = Controller::new(Api::<v2::Page>::all(client.clone()), Config::default())
        .owns(Api::<Deployment>::all(client.clone()), CHILDREN.watch())
        .owns(Api::<ConfigMap>::all(client.clone()), CHILDREN.watch())
        .owns_related(advice.if_served(&served));
    let (index, known) = (Config::default().fields(&format!("metadata.name={INDEX}")), pages.store());
    let pages =
        pages.watches(Api::<ConfigMap>::all(client.clone()), index, move |index| stale_lines(&index, &known));
    let context = Arc::new(reconcile::Context { client: client.clone(), served });

    manager
        .writes(&Api::<v2::Page>::all(client.clone()), Writes::Finalizers)
        .writes(&Api::<v2::Page>::all(client.clone()), Writes::Status)
        .writes(&Api::<v2::Page>::all(client.clone()), Writes::OwnerReferences)
        .writes(&Api::<v2::Page>::all(client.clone()), Writes::ChildrenRecord)
        .writes(&Api::<Deployment>::all(client.clone()), Writes::Children)
        .writes(&Api::<ConfigMap>::all(client.clone()), Writes::Children)
        .writes(&Api::<VerticalPodAutoscaler>::all(client), Writes::Children)
        .leader_election(NAME, namespace)
        .serve_metrics(addresses.metrics)
        .webhooks(addresses.webhooks, certificates, webhooks())
        .controller("pages", pages, reconcile::reconcile, context)
}
