use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use serde_json::Value;

use super::{BuiltInController, Settings, addresses::Addresses, timers::Timers};
use crate::{
    admission::Hooks,
    auth::{Bindings, Login, Signer},
    clock::Clock,
    gc::{OwnerIndex, Place},
    journal::Journal,
    kubelet::Kubelet,
    meta,
    registry::{Registry, Resource, crd},
    store::{Key, Store, Stored, TableId},
};

/// Store, registry and clock of one server.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) kubelet: Kubelet,
    pub(crate) hooks: Hooks,
    pub(super) owners: OwnerIndex,
    pub(super) tasks: BTreeSet<Task>,
    pub(super) timers: Timers,
    pub(super) addresses: Addresses,
    pub(super) settings: Settings,
    /// Custom resources whose definition is gone; their history is still there.
    pub(super) withdrawn: Vec<Arc<Resource>>,
    /// The RBAC objects, read when they are first needed after a change.
    pub(super) bindings: OnceLock<Arc<Bindings>>,
    pub(crate) login: Login,
    /// Where changes are kept, if anywhere.
    pub(super) journal: Option<Journal>,
    pub(crate) signer: Signer,
    /// The certificate of the server, as pods are told it; empty where there is none.
    pub(super) ca: String,
    /// Another number whenever the whole state was replaced: whoever remembers a place in it has to begin anew.
    pub(crate) incarnation: u64,
}

/// A consequence that is still to be drawn, in the order in which they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// Are the owners of this object still there?
    CheckOwners(Place),
    /// An owner that is deleted in the foreground: is it free to go?
    FinishForeground(String),
    /// Delete everything in a namespace.
    EmptyNamespace(String),
    /// A namespace that is being deleted: is it empty?
    FinishNamespace(String),
    /// Delete all objects of a custom resource.
    EmptyResource(TableId),
    /// A CRD that is being deleted: are all its objects gone?
    FinishResource(TableId),
    /// A volume or claim that is being deleted: does anybody use it still?
    FreeStorage(Place),
    /// ClusterRoles that are made up of others.
    AggregateRoles,
    // Pods before those who count them.
    /// What is next for a pod?
    RunPod(Place),
    /// Do pods that nobody controls belong to a ReplicaSet of this namespace? All of them, or the one that is named.
    Adopt(String, Option<Key>),
    /// Has a Job the pods it needs?
    Job(Place),
    /// Has a ReplicaSet the pods it needs?
    ReplicaSet(Place),
    /// What is the next step of a Deployment?
    Deployment(Place),
    /// How many pods may the budgets of a namespace let go?
    Budgets(String),
    /// Has a namespace its service account?
    Accounts(String),
    /// An Event has been there long enough.
    Forget(Place),
}

impl World {
    /// A server with its first namespaces and an empty rest.
    pub(crate) fn new(settings: Settings) -> Self {
        let mut store = Store::new(settings.history);
        let registry = Registry::with_built_in(&mut store);
        let clock = Clock::new();
        let mut world = Self {
            store,
            registry,
            kubelet: Kubelet::new(clock.clone()),
            clock,
            hooks: Hooks::default(),
            owners: OwnerIndex::default(),
            tasks: BTreeSet::new(),
            timers: Timers::new(),
            addresses: Addresses::default(),
            settings,
            withdrawn: Vec::new(),
            bindings: OnceLock::new(),
            login: Login::default(),
            journal: None,
            signer: Signer::default(),
            ca: String::new(),
            incarnation: 0,
        };
        world.bootstrap();
        if world.settings.access {
            world.bootstrap_access();
        }
        if !world.settings.off.contains(&BuiltInController::Kubelet) {
            world.join_node();
        }
        world.settle();
        // What every cluster has is there before anybody could have looked.
        world.store.compact();
        world
    }

    pub(crate) fn now(&self) -> String {
        self.clock.now()
    }

    /// Writes a new version of an object and notes what follows from it.
    pub(crate) fn put(&mut self, resource: &Resource, key: Key, object: Value) -> Arc<Stored> {
        let before = self.store.get(resource.table, &key).cloned();
        let stored = self.store.put(resource.table, key, object);
        self.owners.record(resource.table, before.as_deref(), Some(&stored));
        self.note_access_change(resource);
        self.note_in_journal(resource, &stored, false);
        if !stored.owners.is_empty() && before.as_ref().is_none_or(|b| b.owners != stored.owners) {
            self.later(Task::CheckOwners((resource.table, stored.key.clone())));
        }
        self.note_workload(resource, &stored);
        self.note_event(resource, &stored, false);
        self.note_addresses(resource, before.as_deref(), Some(&stored));
        self.note_account(resource, &stored.key);
        if let Some(before) = &before {
            self.note_lost_blockers(before, &stored);
        }
        if is_hook_configuration(resource) {
            self.reread_hooks();
        }
        if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            let definition = stored.value();
            self.serve(&definition);
            if before
                .is_some_and(|before| before.value()["spec"]["versions"] != definition["spec"]["versions"])
            {
                self.reread(&definition);
            }
        }
        stored
    }

    /// Removes an object and notes what follows from it.
    pub(crate) fn remove(&mut self, resource: &Resource, key: &Key) -> Option<Arc<Stored>> {
        let before = self.store.get(resource.table, key)?.clone();
        let last = self.store.remove(resource.table, key, before.value())?;
        self.owners.record(resource.table, Some(&before), None);
        self.note_in_journal(resource, &last, true);
        self.note_access_change(resource);
        for dependent in self.owners.dependents(&before.uid) {
            self.later(Task::CheckOwners(dependent));
        }
        for owner in &before.owners {
            self.later(Task::FinishForeground(owner.uid.clone()));
        }
        if let Some(namespace) = key.namespace() {
            self.later(Task::FinishNamespace(namespace.into()));
        }
        self.note_controller(&before);
        self.note_event(resource, &before, true);
        self.note_addresses(resource, Some(&before), None);
        self.note_account(resource, key);
        if resource.is("", "pods") {
            self.note_budgets(key);
            self.note_claims(key, &before.value());
            self.kubelet.forget(key.namespace().unwrap_or_default(), key.name());
        }
        if resource.custom {
            self.later(Task::FinishResource(resource.table));
        }
        if is_hook_configuration(resource) {
            self.reread_hooks();
        }
        if resource.is("apiextensions.k8s.io", "customresourcedefinitions") {
            self.withdraw(&before.value());
        }
        Some(last)
    }

    pub(super) fn reread_hooks(&mut self) {
        let table = |plural| Some(self.registry.by_plural(HOOKS, plural)?.resource.table);
        if let (Some(mutating), Some(validating)) =
            (table("mutatingwebhookconfigurations"), table("validatingwebhookconfigurations"))
        {
            self.hooks = Hooks::read(&self.store, mutating, validating);
        }
    }

    /// Draws all consequences, and theirs.
    pub(crate) fn settle(&mut self) {
        while let Some(task) = self.tasks.pop_first() {
            if self.settings.off.iter().any(|controller| controller.does(&task)) {
                continue;
            }
            match task {
                Task::CheckOwners(place) => self.check_owners(&place),
                Task::FinishForeground(uid) => self.finish_foreground(&uid),
                Task::EmptyNamespace(name) => self.empty_namespace(&name),
                Task::FinishNamespace(name) => self.finish_namespace(&name),
                Task::EmptyResource(table) => self.empty_resource(table),
                Task::FinishResource(table) => self.finish_resource(table),
                Task::FreeStorage(place) => self.free_storage(&place),
                Task::AggregateRoles => self.aggregate_roles(),
                Task::RunPod(place) => self.run_pod(&place),
                Task::Adopt(namespace, pod) => self.adopt_pods(&namespace, pod.as_ref()),
                Task::Job(place) => self.reconcile_job(&place),
                Task::ReplicaSet(place) => self.reconcile_replica_set(&place),
                Task::Deployment(place) => self.reconcile_deployment(&place),
                Task::Budgets(namespace) => self.count_budgets(&namespace),
                Task::Accounts(namespace) => self.make_accounts(&namespace),
                Task::Forget(place) => self.forget(&place),
            }
        }
    }

    pub(super) fn later(&mut self, task: Task) {
        self.tasks.insert(task);
    }

    /// A dependent that no longer blocks its owner may have been the last one to.
    fn note_lost_blockers(&mut self, before: &Stored, after: &Stored) {
        for owner in
            before.owners.iter().filter(|owner| owner.blocks_deletion && !after.owners.contains(owner))
        {
            self.later(Task::FinishForeground(owner.uid.clone()));
        }
    }

    /// Serves what an established CRD defines, keeping the table it has.
    pub(super) fn serve(&mut self, definition: &Value) {
        let table = self.defined_by(definition).map(|resource| resource.table);
        if !crd::is_established(definition) {
            return;
        }
        let table = table.unwrap_or_else(|| self.store.open());
        let resource = crd::compile(definition, table);
        let resource = resource.expect("invariant: a CRD was compiled before it was written");
        self.registry.insert(Arc::new(resource));
    }

    /// Objects are read by the schema of now, whichever they were written by: pruned, and defaulted. What a schema
    /// drops is gone for good here; a genuine server has it again when the schema takes it back.
    fn reread(&mut self, definition: &Value) {
        let Some(resource) = self.defined_by(definition).cloned() else { return };
        let stored = resource.storage();
        self.store.reread(resource.table, |object| {
            object["apiVersion"] = stored.api_version().into();
            stored.schema().prune(object);
            stored.schema().default(object);
        });
        self.begin_journal();
    }

    /// Ends the resource that a removed CRD defined, and its watches.
    fn withdraw(&mut self, definition: &Value) {
        if let Some(resource) = self.defined_by(definition).cloned() {
            self.registry.remove(resource.table);
            self.store.close(resource.table);
            self.withdrawn.push(resource);
        }
    }

    pub(super) fn defined_by(&self, definition: &Value) -> Option<&Arc<Resource>> {
        let (plural, group) = meta::name(definition).split_once('.')?;
        let mut resources = self.registry.resources();
        resources.find(|resource| resource.custom && resource.is(group, plural))
    }
}

const HOOKS: &str = "admissionregistration.k8s.io";

fn is_hook_configuration(resource: &Resource) -> bool {
    resource.group == HOOKS && resource.plural.ends_with("webhookconfigurations")
}
