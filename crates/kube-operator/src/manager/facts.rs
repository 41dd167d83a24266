//! What of a manager its deployment has to know.

use super::{build::Manager, replicas::Replicas};
use crate::{
    rbac::Permissions,
    webhook::{Registry, certificates::CertificateNeeds},
};
use std::{collections::BTreeSet, time::Duration};

/// What of a manager its deployment has to know.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// That of the client.
    pub(crate) namespace: String,
    pub(crate) version: Option<String>,
    /// Whether replicas know of each other, so that there may be several.
    pub(crate) has_replicas: bool,
    /// The port of metrics and health.
    pub(crate) metrics: Option<u16>,
    pub(crate) webhooks: Option<WebhookFacts>,
    pub(crate) grace_period: Duration,
    /// The namespaces of its watches, without its own; empty if it watches all.
    pub(crate) watched_namespaces: BTreeSet<String>,
    /// Of its watches, Leases, certificates, and what it says that it writes.
    pub(crate) permissions: Permissions,
}

/// What of the webhooks the deployment has to know.
#[derive(Clone, Debug)]
pub(crate) struct WebhookFacts {
    pub(crate) port: u16,
    pub(crate) registry: Registry,
    pub(crate) certificates: CertificateNeeds,
}

impl Manager {
    pub(crate) fn facts(&self) -> Facts {
        let mut needed = self.needed.clone();
        needed.add_leases(&self.replicas);
        let own = self.client.default_namespace();
        let watched = self.controllers.iter().flat_map(|controller| controller.paths.clone());
        let watched: Vec<_> = watched.chain(self.caches.paths()).collect();
        watched.iter().for_each(|path| needed.add_watch(path));
        let namespaces = watched.iter().filter_map(|path| namespace_of(path)).filter(|it| *it != own);
        if let Some(webhook) = &self.webhooks {
            needed.add_certificates(&webhook.certificates);
        }
        let webhooks = self.webhooks.as_ref().map(|webhook| WebhookFacts {
            port: webhook.address.port(),
            registry: webhook.registry.clone(),
            certificates: webhook.certificates.clone(),
        });
        Facts {
            namespace: own.to_owned(),
            version: self.version.clone(),
            has_replicas: !matches!(self.replicas, Replicas::Alone),
            metrics: self.metrics.map(|address| address.port()),
            webhooks,
            grace_period: self.grace_period,
            watched_namespaces: namespaces.map(str::to_owned).collect(),
            permissions: needed.permissions(),
        }
    }
}

/// Of the collection at this path.
fn namespace_of(path: &str) -> Option<&str> {
    path.split_once("/namespaces/")?.1.split_once('/').map(|(namespace, _)| namespace)
}
