//! What of a manager its deployment has to know.

use super::{
    build::Manager,
    member_needs::MemberNeeds,
    permissions::NeededRequests,
    replicas::Replicas,
    served::{DEFINITION_PATHS, WhileServed},
};
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
    /// That of the Leases by which they know of each other.
    pub(crate) lease_namespace: Option<String>,
    /// The port of metrics and health.
    pub(crate) metrics: Option<u16>,
    pub(crate) webhooks: Option<WebhookFacts>,
    pub(crate) grace_period: Duration,
    /// The namespaces of its watches, without its own; empty if it watches all.
    pub(crate) watched_namespaces: BTreeSet<String>,
    /// Whether it watches its own namespace alone, beside others or not.
    pub(crate) watches_own_namespace: bool,
    /// What each part needs: watches, Leases, certificates, and what the program says that it writes.
    pub(crate) needs: Vec<(String, Permissions)>,
    pub(crate) members: MemberNeeds,
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
        let own = self.client.default_namespace();
        let watched = self.controllers.iter().flat_map(|controller| controller.paths.clone());
        let while_served = self.while_served.iter().flat_map(WhileServed::paths);
        let watched = watched.chain(while_served).chain(self.caches.paths());
        let watched: Vec<_> = watched.chain(self.members.paths()).collect();
        let mut namespaces: BTreeSet<_> =
            watched.iter().filter_map(|path| namespace_of(path)).map(str::to_owned).collect();
        let watches_own_namespace = namespaces.remove(own);
        let webhooks = self.webhooks.as_ref().map(|webhook| WebhookFacts {
            port: webhook.address.port(),
            registry: webhook.registry.clone(),
            certificates: webhook.certificates.clone(),
        });
        Facts {
            namespace: own.to_owned(),
            version: self.version.clone(),
            has_replicas: !matches!(self.replicas, Replicas::Alone),
            lease_namespace: match &self.replicas {
                Replicas::Alone => None,
                Replicas::Elected(config) => Some(config.namespace.clone()),
                Replicas::Sharded(config) => Some(config.namespace().to_owned()),
            },
            metrics: self.metrics.map(|address| address.port()),
            webhooks,
            grace_period: self.grace_period,
            watched_namespaces: namespaces,
            watches_own_namespace,
            needs: self.needs(),
            members: MemberNeeds::of(&self.members),
        }
    }

    fn needs(&self) -> Vec<(String, Permissions)> {
        let mut parts = self.writes.clone();
        let mut add = |part: String, needed: &dyn Fn(&mut NeededRequests)| {
            let mut requests = NeededRequests::default();
            needed(&mut requests);
            parts.push((part, requests));
        };
        for controller in &self.controllers {
            add(format!("the controller {}", controller.name), &|needed| {
                controller.paths.iter().for_each(|path| needed.add_watch(path));
            });
        }
        for served in &self.while_served {
            add(format!("the controller {}", served.name), &|needed| {
                served.paths().for_each(|path| needed.add_watch(&path));
            });
        }
        if self.kinds.is_some() {
            add("which kinds are served".to_owned(), &|needed| {
                DEFINITION_PATHS.iter().for_each(|path| needed.add_watch(path));
            });
        }
        for provider in &self.members.providers {
            add(provider.source().to_owned(), &|needed| {
                provider.paths().iter().for_each(|path| needed.add_watch(path));
            });
        }
        if self.members.are_wanted() {
            add("telling the hub from its members".to_owned(), &NeededRequests::add_identity);
        }
        for path in self.caches.paths() {
            add(format!("the cache of {path}"), &|needed| needed.add_watch(&path));
        }
        let replicas = match self.replicas {
            Replicas::Alone => None,
            Replicas::Elected(_) => Some("leader election"),
            Replicas::Sharded(_) => Some("sharding"),
        };
        if let Some(replicas) = replicas {
            add(replicas.to_owned(), &|needed| needed.add_leases(&self.replicas));
        }
        if let Some(webhook) = &self.webhooks {
            let part = "the certificate of the webhooks".to_owned();
            add(part, &|needed| needed.add_certificates(&webhook.certificates));
        }
        let with_permissions = |(part, needed): (String, NeededRequests)| (part, needed.permissions());
        parts.into_iter().map(with_permissions).filter(|(_, permissions)| !permissions.is_empty()).collect()
    }
}

/// Of the collection at this path.
fn namespace_of(path: &str) -> Option<&str> {
    path.split_once("/namespaces/")?.1.split_once('/').map(|(namespace, _)| namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clusters::SecretClusters;
    use kube_client::Client;

    #[tokio::test]
    async fn what_announces_clusters_and_tells_them_from_the_hub_is_in_the_roles() {
        let hub = Client::new(kube_testserver::ApiServer::new(), "default");
        let needs = |secrets: SecretClusters| {
            let needs = Manager::new(hub.clone()).clusters(secrets).facts().needs;
            needs.into_iter().map(|(part, permissions)| (part, permissions.to_yaml("x"))).collect::<Vec<_>>()
        };
        let of_all = needs(SecretClusters::new(hub.clone()));
        assert!(of_all[0].0.starts_with("the Secrets with labels "), "{of_all:?}");
        for part in ["kind: ClusterRole", "secrets", "list", "watch"] {
            assert!(of_all[0].1.contains(part), "{part}: {}", of_all[0].1);
        }
        assert_eq!(of_all[1].0, "telling the hub from its members");
        for part in ["namespaces", "kube-system", "get"] {
            assert!(of_all[1].1.contains(part), "{part}: {}", of_all[1].1);
        }
        let of_one = needs(SecretClusters::new(hub.clone()).namespace("fleet"));
        assert!(of_one[0].1.contains(r#"namespace: "fleet""#), "{}", of_one[0].1);
    }
}
