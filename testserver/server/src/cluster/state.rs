//! The state of one server: its parts, each change announced to all of them, and the tasks that follow.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    BuiltInController, Settings, compaction::Compactor, event_index::EventIndex, task::Task, work::Work,
};
use crate::{
    admission::{AdmissionContext, AdmissionControl, AdmissionPlugin},
    backend::Backends,
    clock::Clock,
    crd,
    ids::Ids,
    pods::Kubelet,
    rbac::Access,
    scheme::{Resource, Scheme},
    storage::{Change, Key, Storage, Store, Stored, WriteError},
    write::ServiceAllocator,
};

/// Why a write to a new cluster cannot be refused.
pub(super) const IN_MEMORY: &str = "invariant: a cluster without a data directory accepts every write";
/// How often a workload controller runs for one object within one request. It goes on a second later, so that no request lasts for ever.
const MOST_RUNS: u32 = 200;
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Everything that one server holds, by what it is about. [`put`](Self::put) and [`remove`](Self::remove) make each change and announce it
/// to every part.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub(super) storage: Storage,
    pub(super) work: Work,
    pub(crate) access: Access,
    pub(crate) admission: AdmissionControl,
    pub(super) services: ServiceAllocator,
    pub(super) compactor: Compactor,
    pub(super) events: EventIndex,
    pub(crate) clock: Clock,
    pub(crate) ids: Ids,
    pub(crate) kubelet: Kubelet,
    pub(crate) backends: Backends,
}

impl AsRef<Backends> for ClusterState {
    fn as_ref(&self) -> &Backends {
        &self.backends
    }
}

impl AsRef<Storage> for ClusterState {
    fn as_ref(&self) -> &Storage {
        &self.storage
    }
}

impl ClusterState {
    /// A new cluster: its namespaces, and the bootstrap objects of the enabled controllers.
    pub(crate) fn new(mut settings: Settings) -> Self {
        if settings.disabled.contains(&BuiltInController::ServiceAccounts) {
            // Without accounts it would refuse every pod.
            settings.disabled_plugins.insert(AdmissionPlugin::ServiceAccount);
        }
        let clock = Clock::new(settings.start_time);
        let mut cluster = Self {
            storage: Storage::new(settings.history, settings.runtime_config),
            work: Work::new(settings.disabled, settings.delays, clock.clone()),
            access: Access::new(settings.rbac),
            admission: AdmissionControl::new(&settings.disabled_plugins),
            services: ServiceAllocator::new(settings.service_range),
            compactor: Compactor::default(),
            events: EventIndex::default(),
            kubelet: Kubelet::new(clock.clone()),
            clock,
            ids: Ids::new(settings.seed),
            backends: Backends::default(),
        };
        cluster.bootstrap();
        cluster.bootstrap_priority_classes();
        cluster.bootstrap_kubernetes_service();
        if cluster.access.rbac {
            cluster.bootstrap_rbac().expect(IN_MEMORY);
        }
        if cluster.work.is_enabled(BuiltInController::Kubelet) {
            cluster.join_node();
        }
        cluster.run_tasks();
        cluster
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What admission reads.
    pub(crate) fn admission_context(&self) -> AdmissionContext<'_> {
        let Self { storage, access, admission, ids, .. } = self;
        AdmissionContext { storage, access, control: admission, ids }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.storage.store
    }

    pub(crate) fn scheme(&self) -> &Scheme {
        &self.storage.scheme
    }

    /// Increases whenever the whole state is replaced: positions in the history are then invalid.
    pub(crate) fn incarnation(&self) -> u64 {
        self.storage.incarnation
    }

    /// The earliest revision that can be listed, as far as its age decides.
    pub(crate) fn oldest_listed(&self) -> u64 {
        self.compactor.oldest()
    }

    /// Drops the history: every earlier revision is expired.
    pub(crate) fn compact(&mut self) {
        self.storage.store.compact();
    }

    pub(crate) fn now(&self) -> String {
        self.clock.now()
    }

    /// Stores a new version of an object and enqueues the tasks that follow from it. On error nothing has changed.
    pub(crate) fn put(
        &mut self,
        resource: &Resource,
        key: Key,
        object: Value,
    ) -> Result<Arc<Stored>, WriteError> {
        let change = self.storage.put(resource, key, object)?;
        self.announce(resource, &change);
        Ok(change.object)
    }

    /// Removes an object and enqueues the tasks that follow from it. `None` when it does not exist. On error nothing has changed.
    pub(crate) fn remove(
        &mut self,
        resource: &Resource,
        key: &Key,
    ) -> Result<Option<Arc<Stored>>, WriteError> {
        let Some(change) = self.storage.remove(resource, key)? else { return Ok(None) };
        self.announce(resource, &change);
        Ok(Some(change.object))
    }

    /// Tells every part about a change.
    fn announce(&mut self, resource: &Resource, change: &Change) {
        crd::observe(&mut self.storage, resource, change);
        self.access.observe(resource);
        for quota in self.admission.observe(&self.storage, resource, change) {
            self.work.enqueue(Task::QuotaStatus(quota));
        }
        self.services.observe(resource, change);
        self.work.observe(&self.storage, resource, change);
        self.kubelet.observe(resource, change);
    }

    /// Creates the initial namespaces.
    pub(super) fn bootstrap(&mut self) {
        let namespaces = self.storage.resource("", "namespaces");
        let namespaces = namespaces.expect("invariant: namespaces are in the table of built-in kinds");
        for name in NAMESPACES {
            let namespace = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": name,
                    "uid": self.ids.uid(),
                    "creationTimestamp": self.now(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            self.put(&namespaces, Key::new(None, name), namespace).expect(IN_MEMORY);
        }
    }

    /// Runs all tasks, including those that they enqueue. When a write is refused, the rest stays enqueued for the next run.
    pub(crate) fn run_tasks(&mut self) {
        let mut runs = BTreeMap::new();
        while let Some(task) = self.work.next() {
            if matches!(&task, Task::Workload(_)) {
                let count = runs.entry(task.clone()).or_insert(0_u32);
                *count += 1;
                if *count > MOST_RUNS {
                    self.work.enqueue_after(task, 1);
                    continue;
                }
            }
            if self.run_task(&task).is_err() {
                self.work.retry(task);
                break;
            }
        }
    }

    fn run_task(&mut self, task: &Task) -> Result<(), WriteError> {
        match task {
            Task::OrphanDependents(id) => self.orphan_dependents(id),
            Task::CheckOwners(id) => self.check_owners(id),
            Task::FinishForeground(uid) => self.finish_foreground(uid),
            Task::EmptyNamespace(name) => self.empty_namespace(name),
            Task::FinishNamespace(name) => self.finish_namespace(name),
            Task::EmptyResource(table) => self.empty_resource(*table),
            Task::FinishResource(table) => self.finish_resource(*table),
            Task::FreeStorage(id) => self.free_storage(id),
            Task::AggregateRoles => self.aggregate_roles(),
            Task::RunPod(id) => self.run_pod(id),
            Task::Workload(task) => self.run_workload(task),
            Task::ServiceAccounts(namespace) => self.ensure_service_account(namespace),
            Task::QuotaStatus(key) => self.write_quota_status(key),
            Task::ExpireEvent(id) => self.expire_event(id),
        }
    }

    pub(super) fn write_status(
        &mut self,
        resource: &Resource,
        key: &Key,
        object: &Value,
        status: Value,
    ) -> Result<(), WriteError> {
        if object["status"] != status {
            let mut object = object.clone();
            object["status"] = status;
            self.put(resource, key.clone(), object)?;
        }
        Ok(())
    }
}
