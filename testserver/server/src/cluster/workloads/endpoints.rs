//! Writes the Endpoints and EndpointSlices of services.

use std::sync::Arc;

use serde_json::Value;

use super::{WorkloadTask, caches::ServiceEndpoints, task::Requeue};
use crate::{
    cluster::{BuiltInController, ClusterState, create::Created, work::Work},
    object::selector::LabelSelector,
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
        let namespace = stored.key.namespace();
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "pods") => {
                for service in self.caches.services.record_pod(before, after) {
                    if let Some(endpoints) = self.caches.endpoints.get_mut(&service) {
                        endpoints.changed.insert(stored.key.clone());
                    }
                    self.enqueue(WorkloadTask::Endpoints(service).into());
                }
            }
            ("", "services") => {
                let labels = after.map_or(Value::Null, |service| selected_labels(&service.value()));
                let selector = LabelSelector::from_labels(&labels).filter(|selector| !selector.is_empty());
                let pods = storage.table("", "pods").into_iter();
                let pods = pods.flat_map(|pods| storage.store.objects(pods, namespace));
                self.caches.services.record(&stored.key, selector, &labels, pods.map(AsRef::as_ref));
                self.caches.endpoints.remove(&stored.key);
                let task =
                    if after.is_some() { WorkloadTask::Endpoints } else { WorkloadTask::RemoveEndpoints };
                self.enqueue(task(stored.key.clone()).into());
            }
            ("", "endpoints") => {
                // What a user wrote is mirrored; of the others, the genuine controller notices only the removal.
                self.check_endpoints(
                    &stored.key,
                    after.is_none() || !self.caches.services.selects(&stored.key),
                );
            }
            (DISCOVERY, "endpointslices") => {
                if let Some(service) = stored.label(SERVICE_NAME) {
                    self.check_endpoints(&Key::new(namespace, service), stored.event != EventType::Added);
                }
            }
            // Pods of unknown nodes are not listed.
            ("", "nodes") if before.is_none() || after.is_none() => {
                self.caches.endpoints.clear();
                let services: Vec<Key> = self.caches.services.objects().cloned().collect();
                for service in services {
                    self.enqueue(WorkloadTask::Endpoints(service).into());
                }
            }
            _ => {}
        }
    }

    /// Compares the stored endpoints of a service with its pods when they are next written, or at once.
    fn check_endpoints(&mut self, service: &Key, at_once: bool) {
        if let Some(endpoints) = self.caches.endpoints.get_mut(service) {
            endpoints.written = false;
        }
        if at_once {
            self.enqueue(WorkloadTask::Endpoints(service.clone()).into());
        }
    }
}

/// The labels that a service selects; null if it selects nothing.
fn selected_labels(service: &Value) -> Value {
    if service["spec"]["type"] == "ExternalName" { Value::Null } else { service["spec"]["selector"].clone() }
}

impl ClusterState {
    /// Deletes the Endpoints of a service that is gone. Its slices have it as their owner.
    pub(super) fn remove_endpoints(&mut self, service: &Key) -> Result<(), WriteError> {
        if self.storage.object("", "services", service).is_none() {
            self.delete_owned("", "endpoints", service)?;
        }
        Ok(())
    }

    /// Writes the endpoints of a service from its pods or, if it has no selector, the slices of the Endpoints that a user wrote.
    pub(super) fn reconcile_endpoints(&mut self, key: &Key) -> Result<Requeue, WriteError> {
        let Some(service) = self.living("services", key) else { return Ok(Requeue::default()) };
        let written = match self.work.caches.services.selects(key) {
            true => self.list_pods(key, &service),
            false => self.mirror_endpoints(key, &service),
        };
        // What it has written itself needs no other look.
        self.work.cancel(&WorkloadTask::Endpoints(key.clone()).into());
        Ok(Requeue { after: None, refused: !written? })
    }

    /// Whether all was written.
    fn list_pods(&mut self, key: &Key, service: &Value) -> Result<bool, WriteError> {
        let former = self.work.caches.endpoints.remove(key);
        let (mut listed, was_written) = self.observed_backends(key, service, former);
        let backends = || listed.backends.values().cloned().collect();
        listed.written = was_written || self.write_endpoints(key, service, backends())?;
        let written = listed.written;
        self.work.caches.endpoints.insert(key.clone(), listed);
        Ok(written)
    }

    /// The endpoints of a service after the changes of its pods, and whether they are stored like this.
    fn observed_backends(
        &mut self,
        key: &Key,
        service: &Value,
        former: Option<ServiceEndpoints>,
    ) -> (ServiceEndpoints, bool) {
        let all = || self.work.caches.services.pods(key).cloned().collect();
        let mut endpoints =
            former.unwrap_or_else(|| ServiceEndpoints { changed: all(), ..ServiceEndpoints::default() });
        let mut written = endpoints.written;
        for pod in std::mem::take(&mut endpoints.changed) {
            let selected = self.work.caches.services.selects_pod(key, &pod);
            let stored = self.storage.object("", "pods", &pod).filter(|_| selected);
            let pod_states = stored.map(|stored| self.work.caches.pods.get(stored));
            let backend = pod_states.and_then(|pod| backend(service, &pod, self.node_zone(&pod.object)));
            written &= endpoints.backends.get(&pod) == backend.as_ref();
            match backend {
                Some(backend) => drop(endpoints.backends.insert(pod, backend)),
                None => drop(endpoints.backends.remove(&pod)),
            }
        }
        (endpoints, written)
    }

    /// Writes Endpoints and slices. Whether none was refused.
    fn write_endpoints(
        &mut self,
        key: &Key,
        service: &Value,
        mut backends: Vec<Backend>,
    ) -> Result<bool, WriteError> {
        let endpoints = self.living("endpoints", key);
        let mirrored = endpoints.as_ref().map_or_else(Vec::new, |endpoints| self.slices_of(endpoints));
        let written = match plan_endpoints(service, &backends, endpoints.as_ref()) {
            None => true,
            Some(planned) => match self.storage.resource("", "endpoints").filter(|_| endpoints.is_some()) {
                Some(resource) => self.update(&resource, key, planned)?.is_ok(),
                None => !matches!(self.create("", "endpoints", planned)?, Created::Refused(_)),
            },
        };
        // Pods of unknown nodes have no endpoint in a slice.
        let publish = service["spec"]["publishNotReadyAddresses"] == true;
        backends.retain(|backend| publish || backend.node_known);
        let stored = self.slices_of(service);
        let plan = plan_slices(service, &backends, &self.work.caches.objects.all(&stored));
        let sliced = self.write_slices(plan, &stored)?;
        // A service that has become one with a selector has no mirrored slices.
        let surplus = SlicePlan { delete: (0..mirrored.len()).collect(), ..SlicePlan::default() };
        self.write_slices(surplus, &mirrored)?;
        Ok(written && sliced)
    }

    /// Whether all was written.
    fn mirror_endpoints(&mut self, key: &Key, service: &Value) -> Result<bool, WriteError> {
        let Some(endpoints) = self.living("endpoints", key) else { return Ok(true) };
        let stored = self.slices_of(&endpoints);
        let plan = match service["spec"]["type"] == "ExternalName" {
            true => SlicePlan::default(),
            false => plan_mirror(&endpoints, &self.work.caches.objects.all(&stored)),
        };
        self.write_slices(plan, &stored)
    }

    /// An object about a service that is not being deleted.
    fn living(&self, plural: &str, key: &Key) -> Option<Value> {
        let stored = self.storage.object("", plural, key).filter(|stored| !stored.deleting);
        stored.map(|stored| stored.value())
    }

    /// The zone of the node of a pod, if the node has one; `None` if the node does not exist.
    fn node_zone(&self, pod: &Value) -> Option<Option<String>> {
        let node = self.storage.object("", "nodes", &Key::new(None, pod["spec"]["nodeName"].as_str()?))?;
        Some(node.label(ZONE).map(Into::into))
    }

    /// The slices that an object owns.
    fn slices_of(&self, owner: &Value) -> Vec<Arc<Stored>> {
        let slices = self.storage.resource(DISCOVERY, "endpointslices");
        slices.map_or_else(Vec::new, |slices| self.owned(owner, &slices))
    }

    /// Carries out a plan. Whether no write was refused.
    fn write_slices(&mut self, plan: SlicePlan, stored: &[Arc<Stored>]) -> Result<bool, WriteError> {
        let Some(slices) = self.storage.resource(DISCOVERY, "endpointslices") else { return Ok(true) };
        let mut written = true;
        for (at, slice) in plan.update {
            written &= self.update(&slices, &stored[at].key, slice)?.is_ok();
        }
        for at in plan.delete {
            self.delete(&slices, &stored[at].key, None)?;
        }
        for slice in plan.create {
            written &= !matches!(self.create(DISCOVERY, "endpointslices", slice)?, Created::Refused(_));
        }
        Ok(written)
    }
}
