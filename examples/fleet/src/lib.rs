//! A kind of the hub, [`Notice`], that is rendered as a ConfigMap in each cluster whose name or labels it selects, with a status for each.
//!
//! A controller of the hub for Notices writes to the members. The ConfigMaps on each member have their notices reconciled: one that
//! somebody edits or deletes is written again at once. One of somebody else is left alone, and the status says so.

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, CustomResource, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, Preconditions},
    error::{ErrorChain, ErrorClass},
    operator::{
        clusters::{Cluster, ClusterName, ClusterState, ClusterTriggers, Fleet},
        manager::{Manager, Writes},
    },
    runtime::{
        Controller,
        controller::Action,
        finalizer::{self, Event, finalizer},
        reflector::ObjectRef,
        watcher::Config,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::timeout;

/// A text for people in many clusters.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Notice", namespaced, status = "NoticeStatus")]
pub struct NoticeSpec {
    /// The labels that clusters must have; none selects all.
    #[serde(default)]
    pub clusters: BTreeMap<String, String>,
    /// What the ConfigMap has as `text`.
    pub text: String,
}

/// Where a notice is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct NoticeStatus {
    /// Each selected cluster, and each that cannot be asked.
    #[serde(default)]
    pub clusters: Vec<Written>,
}

/// How a notice is in one cluster.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Written {
    /// The name of the cluster.
    pub name: String,
    /// Whether the ConfigMap is there as it should be.
    pub written: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum NoticeError {
    /// A request to the hub failed.
    #[error(transparent)]
    Hub(#[from] kube::Error),
    /// A deleted notice may be in a cluster that is not announced yet.
    #[error("not all clusters are known yet")]
    Unknown,
    /// A deleted notice is still in a cluster.
    #[error("the notice is still in {0}")]
    Left(String),
}

/// The label of the ConfigMaps of notices. Their annotation of the same key has namespace and name, which may be too long for a label.
const NOTICE: &str = "example.com/notice";
const MANAGER: &str = "notices.example.com";
/// When a notice that is not written everywhere is looked at again.
const AGAIN: Duration = Duration::from_secs(30);
/// How long a cluster may take for one notice.
const LIMIT: Duration = Duration::from_secs(10);

/// What the controller of the hub has.
struct Hub {
    client: Client,
    fleet: Fleet,
}

/// A manager with the controller of this program; the caller adds the clusters.
pub fn manager(hub: Client) -> Manager {
    let manager = Manager::new(hub.clone());
    let (fleet, triggers) = (manager.fleet(), ClusterTriggers::<Notice>::new());
    let notices = Controller::new(Api::<Notice>::all(hub.clone()), Config::default())
        .reconcile_on(triggers.on_hub())
        .reconcile_all_on(fleet.changes());
    let context = Arc::new(Hub { client: hub, fleet });
    manager
        .controller("notices", notices, reconcile, context)
        .trigger_hub("copies", copies, &triggers, notice_of)
        .writes_on_each(maps, Writes::Children)
}

/// The ConfigMaps of notices in one cluster.
fn copies(cluster: &Cluster) -> (Api<ConfigMap>, Config) {
    (maps(cluster), Config::default().labels(NOTICE))
}

fn maps(cluster: &Cluster) -> Api<ConfigMap> {
    Api::default_namespaced(cluster.client())
}

/// The notice of a ConfigMap.
fn notice_of(_: &Cluster, map: &ConfigMap) -> Option<ObjectRef<Notice>> {
    let (namespace, name) = map.annotations().get(NOTICE)?.split_once('/')?;
    Some(ObjectRef::new(name).within(namespace))
}

async fn reconcile(notice: Arc<Notice>, hub: Arc<Hub>) -> Result<Action, finalizer::Error<NoticeError>> {
    let namespace = notice.namespace().unwrap_or_default();
    let api = Api::<Notice>::namespaced(hub.client.clone(), &namespace);
    finalizer(&api, MANAGER, notice, |event| async {
        match event {
            Event::Apply(notice) => hub.write(&api, &notice).await,
            Event::Cleanup(notice) => hub.clean_up(&notice).await,
        }
    })
    .await
}

impl Hub {
    async fn write(&self, api: &Api<Notice>, notice: &Notice) -> Result<Action, NoticeError> {
        let before = notice.status.iter().flat_map(|status| &status.clusters);
        let before: BTreeMap<_, _> = before.map(|cluster| (cluster.name.as_str(), cluster)).collect();
        let mut clusters: BTreeMap<String, Written> = BTreeMap::new();
        if !self.fleet.providers_have_synced() {
            // After a start: what is not announced yet is not gone.
            clusters.extend(before.values().map(|&cluster| (cluster.name.clone(), cluster.clone())));
        }
        for (name, written) in self.each(|name| self.written(name, notice)).await {
            let state = self.fleet.status(&name).map(|now| now.state);
            let name = name.to_string();
            let is_unknown = state == Some(ClusterState::Connecting);
            let known = before.get(name.as_str()).filter(|_| is_unknown).map(|&known| known.clone());
            match known.or(written) {
                Some(written) => clusters.insert(name, written),
                None => clusters.remove(&name),
            };
        }
        let status = NoticeStatus { clusters: clusters.into_values().collect() };
        let all_written = status.clusters.iter().all(|cluster| cluster.written);
        if notice.status.as_ref() != Some(&status) {
            let patch = Patch::Merge(json!({ "status": status }));
            api.patch_status(&notice.name_any(), &PatchParams::default(), &patch).await?;
        }
        // When a cluster becomes usable, all notices are reconciled.
        Ok(if all_written { Action::await_change() } else { Action::requeue(AGAIN) })
    }

    /// Whether a cluster has the notice now; `None` if it should not have it, and has not.
    async fn written(&self, name: ClusterName, notice: &Notice) -> (ClusterName, Option<Written>) {
        let result = match self.fleet.cluster(&name) {
            Ok(cluster) if selects(&notice.spec, &cluster) => write_to(&cluster, notice).await,
            Ok(cluster) if copy(&cluster, notice).is_none() => return (name, None),
            Ok(cluster) => match delete_from(&cluster, notice).await {
                Ok(()) => return (name, None),
                failed => failed,
            },
            Err(error) => Err(error.to_string()), // at once: no request is sent
        };
        let written = Written { name: name.to_string(), written: result.is_ok(), message: result.err() };
        (name, Some(written))
    }

    /// Deletes the ConfigMaps of a deleted notice. A cluster that cannot be reached holds it, until it is back or leaves the fleet.
    async fn clean_up(&self, notice: &Notice) -> Result<Action, NoticeError> {
        if !self.fleet.providers_have_synced() {
            return Err(NoticeError::Unknown); // when they have, all notices are reconciled
        }
        // Not by the caches: what was written last may not be there yet.
        let deleted = self.each(|name| async move {
            let cluster = self.fleet.cluster(&name).map_err(|error| error.to_string())?;
            delete_from(&cluster, notice).await.map_err(|error| format!("{name}: {error}"))
        });
        let failures: Vec<_> = deleted.await.into_iter().filter_map(Result::err).collect();
        if failures.is_empty() {
            Ok(Action::await_change())
        } else {
            Err(NoticeError::Left(failures.join(", ")))
        }
    }

    /// Asks all clusters, 20 at once.
    async fn each<F: Future>(&self, ask: impl Fn(ClusterName) -> F) -> Vec<F::Output> {
        let names = stream::iter(self.fleet.statuses()).map(|status| ask(status.name));
        names.buffer_unordered(20).collect().await
    }
}

fn selects(spec: &NoticeSpec, cluster: &Cluster) -> bool {
    let labels = cluster.labels();
    spec.clusters.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// The ConfigMap of a notice, as the cache of the cluster has it.
fn copy(cluster: &Cluster, notice: &Notice) -> Option<Arc<ConfigMap>> {
    let key = ObjectRef::new(&map_name(notice)).within(cluster.client().default_namespace());
    cluster.store("copies")?.get(&key).filter(|map| is_of(&**map, notice))
}

async fn write_to(cluster: &Cluster, notice: &Notice) -> Result<(), String> {
    let (maps, map, params) = (maps(cluster), rendered(notice), PatchParams::apply(MANAGER));
    let name = map.name_any();
    if copy(cluster, notice).is_some_and(|copy| copy.data == map.data) {
        return Ok(()); // a change of one cluster is no request to the others
    }
    let params = match within(maps.get_metadata_opt(&name)).await? {
        None => params,
        Some(present) if is_of(&present, notice) => params.force(), // over what others have changed of it
        Some(_) => {
            let expected = format!("expected none, or one with the annotation {NOTICE}: {}", owner(notice));
            return Err(format!("ConfigMap {name} belongs to somebody else: {expected}"));
        }
    };
    within(maps.patch(&name, &params, &Patch::Apply(&map))).await.map(drop)
}

/// Deletes the ConfigMap of a notice, if the cluster has it.
async fn delete_from(cluster: &Cluster, notice: &Notice) -> Result<(), String> {
    let (maps, name) = (maps(cluster), map_name(notice));
    within(async {
        match ErrorClass::absent_as_none(maps.get_metadata(&name).await)? {
            Some(map) if is_of(&map, notice) => {
                let (uid, resource_version) = (map.uid(), map.resource_version());
                let preconditions = Some(Preconditions { uid, resource_version });
                maps.delete(&name, &DeleteParams { preconditions, ..Default::default() }).await.map(drop)
            }
            _ => Ok(()), // it is not there, or somebody else's
        }
    })
    .await
}

fn is_of(map: &impl ResourceExt, notice: &Notice) -> bool {
    map.annotations().get(NOTICE) == Some(&owner(notice))
}

/// The error in words, also if there is no response in time.
async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match timeout(LIMIT, request).await {
        Ok(result) => result.map_err(|error| ErrorChain(&error).to_string()),
        Err(_) => Err(format!("no response within {} s", LIMIT.as_secs())),
    }
}

/// An owner reference would name an object of another cluster, and the garbage collector would delete the ConfigMap: its owner is in an
/// annotation instead.
fn rendered(notice: &Notice) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(map_name(notice)),
            labels: Some([(NOTICE.to_owned(), "true".to_owned())].into()),
            annotations: Some([(NOTICE.to_owned(), owner(notice))].into()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_owned(), notice.spec.text.clone())].into()),
        ..ConfigMap::default()
    }
}

/// A namespace has no dot in its name, so no two notices have one ConfigMap.
fn map_name(notice: &Notice) -> String {
    format!("notice-{}.{}", notice.namespace().unwrap_or_default(), notice.name_any())
}

fn owner(notice: &Notice) -> String {
    format!("{}/{}", notice.namespace().unwrap_or_default(), notice.name_any())
}
