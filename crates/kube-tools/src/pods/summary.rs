//! What these methods read of a pod. The rest of a pod, most of its some 20 KB, is neither kept nor decoded.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, NamespaceResourceScope, Resource};
use kube_client::{Api, Client};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The same pods, of which only the summary is decoded.
pub(super) fn summaries(pods: &Api<Pod>) -> Api<PodSummary> {
    let client = Client::from(pods.clone());
    match pods.namespace() {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct PodSummary {
    #[serde(default)]
    pub(super) metadata: ObjectMeta,
    pub(super) spec: Option<PodSpec>,
    pub(super) status: Option<PodStatus>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub(super) containers: Option<Vec<Container>>,
    pub(super) init_containers: Option<Vec<Container>>,
    pub(super) ephemeral_containers: Option<Vec<Container>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Container {
    pub(super) name: String,
    #[cfg(feature = "ws")]
    pub(super) ports: Option<Vec<ContainerPort>>,
}

#[cfg(feature = "ws")]
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerPort {
    pub(super) name: Option<String>,
    pub(super) container_port: i32,
    /// TCP if it is not given.
    pub(super) protocol: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodStatus {
    #[cfg(feature = "ws")]
    pub(super) phase: Option<String>,
    #[cfg(feature = "ws")]
    pub(super) conditions: Option<Vec<PodCondition>>,
    pub(super) init_container_statuses: Option<Vec<ContainerStatus>>,
    pub(super) container_statuses: Option<Vec<ContainerStatus>>,
    pub(super) ephemeral_container_statuses: Option<Vec<ContainerStatus>>,
}

#[cfg(feature = "ws")]
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PodCondition {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) status: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContainerStatus {
    pub(super) name: String,
    #[serde(default)]
    pub(super) restart_count: i32,
    pub(super) state: Option<State>,
    pub(super) last_state: Option<State>,
}

/// Which state a container is in; in none of these it waits.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct State {
    pub(super) running: Option<IgnoredAny>,
    pub(super) terminated: Option<IgnoredAny>,
}

impl Resource for PodSummary {
    const API_VERSION: &'static str = Pod::API_VERSION;
    const GROUP: &'static str = Pod::GROUP;
    const KIND: &'static str = Pod::KIND;
    const VERSION: &'static str = Pod::VERSION;
    const URL_PATH_SEGMENT: &'static str = Pod::URL_PATH_SEGMENT;
    type Scope = NamespaceResourceScope;
}

impl Metadata for PodSummary {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
