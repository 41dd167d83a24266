//! The workload controllers: [`controllers`](crate::controllers) makes the plans, this file carries them out.

use std::sync::Arc;

use serde_json::Value;

use super::{
    ClusterState, Propagation, create::Created, state::IN_MEMORY, storage::Storage, task::Task, work::Work,
};
use crate::{
    controllers::{
        NODE_NAME, adopt, bind, default_state, node_object, plan_budget, plan_job, plan_replicas,
        plan_rollout, pod_from_template, pod_of_job, run, with_failure,
    },
    gc::ObjectId,
    journal::WriteError,
    kubelet::Container,
    meta,
    scheme::Resource,
    selector::LabelSelector,
    store::{EventType, Key, Stored},
};

/// The time after which a controller repeats a creation that admission refused.
const RETRY_SECONDS: u64 = 1;

impl Work {
    /// Enqueues the controllers that depend on this object.
    pub(super) fn enqueue_workload(&mut self, storage: &Storage, resource: &Resource, stored: &Stored) {
        let id = (resource.table, stored.key.clone());
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => {
                self.enqueue_budgets(storage, &stored.key);
                self.enqueue(Task::RunPod(id));
                if stored.event == EventType::Added && stored.owners.is_empty() {
                    self.enqueue_adoption(storage, &stored.key);
                }
            }
            ("policy", "poddisruptionbudgets") => {
                self.enqueue(Task::Budgets(stored.key.namespace().unwrap_or_default().into()));
            }
            ("batch", "jobs") => self.enqueue(Task::Job(id)),
            ("apps", "replicasets") => {
                if stored.event == EventType::Added {
                    self.enqueue(Task::Adopt(stored.key.namespace().unwrap_or_default().into(), None));
                }
                self.enqueue(Task::ReplicaSet(id));
            }
            ("apps", "deployments") => self.enqueue(Task::Deployment(id)),
            _ => return,
        }
        self.enqueue_controller(storage, stored);
    }

    /// Enqueues the controller that owns an object.
    pub(super) fn enqueue_controller(&mut self, storage: &Storage, stored: &Stored) {
        for owner in &stored.owners {
            let (group, _) = meta::split_api_version(&owner.api_version);
            let (plural, task): (_, fn(ObjectId) -> Task) = match (group, owner.kind.as_str()) {
                ("batch", "Job") => ("jobs", Task::Job),
                ("apps", "ReplicaSet") => ("replicasets", Task::ReplicaSet),
                ("apps", "Deployment") => ("deployments", Task::Deployment),
                _ => continue,
            };
            let table = storage.table(group, plural);
            let key = Key::new(stored.key.namespace(), &owner.name);
            if let Some(table) = table {
                self.enqueue(task((table, key)));
            }
        }
    }

    /// Enqueues the budgets of the pod's namespace, if there are any.
    pub(super) fn enqueue_budgets(&mut self, storage: &Storage, pod: &Key) {
        let Some(budgets) = storage.resource("policy", "poddisruptionbudgets") else { return };
        if storage.store.objects(budgets.table, pod.namespace()).next().is_some() {
            self.enqueue(Task::Budgets(pod.namespace().unwrap_or_default().into()));
        }
    }

    /// Enqueues adoption of an unowned pod if its namespace has ReplicaSets.
    fn enqueue_adoption(&mut self, storage: &Storage, pod: &Key) {
        let Some(sets) = storage.resource("apps", "replicasets") else { return };
        if storage.store.objects(sets.table, pod.namespace()).next().is_some() {
            self.enqueue(Task::Adopt(pod.namespace().unwrap_or_default().into(), Some(pod.clone())));
        }
    }
}

impl ClusterState {
    /// Adopts unowned pods into the first ReplicaSet that selects them: all of the namespace after a new ReplicaSet, one after a new pod.
    pub(super) fn adopt_pods(&mut self, namespace: &str, only: Option<&Key>) -> Result<(), WriteError> {
        let (sets, pods) = (self.storage.resource("apps", "replicasets"), self.storage.resource("", "pods"));
        let (Some(sets), Some(pods)) = (sets, pods) else { return Ok(()) };
        let sets: Vec<Value> =
            self.storage.store.objects(sets.table, Some(namespace)).map(|stored| stored.value()).collect();
        let orphans: Vec<Arc<Stored>> = match only {
            Some(key) => self.storage.store.get(pods.table, key).into_iter().cloned().collect(),
            None => self.storage.store.objects(pods.table, Some(namespace)).cloned().collect(),
        };
        for orphan in orphans.iter().filter(|pod| pod.owners.is_empty()) {
            let pod = orphan.value();
            if let Some(adopted) = sets.iter().find_map(|set| adopt(set, &pod)) {
                self.put(&pods, orphan.key.clone(), adopted)?;
            }
        }
        Ok(())
    }

    /// Updates the status of all budgets of a namespace. Reads all its pods, once per request.
    pub(super) fn count_budgets(&mut self, namespace: &str) -> Result<(), WriteError> {
        let (budgets, pods) =
            (self.storage.resource("policy", "poddisruptionbudgets"), self.storage.resource("", "pods"));
        let (Some(budgets), Some(pods)) = (budgets, pods) else { return Ok(()) };
        let all: Vec<_> = self.storage.store.objects(budgets.table, Some(namespace)).cloned().collect();
        for stored in all {
            let budget = stored.value();
            let Some(selector) = LabelSelector::from_object(&budget["spec"]["selector"]) else { continue };
            let selected = self.storage.store.objects(pods.table, Some(namespace));
            let selected = selected.filter(|pod| selector.matches(|key| pod.label(key)));
            let selected: Vec<Value> = selected.map(|pod| pod.value()).collect();
            self.write_status(&budgets, &stored.key, &budget, plan_budget(&budget, &selected))?;
        }
        Ok(())
    }

    /// Registers the node.
    pub(super) fn join_node(&mut self) {
        let mut node = node_object(&self.now());
        let status = node["status"].take();
        let made = self.create("", "nodes", node).expect(IN_MEMORY);
        let (Created::Stored(made), Some(nodes)) = (made, self.storage.resource("", "nodes")) else { return };
        let mut node = made.value();
        node["status"] = status;
        self.put(&nodes, made.key.clone(), node).expect(IN_MEMORY);
    }

    /// Binds a pod to the node, starts its containers, or finishes its deletion.
    pub(super) fn run_pod(&mut self, (table, key): &ObjectId) -> Result<(), WriteError> {
        let Some(resource) = self.storage.scheme.by_table(*table).cloned() else { return Ok(()) };
        let Some(mut pod) = self.storage.store.get(*table, key).map(|stored| stored.value()) else {
            return Ok(());
        };
        let scheduler = pod["spec"]["schedulerName"].as_str().unwrap_or("default-scheduler");
        if meta::is_deleting(&pod) {
            if pod["spec"]["nodeName"] == NODE_NAME && meta::grace(&pod) > 0 {
                // The containers have ended, so the kubelet finishes the deletion.
                meta::set(&mut pod, "deletionGracePeriodSeconds", 0);
                self.put_or_remove(&resource, key.clone(), pod)?;
            }
            return Ok(());
        }
        let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        if pod["spec"]["nodeName"].is_null() && scheduler == "default-scheduler" && !gated {
            bind(&mut pod, NODE_NAME, &self.now());
            self.put(&resource, key.clone(), pod)?;
        } else if pod["spec"]["nodeName"] == NODE_NAME && pod["status"]["startTime"].is_null() {
            let states: Vec<_> = (pod["spec"]["containers"].as_array().into_iter().flatten())
                .map(|container| {
                    let name = container["name"].as_str().unwrap_or_default().to_owned();
                    let namespace = key.namespace().unwrap_or_default().to_owned();
                    let id = Container { namespace, pod: key.name().into(), name };
                    self.kubelet.start_container(id, &pod, container, default_state(&pod, container))
                })
                .collect();
            run(&mut pod, &states, self.storage.store.revision(), &self.now());
            self.put(&resource, key.clone(), pod)?;
        }
        Ok(())
    }

    pub(super) fn reconcile_replica_set(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, set)) = self.reconciled(id) else { return Ok(()) };
        let (keys, pods) = self.owned(&set, "", "pods");
        let plan = plan_replicas(&set, &pods);
        self.write_status(&resource, &id.1, &set, plan.status.clone())?;
        for at in plan.delete {
            self.delete_owned("", "pods", &keys[at])?;
        }
        let make = || pod_from_template(&set, &set["spec"]["template"]);
        if let Some(refusal) = self.create_pods(plan.create, make)? {
            self.work.enqueue_after(Task::ReplicaSet(id.clone()), RETRY_SECONDS);
            let Some((_, set)) = self.reconciled(id) else { return Ok(()) };
            let status = with_failure(&set, plan.status, &refusal, &self.now());
            self.write_status(&resource, &id.1, &set, status)?;
        }
        Ok(())
    }

    pub(super) fn reconcile_job(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, job)) = self.reconciled(id) else { return Ok(()) };
        if meta::is_deleting(&job) {
            return Ok(());
        }
        let (keys, pods) = self.owned(&job, "", "pods");
        let plan = plan_job(&job, &pods, &self.now());
        if plan.expired {
            return self.delete(&resource, &id.1, Some(Propagation::Background)).map(drop);
        }
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(Task::Job(id.clone()), seconds);
        }
        self.write_status(&resource, &id.1, &job, plan.status)?;
        if plan.stop {
            for key in keys
                .iter()
                .zip(&pods)
                .filter(|(_, pod)| pod["status"]["phase"] == "Running")
                .map(|(key, _)| key)
            {
                self.delete_owned("", "pods", key)?;
            }
        }
        if self.create_pods(plan.create, || pod_of_job(&job))?.is_some() {
            self.work.enqueue_after(Task::Job(id.clone()), RETRY_SECONDS);
        }
        Ok(())
    }

    pub(super) fn reconcile_deployment(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let Some((resource, mut deployment)) = self.reconciled(id) else { return Ok(()) };
        let (keys, sets) = self.owned(&deployment, "apps", "replicasets");
        let plan = plan_rollout(&deployment, &sets, &self.now());
        if let Some(seconds) = plan.requeue_after {
            self.work.enqueue_after(Task::Deployment(id.clone()), seconds);
        }
        if let Some(set) = plan.create
            && let Created::Refused(_) = self.create("apps", "replicasets", set)?
        {
            self.work.enqueue_after(Task::Deployment(id.clone()), RETRY_SECONDS);
        }
        let replica_sets = self.storage.resource("apps", "replicasets");
        let mut changed = sets.clone();
        for (at, replicas) in plan.scale {
            changed[at]["spec"]["replicas"] = replicas.into();
            for (name, size) in &plan.sizes {
                changed[at]["metadata"]["annotations"][*name] = size.as_str().into();
            }
            let generation = changed[at]["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            meta::set(&mut changed[at], "generation", generation);
        }
        if let Some((at, revision)) = plan.revision {
            for object in [&mut changed[at], &mut deployment] {
                object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] =
                    revision.as_str().into();
            }
            self.put(&resource, id.1.clone(), deployment.clone())?;
        }
        for at in 0..sets.len() {
            if changed[at] != sets[at]
                && let Some(replica_sets) = &replica_sets
            {
                self.put(replica_sets, keys[at].clone(), changed[at].take())?;
            }
        }
        for at in plan.delete {
            self.delete_owned("apps", "replicasets", &keys[at])?;
        }
        self.write_status(&resource, &id.1, &deployment, plan.status)
    }

    fn reconciled(&self, (table, key): &ObjectId) -> Option<(Arc<Resource>, Value)> {
        let resource = self.storage.scheme.by_table(*table)?.clone();
        Some((resource, self.storage.store.get(*table, key)?.value()))
    }

    /// The dependents of an object in one resource, by name.
    fn owned(&self, owner: &Value, group: &str, plural: &str) -> (Vec<Key>, Vec<Value>) {
        let Some(resource) = self.storage.resource(group, plural) else { return Default::default() };
        let uid = meta::text(owner, "uid").unwrap_or_default();
        let dependents =
            self.work.owners.dependents(uid).into_iter().filter(|(table, _)| *table == resource.table);
        dependents
            .filter_map(|(table, key)| {
                let value = self.storage.store.get(table, &key)?.value();
                Some((key, value))
            })
            .unzip()
    }

    fn delete_owned(&mut self, group: &str, plural: &str, key: &Key) -> Result<(), WriteError> {
        if let Some(resource) = self.storage.resource(group, plural) {
            self.delete(&resource, key, None)?;
        }
        Ok(())
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
