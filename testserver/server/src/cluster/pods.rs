//! The node of the kubelet, and its pods.

use serde_json::Value;

use super::{ClusterState, create::Created, owners::ObjectId, state::IN_MEMORY, task::Task};
use crate::{
    object::{event::Note, meta},
    pods::{
        Container, ContainerState, NODE_NAME, bind, deadline_in, default_state, exceed_deadline, is_over,
        node_object, observe, required_node, run,
    },
    storage::{Key, WriteError},
};

const SCHEDULER: &str = "default-scheduler";
const KUBELET: &str = "kubelet";

impl ClusterState {
    /// Registers the node.
    pub(super) fn join_node(&mut self) {
        let mut node = node_object(&self.now());
        let status = node["status"].take();
        let created = self.create("", "nodes", node).expect(IN_MEMORY);
        let (Created::Stored(created), Some(nodes)) = (created, self.storage.resource("", "nodes")) else {
            return;
        };
        let mut node = created.value();
        node["status"] = status;
        self.put(&nodes, created.key.clone(), node).expect(IN_MEMORY);
    }

    fn has_node(&self, name: &str) -> bool {
        self.storage.object("", "nodes", &Key::new(None, name)).is_some()
    }

    /// Binds a pod to the node, starts its containers, ends it at its deadline, or finishes its deletion.
    pub(super) fn run_pod(&mut self, id: &ObjectId) -> Result<(), WriteError> {
        let (table, key) = id;
        let Some((resource, mut pod)) = self.storage.read(*table, key) else { return Ok(()) };
        let scheduler = pod["spec"]["schedulerName"].as_str().unwrap_or(SCHEDULER);
        if meta::is_deleting(&pod) {
            if pod["spec"]["nodeName"] == NODE_NAME && meta::grace(&pod) > 0 {
                for (field, name) in containers(&pod) {
                    let note = Note::normal("Killing", format!("Stopping container {name}"));
                    self.record_by(KUBELET, &pod, Some(&field), &note)?;
                }
                // The containers have ended, so the kubelet finishes the deletion.
                meta::set(&mut pod, "deletionGracePeriodSeconds", 0);
                self.put_or_remove(&resource, key.clone(), pod)?;
            }
            return Ok(());
        }
        let gated = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
        if pod["spec"]["nodeName"].is_null() && scheduler == SCHEDULER && !gated {
            let node = required_node(&pod).unwrap_or(NODE_NAME).to_owned();
            if node == NODE_NAME || self.has_node(&node) {
                let message = format!("Successfully assigned {key} to {node}");
                self.record_by(SCHEDULER, &pod, None, &Note::normal("Scheduled", message))?;
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
            self.record_start(&pod, &states)?;
            run(&mut pod, &states, self.storage.store.revision(), &self.now());
            self.put(&resource, key.clone(), pod)?;
        } else if pod["spec"]["nodeName"] == NODE_NAME && !is_over(&pod) {
            let left = deadline_in(&pod, &self.now());
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

    /// Records the start of the containers, unless their images are awaited.
    fn record_start(&mut self, pod: &Value, states: &[ContainerState]) -> Result<(), WriteError> {
        let images = pod["spec"]["containers"].as_array().into_iter().flatten();
        let images = images.map(|container| container["image"].as_str().unwrap_or_default());
        for (((field, _), image), state) in containers(pod).into_iter().zip(images).zip(states) {
            if matches!(state, ContainerState::Waiting(_)) {
                continue;
            }
            let there = format!(
                "Container image {image:?} already present on machine and can be accessed by the pod"
            );
            for note in [
                Note::normal("Pulled", there),
                Note::normal("Created", "Container created"),
                Note::normal("Started", "Container started"),
            ] {
                self.record_by(KUBELET, pod, Some(&field), &note)?;
            }
        }
        Ok(())
    }
}

/// The containers of a pod: the path of each, and its name.
fn containers(pod: &Value) -> Vec<(String, String)> {
    let all = pod["spec"]["containers"].as_array().into_iter().flatten();
    let names = all.map(|container| container["name"].as_str().unwrap_or_default().to_owned());
    names.map(|name| (format!("spec.containers{{{name}}}"), name)).collect()
}
