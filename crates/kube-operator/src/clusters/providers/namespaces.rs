//! Namespaces as clusters, for tests.

use super::announced::{AsyncSpec, of_objects};
use crate::clusters::{
    error::ClusterError,
    event::{ClusterSpec, Clusters},
    name::ClusterName,
    unusable::Unusable,
};
use k8s_openapi::api::core::v1::Namespace;
use kube_client::{Api, Client, Config};
use kube_core::ResourceExt;
use kube_runtime::{
    WatchStreamExt,
    watcher::{self, WatchMonitor},
};

impl Clusters {
    /// A cluster for each namespace that matches the label selector, in the cluster of `client` and `config`: for trying a program for many
    /// clusters on one.
    ///
    /// Clients of the clusters have the namespace as their default, so controllers have to use `Api::default_namespaced`.
    pub fn namespaces(client: Client, config: Config, labels: impl Into<String>) -> Self {
        let labels = labels.into();
        let source = format!("the namespaces with labels {labels}");
        let watched = watcher::Config { label_selector: Some(labels), ..watcher::Config::default() };
        let api = Api::<Namespace>::all(client);
        let path = api.resource_url().to_owned();
        let watches = WatchMonitor::new(&source, "Namespace");
        let watch = watches.watcher(api, watched).default_backoff();
        let unusable = Unusable::default();
        let events = of_objects(watch, name_of, OfNamespace(config), unusable.clone());
        Self::of(source, events).watching(path, watches).telling(unusable)
    }
}

fn name_of(_: Option<&str>, name: &str) -> Result<ClusterName, ClusterError> {
    ClusterName::new(name).map_err(|source| ClusterError::Name { place: format!("namespace {name}"), source })
}

struct OfNamespace(Config);

impl AsyncSpec<Namespace> for OfNamespace {
    async fn read(&self, namespace: Namespace, name: ClusterName) -> Result<ClusterSpec, ClusterError> {
        let mut config = self.0.clone();
        config.default_namespace = namespace.name_any();
        let labels = namespace.metadata.labels.unwrap_or_default();
        Ok(ClusterSpec { labels, is_part: true, ..ClusterSpec::new(name, config) })
    }
}
