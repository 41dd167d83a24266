//! Writes the Endpoints and EndpointSlices of services.

use serde_json::Value;

use super::WorkloadTask;
use crate::{
    cluster::{BuiltInController, ClusterState, work::Work},
    scheme::Resource,
    storage::{EventType, Key, Storage, Stored, WriteError},
    workloads::{Backend, SERVICE_NAME, SlicePlan, backend, plan_endpoints, plan_mirror, plan_slices},
};

const DISCOVERY: &str = "discovery.k8s.io";
const ZONE: &str = "topology.kubernetes.io/zone";

impl Work {
    /// Enqueues the services whose endpoints follow from a change.
    pub(super) fn observe_endpoints(
        &mut self,
        storage: &Storage,
        resource: &Resource,
        before: Option<&Stored>,
        after: Option<&Stored>,
    ) {
        if !self.is_enabled(BuiltInController::Endpoints) {
            return;
        }
        let Some(stored) = after.or(before) else { return };
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => {
                for service in self.services.record_pod(before, after) {
                    self.enqueue(WorkloadTask::Endpoints(service).into());
                }
            }
            ("", "services") => {
                let selector = after.map_or(Value::Null, |service| selector(&service.value()));
                let pods = storage.table("", "pods").into_iter();
                let pods = pods.flat_map(|pods| storage.store.objects(pods, stored.key.namespace()));
                self.services.record_service(&stored.key, &selector, pods.map(AsRef::as_ref));
                let task =
                    if after.is_some() { WorkloadTask::Endpoints } else { WorkloadTask::RemoveEndpoints };
                self.enqueue(task(stored.key.clone()).into());
            }
            // What a user wrote is mirrored; of the others, the genuine controller notices only the removal.
            ("", "endpoints") if after.is_none() || !self.services.selects(&stored.key) => {
                self.enqueue(WorkloadTask::Endpoints(stored.key.clone()).into());
            }
            (DISCOVERY, "endpointslices") if stored.event != EventType::Added => {
                if let Some(service) = stored.label(SERVICE_NAME) {
                    let service = Key::new(stored.key.namespace(), service);
                    self.enqueue(WorkloadTask::Endpoints(service).into());
                }
            }
            // Pods of unknown nodes are not listed.
            ("", "nodes") if before.is_none() || after.is_none() => {
                self.services.forget_backends();
                let services: Vec<Key> = self.services.services().cloned().collect();
                for service in services {
                    self.enqueue(WorkloadTask::Endpoints(service).into());
                }
            }
            _ => {}
        }
    }
}

/// The labels that a service selects; null if it selects nothing.
fn selector(service: &Value) -> Value {
    if service["spec"]["type"] == "ExternalName" { Value::Null } else { service["spec"]["selector"].clone() }
}

impl ClusterState {
    /// Deletes the Endpoints of a service that is gone. Its slices have it as their owner.
    pub(super) fn remove_endpoints(&mut self, service: &Key) -> Result<(), WriteError> {
        let (services, endpoints) =
            (self.storage.resource("", "services"), self.storage.resource("", "endpoints"));
        let (Some(services), Some(endpoints)) = (services, endpoints) else { return Ok(()) };
        if self.storage.store.get(services.table, service).is_none() {
            self.delete(&endpoints, service, None)?;
        }
        Ok(())
    }

    /// Writes the endpoints of a service.
    pub(super) fn reconcile_endpoints(&mut self, key: &Key) -> Result<(), WriteError> {
        let result = self.write_endpoints_of(key);
        // What it has written itself needs no other look.
        self.work.cancel(&WorkloadTask::Endpoints(key.clone()).into());
        result
    }

    /// Writes the endpoints of a service from its pods or, if it has no selector, the slices of the Endpoints that a user wrote.
    fn write_endpoints_of(&mut self, key: &Key) -> Result<(), WriteError> {
        let living = |plural| {
            let found = self.storage.object("", plural, key).filter(|object| !object.deleting);
            found.map(|object| object.value())
        };
        let Some(service) = living("services") else { return Ok(()) };
        let endpoints = living("endpoints");
        let mirrored =
            endpoints.as_ref().map_or_else(Default::default, |endpoints| self.slices_of(endpoints));
        if !self.work.services.selects(key) {
            let plan = endpoints.as_ref().filter(|_| service["spec"]["type"] != "ExternalName");
            let plan = plan.map_or_else(SlicePlan::default, |endpoints| plan_mirror(endpoints, &mirrored.1));
            return self.write_slices(plan, &mirrored.0);
        }
        let publish = service["spec"]["publishNotReadyAddresses"] == true;
        let mut known = self.work.services.take_backends(key);
        let mut backends: Vec<Backend> = Vec::new();
        for pod in self.work.services.pods(key) {
            let backend = known.entry(pod.clone()).or_insert_with(|| {
                let pod = self.storage.object("", "pods", pod)?.value();
                backend(&service, &pod, self.node_zone(&pod))
            });
            backends.extend(backend.clone());
        }
        self.work.services.keep_backends(key, known);
        if let Some(written) = plan_endpoints(&service, &backends, endpoints.as_ref()) {
            self.write_endpoints(key, written, endpoints.is_some())?;
        }
        // Pods of unknown nodes have no endpoint in a slice.
        backends.retain(|backend| publish || backend.node_known);
        let (keys, slices) = self.slices_of(&service);
        let plan = plan_slices(&service, &backends, &slices);
        self.write_slices(plan, &keys)?;
        // A service that has become one with a selector has no mirrored slices.
        let surplus = SlicePlan { delete: (0..mirrored.0.len()).collect(), ..SlicePlan::default() };
        self.write_slices(surplus, &mirrored.0)
    }

    fn write_endpoints(&mut self, key: &Key, endpoints: Value, exists: bool) -> Result<(), WriteError> {
        if !exists {
            return self.create("", "endpoints", endpoints).map(drop);
        }
        let Some(resource) = self.storage.resource("", "endpoints") else { return Ok(()) };
        self.put(&resource, key.clone(), endpoints).map(drop)
    }

    /// The zone of the node of a pod, if the node has one; `None` if the node does not exist.
    fn node_zone(&self, pod: &Value) -> Option<Option<String>> {
        let node = self.storage.object("", "nodes", &Key::new(None, pod["spec"]["nodeName"].as_str()?))?;
        Some(node.label(ZONE).map(Into::into))
    }

    /// The slices that an object owns.
    fn slices_of(&self, owner: &Value) -> (Vec<Key>, Vec<Value>) {
        let slices = self.storage.resource(DISCOVERY, "endpointslices");
        slices.map_or_else(Default::default, |slices| self.owned(owner, &slices))
    }

    fn write_slices(&mut self, plan: SlicePlan, keys: &[Key]) -> Result<(), WriteError> {
        let Some(slices) = self.storage.resource(DISCOVERY, "endpointslices") else { return Ok(()) };
        for (at, slice) in plan.update {
            self.put(&slices, keys[at].clone(), slice)?;
        }
        for at in plan.delete {
            self.delete(&slices, &keys[at], None)?;
        }
        for slice in plan.create {
            self.create(DISCOVERY, "endpointslices", slice)?;
        }
        Ok(())
    }
}
