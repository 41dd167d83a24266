//! Plans a DaemonSet: which nodes get a pod, which lose one, and the status.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::node_fit::{Fit, fit, tolerations};
use crate::{
    object::meta,
    pods::required_node,
    workloads::{
        pod::{Pod, REVISION, share},
        template::pod_from_template,
    },
};

const GENERATION: &str = "deprecated.daemonset.template.generation";

/// The next actions for a DaemonSet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DaemonPlan {
    /// The names of the nodes that get a pod.
    pub(crate) create: Vec<String>,
    /// Indexes in the list of pods.
    pub(crate) delete: Vec<usize>,
    /// Seconds until another pod has been ready for `minReadySeconds`.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
}

/// A node, and the pods that it has, the oldest first.
struct Place<'a> {
    name: &'a str,
    fit: Fit,
    pods: Vec<usize>,
}

/// What a plan is made of.
struct View<'a> {
    set: &'a Value,
    pods: &'a [Arc<Pod>],
    places: Vec<Place<'a>>,
    hash: &'a str,
    now: Option<Timestamp>,
}

/// Plans a DaemonSet; `pods` are all pods that it owns, `hash` names the revision of its template.
pub(crate) fn plan_daemon_set(
    set: &Value,
    pods: &[Arc<Pod>],
    nodes: &[Arc<Value>],
    hash: &str,
    now: &str,
) -> DaemonPlan {
    let mut by_node: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, pod) in pods.iter().enumerate() {
        by_node.entry(node_of(&pod.object).unwrap_or_default()).or_default().push(at);
    }
    let spec = &set["spec"]["template"]["spec"];
    let tolerated = tolerations(spec);
    let places: Vec<Place<'_>> = nodes
        .iter()
        .map(|node| {
            let name = meta::name(node);
            let mut pods_here = by_node.remove(name).unwrap_or_default();
            pods_here.sort_by_key(|at| meta::text(&pods[*at].object, "creationTimestamp"));
            Place { name, fit: fit(spec, &tolerated, node), pods: pods_here }
        })
        .collect();
    let view = View { set, pods, places, hash, now: now.parse().ok() };
    let waits = pods.iter().filter_map(|pod| view.available_in(pod)).filter(|seconds| *seconds > 0);
    let mut plan = DaemonPlan { requeue_after: waits.min(), status: view.status(), ..DaemonPlan::default() };
    if meta::is_deleting(set) {
        return plan;
    }
    // Pods that wait for a node stay; the nodes of the others are gone.
    by_node.remove("");
    plan.delete.extend(by_node.into_values().flatten());
    view.fill(&mut plan);
    if plan.create.is_empty() && set["spec"]["updateStrategy"]["type"] != "OnDelete" {
        view.roll(&mut plan);
    }
    plan.delete.retain(|at| !pods[*at].is_deleting());
    plan
}

impl View<'_> {
    fn available_in(&self, pod: &Pod) -> Option<u64> {
        let min_ready = self.set["spec"]["minReadySeconds"].as_u64().unwrap_or(0);
        pod.available_in(min_ready, self.now).filter(|_| pod.is_active())
    }

    fn is_available(&self, at: usize) -> bool {
        self.available_in(&self.pods[at]) == Some(0)
    }

    fn is_updated(&self, at: usize) -> bool {
        self.pods[at].revision() == Some(self.hash)
    }

    /// How many nodes may be without an available pod, and how many may have two.
    fn limits(&self) -> (i64, i64) {
        let rolling = &self.set["spec"]["updateStrategy"]["rollingUpdate"];
        let desired = self.places.iter().filter(|place| place.fit == Fit::Runs).count();
        let desired = i64::try_from(desired).unwrap_or(i64::MAX / 100);
        let surge = share(&rolling["maxSurge"], desired, true).unwrap_or(0);
        let unavailable = share(&rolling["maxUnavailable"], desired, true).unwrap_or(1);
        (if surge == 0 { unavailable.max(1) } else { unavailable }, surge)
    }

    /// Creates missing pods, and deletes those that failed, that are surplus or whose node refuses them.
    fn fill(&self, plan: &mut DaemonPlan) {
        let (_, surge) = self.limits();
        for place in &self.places {
            let (over, alive): (Vec<usize>, Vec<usize>) =
                place.pods.iter().partition(|at| self.pods[**at].is_over());
            match place.fit {
                Fit::Refuses => plan.delete.extend(&place.pods),
                Fit::Keeps => plan.delete.extend(over),
                Fit::Runs => {
                    plan.delete.extend(over);
                    if alive.is_empty() {
                        plan.create.push(place.name.to_owned());
                    }
                    // During a rollout with a surge, a node has an old pod and a new one.
                    let mut revisions = BTreeSet::new();
                    let active = alive.into_iter().filter(|at| self.pods[*at].is_active());
                    plan.delete
                        .extend(active.filter(|at| !revisions.insert(surge > 0 && self.is_updated(*at))));
                }
            }
        }
    }

    /// The next steps of a rollout.
    fn roll(&self, plan: &mut DaemonPlan) {
        let (max_unavailable, max_surge) = self.limits();
        let running = || self.places.iter().filter(|place| place.fit == Fit::Runs);
        let newest = |place: &Place<'_>, updated: bool| {
            place
                .pods
                .iter()
                .copied()
                .find(|at| self.is_updated(*at) == updated && self.pods[*at].is_active())
        };
        let unavailable =
            running().filter(|place| !place.pods.iter().any(|at| self.is_available(*at))).count();
        let mut unavailable_left = max_unavailable - i64::try_from(unavailable).unwrap_or(i64::MAX);
        let surging =
            running().filter(|place| newest(place, true).is_some() && newest(place, false).is_some());
        let mut surge_left = max_surge - i64::try_from(surging.count()).unwrap_or(i64::MAX);
        for place in running() {
            let Some(old) = newest(place, false) else { continue };
            match newest(place, true) {
                Some(new) => plan.delete.extend(self.is_available(new).then_some(old)),
                None if max_surge > 0 => {
                    // An unavailable pod loses nothing.
                    if !self.is_available(old) || surge_left > 0 {
                        surge_left -= i64::from(self.is_available(old));
                        plan.create.push(place.name.to_owned());
                    }
                }
                None => {
                    if !self.is_available(old) || unavailable_left > 0 {
                        unavailable_left -= i64::from(self.is_available(old));
                        plan.delete.push(old);
                    }
                }
            }
        }
    }

    fn status(&self) -> Value {
        let running = || self.places.iter().filter(|place| place.fit == Fit::Runs);
        let holding = |test: &dyn Fn(usize) -> bool| {
            running().filter(|place| place.pods.iter().any(|at| test(*at))).count()
        };
        let misplaced = self.places.iter().filter(|place| place.fit != Fit::Runs && !place.pods.is_empty());
        let desired = running().count();
        let available = holding(&|at| self.is_available(at));
        let mut status = json!({
            "observedGeneration": self.set["metadata"]["generation"],
            "desiredNumberScheduled": desired,
            "currentNumberScheduled": holding(&|_| true),
            "numberMisscheduled": misplaced.count(),
            "numberReady": holding(&|at| self.pods[at].is_active() && self.pods[at].is_ready()),
        });
        // Zero counts are omitted, as Go does.
        for (field, count) in [
            ("updatedNumberScheduled", holding(&|at| self.pods[at].is_active() && self.is_updated(at))),
            ("numberAvailable", available),
            ("numberUnavailable", desired - available),
        ] {
            if count > 0 {
                status[field] = count.into();
            }
        }
        for field in ["collisionCount", "conditions"] {
            if !self.set["status"][field].is_null() {
                status[field] = self.set["status"][field].clone();
            }
        }
        status
    }
}

/// A new pod for a node, of the revision with this hash.
pub(crate) fn pod_of_daemon(set: &Value, node: &str, hash: &str) -> Value {
    let mut pod = pod_from_template(set, &set["spec"]["template"]);
    let generation = set["metadata"]["annotations"][GENERATION].as_str().unwrap_or("1");
    pod["metadata"]["labels"][REVISION] = hash.into();
    pod["metadata"]["labels"]["pod-template-generation"] = generation.into();
    let only = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!({"nodeSelectorTerms": [{"matchFields": [only]}]});
    pod["spec"]["tolerations"] = tolerations(&set["spec"]["template"]["spec"]).into();
    pod
}

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str().or_else(|| required_node(pod))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::pod::read;

    fn set(strategy: Value) -> Value {
        json!({"metadata": {"name": "ds", "generation": 3, "annotations": {GENERATION: "2"}},
            "spec": {"updateStrategy": strategy, "template": {"metadata": {"labels": {"app": "ds"}}, "spec": {}}}})
    }

    fn node(name: &str, taint: Option<&str>) -> Value {
        let taints: Vec<Value> = taint.iter().map(|effect| json!({"key": "t", "effect": effect})).collect();
        json!({"metadata": {"name": name}, "spec": {"taints": taints}})
    }

    fn pod(node: &str, hash: &str, ready: bool) -> Value {
        let ready = if ready { "True" } else { "False" };
        json!({"metadata": {"name": format!("ds-{node}"), "labels": {REVISION: hash}}, "spec": {"nodeName": node},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
    }

    fn plan(set: &Value, pods: &[Value], nodes: &[Value]) -> DaemonPlan {
        let nodes: Vec<Arc<Value>> = nodes.iter().cloned().map(Arc::new).collect();
        plan_daemon_set(set, &read(pods), &nodes, "new", "2026-01-01T00:00:00Z")
    }

    #[test]
    fn each_node_that_takes_it_has_one_pod() {
        let nodes = [node("a", None), node("b", Some("NoSchedule")), node("c", Some("NoExecute"))];
        assert_eq!(plan(&set(json!({})), &[], &nodes).create, ["a"]);
        let pods = ["a", "b", "c", "gone"].map(|node| pod(node, "new", true));
        let settled = plan(&set(json!({})), &pods, &nodes);
        assert_eq!((settled.create, settled.delete), (vec![], vec![3, 2]), "b keeps its pod, c does not");
        assert_eq!(
            settled.status,
            json!({"observedGeneration": 3, "desiredNumberScheduled": 1, "currentNumberScheduled": 1,
            "numberMisscheduled": 2, "numberReady": 1, "numberAvailable": 1, "updatedNumberScheduled": 1})
        );
        let twice = [pod("a", "new", true), pod("a", "new", true)];
        assert_eq!(plan(&set(json!({})), &twice, &nodes[..1]).delete, [1]);
    }

    #[test]
    fn a_failed_pod_is_replaced_and_a_terminating_one_awaited() {
        let mut failed = pod("a", "new", false);
        failed["status"]["phase"] = "Failed".into();
        let replaced = plan(&set(json!({})), &[failed], &[node("a", None)]);
        assert_eq!((replaced.delete, replaced.create), (vec![0], vec!["a".to_owned()]));
        // Also where a new one would not start.
        let tainted = [node("a", Some("NoSchedule"))];
        let mut failed = pod("a", "new", false);
        failed["status"]["phase"] = "Failed".into();
        let removed = plan(&set(json!({})), &[failed], &tainted);
        assert_eq!((removed.delete, removed.create.len()), (vec![0], 0));
        let mut going = pod("a", "new", true);
        going["metadata"]["deletionTimestamp"] = "t".into();
        let awaited = plan(&set(json!({})), &[going], &[node("a", None)]);
        assert_eq!((awaited.delete.len(), awaited.create.len()), (0, 0));
        assert_eq!(awaited.status["numberUnavailable"], 1);
    }

    #[test]
    fn a_rollout_replaces_as_many_pods_as_may_be_unavailable() {
        let nodes = ["a", "b", "c", "d"].map(|name| node(name, None));
        let old = ["a", "b", "c", "d"].map(|node| pod(node, "old", true));
        assert_eq!(plan(&set(json!({})), &old, &nodes).delete, [0]);
        assert_eq!(plan(&set(json!({"type": "OnDelete"})), &old, &nodes).delete, [0; 0]);
        let half = set(json!({"rollingUpdate": {"maxUnavailable": "50%"}}));
        assert_eq!(plan(&half, &old, &nodes).delete, [0, 1]);
        let mut mixed = old.clone();
        mixed[0] = pod("a", "new", false);
        assert_eq!(plan(&set(json!({})), &mixed, &nodes).delete, [0; 0], "the new pod is awaited");
        mixed[3] = pod("d", "old", false);
        assert_eq!(plan(&set(json!({})), &mixed, &nodes).delete, [3], "a broken pod goes at once");
    }

    #[test]
    fn a_surge_adds_the_new_pod_first() {
        let surge = set(json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}));
        let nodes = ["a", "b"].map(|name| node(name, None));
        let mut pods = vec![pod("a", "old", true), pod("b", "old", true)];
        let first = plan(&surge, &pods, &nodes);
        assert_eq!((first.create, first.delete.len()), (vec!["a".to_owned()], 0));
        pods.push(pod("a", "new", false));
        let waiting = plan(&surge, &pods, &nodes);
        assert_eq!((waiting.create.len(), waiting.delete.len()), (0, 0));
        pods[2] = pod("a", "new", true);
        assert_eq!(plan(&surge, &pods, &nodes).delete, [0]);
    }

    #[test]
    fn a_pod_is_bound_to_its_node_by_affinity() {
        let pod = pod_of_daemon(&set(json!({})), "a", "new");
        assert_eq!(required_node(&pod), Some("a"));
        assert_eq!(
            pod["metadata"]["labels"],
            json!({"app": "ds", REVISION: "new", "pod-template-generation": "2"})
        );
        assert_eq!(pod["spec"]["tolerations"].as_array().unwrap().len(), 6);
    }
}
