use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use serde_json::{Value, json};

use super::{BuiltInController, Settings, allocator::ServiceAllocator, task::Task, timers::Timers};
use crate::{
    admission::{Policies, QuotaLedger, Webhooks},
    auth::{Credentials, RbacAuthorizer, TokenSigner},
    clock::Clock,
    gc::OwnerIndex,
    ids::Ids,
    journal::{Journal, WriteError},
    kubelet::Kubelet,
    meta,
    scheme::{Resource, Scheme, crd},
    store::{Key, Store, Stored},
};

/// Why a write to a new cluster cannot be refused.
pub(super) const IN_MEMORY: &str = "invariant: a cluster without a data directory accepts every write";
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Store, scheme, clock and controllers of one server.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub(crate) store: Store,
    pub(crate) scheme: Scheme,
    pub(crate) clock: Clock,
    pub(crate) ids: Ids,
    pub(crate) kubelet: Kubelet,
    pub(crate) webhooks: Webhooks,
    pub(crate) policies: Policies,
    pub(super) owners: OwnerIndex,
    pub(super) tasks: BTreeSet<Task>,
    pub(super) timers: Timers,
    pub(super) allocator: ServiceAllocator,
    pub(super) quotas: QuotaLedger,
    pub(super) settings: Settings,
    /// Custom resources whose CRD was deleted; their history can still be read.
    pub(super) unserved: Vec<Arc<Resource>>,
    /// Built when first needed after a change of an RBAC object.
    pub(super) rbac_authorizer: OnceLock<Arc<RbacAuthorizer>>,
    pub(crate) credentials: Credentials,
    /// Present with a data directory.
    pub(super) journal: Option<Journal>,
    pub(crate) token_signer: TokenSigner,
    /// PEM of the CA certificate that pods get; empty without TLS.
    pub(super) ca: String,
    /// Increases whenever the whole state is replaced: positions in the history are then invalid.
    pub(crate) incarnation: u64,
}

impl ClusterState {
    /// A new cluster: its namespaces, and the bootstrap objects of the enabled controllers.
    pub(crate) fn new(settings: Settings) -> Self {
        let mut store = Store::new(settings.history);
        let scheme = Scheme::serving(&mut store, &settings.runtime_config);
        let clock = Clock::new(settings.start_time);
        let mut cluster = Self {
            store,
            scheme,
            kubelet: Kubelet::new(clock.clone()),
            clock,
            ids: Ids::new(settings.seed),
            webhooks: Webhooks::default(),
            policies: Policies::default(),
            owners: OwnerIndex::default(),
            tasks: BTreeSet::new(),
            timers: Timers::new(),
            allocator: ServiceAllocator::default(),
            quotas: QuotaLedger::default(),
            settings,
            unserved: Vec::new(),
            rbac_authorizer: OnceLock::new(),
            credentials: Credentials::default(),
            journal: None,
            token_signer: TokenSigner::default(),
            ca: String::new(),
            incarnation: 0,
        };
        cluster.bootstrap();
        cluster.bootstrap_priority_classes();
        if cluster.settings.rbac {
            cluster.bootstrap_rbac().expect(IN_MEMORY);
        }
        if !cluster.settings.disabled.contains(&BuiltInController::Kubelet) {
            cluster.join_node();
        }
        cluster.run_tasks();
        // Bootstrap objects are not part of the history.
        cluster.store.compact();
        cluster
    }

    /// Creates the initial namespaces.
    pub(super) fn bootstrap(&mut self) {
        let namespaces = self.scheme.by_plural("", "namespaces").map(|endpoint| endpoint.resource.clone());
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
        let before = self.store.get(resource.table, &key).cloned();
        let stored = self.store.next_version(resource.table, key, object, |object| resource.as_read(object));
        self.append_to_journal(resource, &stored)?;
        self.store.commit(resource.table, stored.clone());
        self.owners.record(resource.table, before.as_deref(), Some(&stored));
        self.on_rbac_change(resource);
        if !stored.owners.is_empty() && before.as_ref().is_none_or(|b| b.owners != stored.owners) {
            self.enqueue(Task::CheckOwners((resource.table, stored.key.clone())));
        }
        self.enqueue_workload(resource, &stored);
        self.schedule_event_expiry(resource, &stored, false);
        self.record_allocations(resource, before.as_deref(), Some(&stored));
        self.record_usage(resource, before.as_deref(), Some(&stored));
        self.enqueue_service_account(resource, &stored.key);
        if let Some(before) = &before {
            self.enqueue_unblocked_owners(before, &stored);
        }
        if resource.group == HOOKS {
            self.reload_admission();
        }
        if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            let definition = stored.value();
            self.serve_crd(&definition);
            if before
                .is_some_and(|before| before.value()["spec"]["versions"] != definition["spec"]["versions"])
            {
                self.reapply_schema(&definition);
            }
        }
        Ok(stored)
    }

    /// Removes an object and enqueues the tasks that follow from it. `None` when it does not exist. On error nothing has changed.
    pub(crate) fn remove(
        &mut self,
        resource: &Resource,
        key: &Key,
    ) -> Result<Option<Arc<Stored>>, WriteError> {
        let Some(before) = self.store.get(resource.table, key).cloned() else { return Ok(None) };
        let Some(last) = self.store.next_removal(resource.table, key) else { return Ok(None) };
        self.append_to_journal(resource, &last)?;
        self.store.commit(resource.table, last.clone());
        self.owners.record(resource.table, Some(&before), None);
        self.on_rbac_change(resource);
        for dependent in self.owners.dependents(&before.uid) {
            self.enqueue(Task::CheckOwners(dependent));
        }
        for owner in &before.owners {
            self.enqueue(Task::FinishForeground(owner.uid.clone()));
        }
        if let Some(namespace) = key.namespace() {
            self.enqueue(Task::FinishNamespace(namespace.into()));
        }
        self.enqueue_controller(&before);
        self.schedule_event_expiry(resource, &before, true);
        self.record_allocations(resource, Some(&before), None);
        self.record_usage(resource, Some(&before), None);
        self.enqueue_service_account(resource, key);
        if resource.is("", "pods") {
            self.enqueue_budgets(key);
            self.enqueue_claims(key, &before.value());
            self.kubelet.remove_pod(key.namespace().unwrap_or_default(), key.name());
        }
        if resource.custom {
            self.enqueue(Task::FinishResource(resource.table));
        }
        if resource.group == HOOKS {
            self.reload_admission();
        }
        if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            self.stop_serving_crd(&before.value());
        }
        Ok(Some(last))
    }

    /// Reads webhooks and policies after a change of their configuration.
    pub(super) fn reload_admission(&mut self) {
        self.policies = self.read_policies();
        let table = |plural| Some(self.scheme.by_plural(HOOKS, plural)?.resource.table);
        if let (Some(mutating), Some(validating)) =
            (table("mutatingwebhookconfigurations"), table("validatingwebhookconfigurations"))
        {
            self.webhooks = Webhooks::read(&self.store, mutating, validating);
        }
    }

    /// Runs all tasks, including those that they enqueue. When a write is refused, the rest stays enqueued for the next run.
    pub(crate) fn run_tasks(&mut self) {
        while let Some(task) = self.tasks.pop_first() {
            if self.settings.disabled.iter().any(|controller| controller.performs(&task)) {
                continue;
            }
            if self.run_task(&task).is_err() {
                self.tasks.insert(task);
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
            Task::Adopt(namespace, pod) => self.adopt_pods(namespace, pod.as_ref()),
            Task::Job(id) => self.reconcile_job(id),
            Task::ReplicaSet(id) => self.reconcile_replica_set(id),
            Task::Deployment(id) => self.reconcile_deployment(id),
            Task::Budgets(namespace) => self.count_budgets(namespace),
            Task::ServiceAccounts(namespace) => self.ensure_service_account(namespace),
            Task::QuotaStatus(key) => self.write_quota_status(key),
            Task::ExpireEvent(id) => self.expire_event(id),
        }
    }

    pub(super) fn enqueue(&mut self, task: Task) {
        self.tasks.insert(task);
    }

    /// Enqueues the owners whose deletion a dependent no longer blocks.
    fn enqueue_unblocked_owners(&mut self, before: &Stored, after: &Stored) {
        for owner in
            before.owners.iter().filter(|owner| owner.blocks_deletion && !after.owners.contains(owner))
        {
            self.enqueue(Task::FinishForeground(owner.uid.clone()));
        }
    }

    /// Serves the resource of an established CRD; an existing table is kept.
    pub(super) fn serve_crd(&mut self, definition: &Value) {
        let table = self.defined_by(definition).map(|resource| resource.table);
        if !crd::is_established(definition) {
            return;
        }
        let table = table.unwrap_or_else(|| self.store.add_table());
        let resource = crd::compile(definition, table);
        let resource = resource.expect("invariant: a CRD was compiled before it was written");
        self.scheme.insert(Arc::new(resource));
    }

    /// Prunes and defaults what reads see by the new schemas. What was written stays, also in its version: fields that a schema drops come back with a later schema, and a new storage version applies to later writes.
    fn reapply_schema(&mut self, definition: &Value) {
        if let Some(resource) = self.defined_by(definition).cloned() {
            self.store.change_views(resource.table, |object| resource.as_read(object));
        }
    }

    /// Stops serving the resource of a deleted CRD and ends its watches.
    fn stop_serving_crd(&mut self, definition: &Value) {
        if let Some(resource) = self.defined_by(definition).cloned() {
            self.scheme.remove(resource.table);
            self.store.close_table(resource.table);
            self.unserved.push(resource);
        }
    }

    pub(super) fn defined_by(&self, definition: &Value) -> Option<&Arc<Resource>> {
        let (plural, group) = meta::name(definition).split_once('.')?;
        let mut resources = self.scheme.resources();
        resources.find(|resource| resource.custom && resource.is(group, plural))
    }
}

const HOOKS: &str = "admissionregistration.k8s.io";
