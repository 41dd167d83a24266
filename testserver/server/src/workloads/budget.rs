//! PodDisruptionBudget: counts pods and allowed disruptions.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::pod::{Pod, share};
use crate::{
    clock::{seconds_left, time},
    object::conditions,
};

/// After so many seconds, an evicted pod that still exists counts again.
const DISRUPTION_SECONDS: u64 = 121;

/// The next status of a budget.
#[derive(Debug, PartialEq)]
pub(crate) struct BudgetPlan {
    pub(crate) status: Value,
    /// Seconds until an evicted pod that still exists counts again.
    pub(crate) requeue_after: Option<u64>,
}

/// Plans a budget; `pods` are all pods that it selects.
pub(crate) fn plan_budget(budget: &Value, pods: &[Arc<Pod>], now: &str) -> BudgetPlan {
    let spec = &budget["spec"];
    let expected: Vec<&Arc<Pod>> = pods.iter().filter(|pod| pod.is_active()).collect();
    let total = i64::try_from(expected.len()).unwrap_or(i64::MAX);
    let (mut disrupted, mut requeue_after) = (Map::new(), None);
    for pod in &expected {
        let evicted = &budget["status"]["disruptedPods"][pod.name()];
        let left = seconds_left(DISRUPTION_SECONDS, time(evicted), now.parse().ok());
        if let Some(left) = left.filter(|left| *left > 0) {
            disrupted.insert(pod.name().to_owned(), evicted.clone());
            requeue_after = Some(requeue_after.unwrap_or(left).min(left));
        }
    }
    let counts = |pod: &&&Arc<Pod>| pod.is_ready() && !disrupted.contains_key(pod.name());
    let healthy = i64::try_from(expected.iter().filter(counts).count()).unwrap_or(i64::MAX);
    // Percentages refer to the existing pods, rounded up.
    let part = |value: &Value| share(value, total, true);
    let desired = match (part(&spec["minAvailable"]), part(&spec["maxUnavailable"])) {
        (Some(least), _) => least,
        (None, Some(most)) => (total - most).max(0),
        (None, None) => 1,
    };
    let allowed = if total == 0 { 0 } else { (healthy - desired).max(0) };
    let (condition, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let generation = budget["metadata"]["generation"].clone();
    let mut conditions = budget["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let now = json!({"type": "DisruptionAllowed", "status": condition, "reason": reason, "message": "",
        "observedGeneration": generation});
    let created = budget["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
    conditions::set(&mut conditions, now, created);
    let mut status = Map::from_iter([
        ("conditions".to_owned(), conditions.into()),
        ("currentHealthy".to_owned(), healthy.into()),
        ("desiredHealthy".to_owned(), desired.into()),
        ("disruptionsAllowed".to_owned(), allowed.into()),
        ("expectedPods".to_owned(), total.into()),
        ("observedGeneration".to_owned(), generation),
    ]);
    if !disrupted.is_empty() {
        status.insert("disruptedPods".to_owned(), disrupted.into());
    }
    BudgetPlan { status: status.into(), requeue_after }
}

#[cfg(test)]
mod tests {
    use super::{super::pod::read, *};

    fn allowed(spec: Value, ready: &[bool]) -> (i64, i64) {
        let pod = |ready: &bool| {
            json!({"metadata": {}, "status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": if *ready { "True" } else { "False" }}]}})
        };
        let pods: Vec<Value> = ready.iter().map(pod).collect();
        let status =
            plan_budget(&json!({"metadata": {"generation": 1}, "spec": spec}), &read(&pods), "").status;
        (status["desiredHealthy"].as_i64().unwrap(), status["disruptionsAllowed"].as_i64().unwrap())
    }

    #[test]
    fn numbers_and_percentages_refer_to_existing_pods() {
        assert_eq!(allowed(json!({"minAvailable": 1}), &[true, true]), (1, 1));
        assert_eq!(allowed(json!({"minAvailable": "50%"}), &[true, true, true]), (2, 1));
        assert_eq!(allowed(json!({"maxUnavailable": 1}), &[true, true, false]), (2, 0));
        assert_eq!(allowed(json!({"maxUnavailable": "100%"}), &[true]), (0, 1));
        assert_eq!(allowed(json!({"minAvailable": 0}), &[]), (0, 0));
    }

    #[test]
    fn an_evicted_pod_does_not_count_for_two_minutes() {
        let pod = |name: &str| json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let at = "2026-01-01T00:00:00Z";
        let disrupted = json!({"a": at, "gone": at});
        let budget = json!({"metadata": {"generation": 1}, "spec": {"minAvailable": 1}, "status": {"disruptedPods": disrupted}});
        let planned = |now| {
            let plan = plan_budget(&budget, &read(&[pod("a"), pod("b"), pod("c")]), now);
            let status = &plan.status;
            (status["disruptedPods"].clone(), status["disruptionsAllowed"].as_i64(), plan.requeue_after)
        };
        assert_eq!(planned("2026-01-01T00:00:30Z"), (json!({"a": at}), Some(1), Some(91)));
        assert_eq!(planned("2026-01-01T00:02:01Z"), (Value::Null, Some(2), None));
    }
}
