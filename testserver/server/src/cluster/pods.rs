//! The node of the kubelet, and its pods.

use super::{ClusterState, create::Created, owners::ObjectId, state::IN_MEMORY, task::Task};
use crate::{
    object::meta,
    pods::{
        Container, NODE_NAME, bind, default_state, exceed_deadline, is_over, node_object, observe,
        required_node, run, seconds_left,
    },
    storage::{Key, WriteError},
};

impl ClusterState {
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

    fn has_node(&self, name: &str) -> bool {
        self.storage.object("", "nodes", &Key::new(None, name)).is_some()
    }

    /// Binds a pod to the node, starts its containers, ends it at its deadline, or finishes its deletion.
    pub(super) fn run_pod(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let (table, key) = id;
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
            let node = required_node(&pod).unwrap_or(NODE_NAME).to_owned();
            if node == NODE_NAME || self.has_node(&node) {
                bind(&mut pod, &node, &self.now());
                self.put(&resource, key.clone(), pod)?;
            }
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
        } else if pod["spec"]["nodeName"] == NODE_NAME && !is_over(&pod) {
            let left = seconds_left(&pod, &self.now());
            let changed = match left {
                Some(0) => {
                    exceed_deadline(&mut pod, &self.now());
                    true
                }
                _ => observe(&mut pod),
            };
            if let Some(seconds) = left.filter(|seconds| *seconds > 0) {
                self.work.enqueue_after(Task::RunPod(id.clone()), seconds);
            }
            if changed {
                self.put(&resource, key.clone(), pod)?;
            }
        }
        Ok(())
    }
}
