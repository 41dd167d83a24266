//! What the policies of a Job make of its pods: `podFailurePolicy` of a failed one, `successPolicy` of the completed indexes.

use serde_json::Value;

use super::indexes::Indexes;
use crate::object::meta;

/// What a failed pod means for its Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It counts towards the backoff limit.
    Counts,
    Ignored,
    FailsIndex,
    /// It fails the Job, for this reason.
    FailsJob(String),
}

/// Applies the first rule of the failure policy that matches.
pub(super) fn judge(job: &Value, pod: &Value) -> Failure {
    let rules = job["spec"]["podFailurePolicy"]["rules"].as_array().into_iter().flatten();
    let matching = rules.enumerate().find_map(|(at, rule)| Some((at, rule, reason(rule, pod)?)));
    match matching.map(|(at, rule, why)| (at, rule["action"].as_str(), why)) {
        Some((_, Some("Ignore"), _)) => Failure::Ignored,
        Some((_, Some("FailIndex"), _)) => Failure::FailsIndex,
        Some((at, Some("FailJob"), why)) => {
            Failure::FailsJob(format!("{why} matching FailJob rule at index {at}"))
        }
        _ => Failure::Counts,
    }
}

/// Why a rule matches a pod.
fn reason(rule: &Value, pod: &Value) -> Option<String> {
    let name = format!("{}/{}", meta::text(pod, "namespace").unwrap_or_default(), meta::name(pod));
    let codes = &rule["onExitCodes"];
    if codes.is_object() {
        let statuses = ["initContainerStatuses", "containerStatuses"];
        let statuses = statuses.iter().flat_map(|list| pod["status"][*list].as_array().into_iter().flatten());
        return statuses.into_iter().find_map(|status| {
            let code = status["state"]["terminated"]["exitCode"].as_i64().filter(|code| *code != 0)?;
            let of_container = codes["containerName"].is_null() || codes["containerName"] == status["name"];
            let listed =
                codes["values"].as_array().is_some_and(|values| values.iter().any(|value| *value == code));
            let container = status["name"].as_str().unwrap_or_default();
            (of_container && listed == (codes["operator"] == "In"))
                .then(|| format!("Container {container} for pod {name} failed with exit code {code}"))
        });
    }
    let patterns = rule["onPodConditions"].as_array().into_iter().flatten();
    patterns.into_iter().find_map(|pattern| {
        let status = pattern["status"].as_str().unwrap_or("True");
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .any(|condition| condition["type"] == pattern["type"] && condition["status"] == status)
            .then(|| format!("Pod {name} has condition {}", pattern["type"].as_str().unwrap_or_default()))
    })
}

/// The index of the first rule of the success policy that the completed indexes meet.
pub(super) fn met_success_rule(job: &Value, completed: &Indexes, completions: usize) -> Option<usize> {
    let rules = job["spec"]["successPolicy"]["rules"].as_array()?;
    rules.iter().position(|rule| {
        let indexes = &rule["succeededIndexes"];
        let among = indexes.is_string().then(|| Indexes::parse(indexes, completions));
        let (of, done) = match &among {
            Some(among) => (among.len(), among.count_in(completed)),
            None => (completions, completed.len()),
        };
        let needed = rule["succeededCount"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(of);
        done >= needed
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_matching_rule_decides() {
        let rules = json!([
            {"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}},
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 42]}},
        ]);
        let job = json!({"spec": {"podFailurePolicy": {"rules": rules}}});
        let pod = |container: &str, code: i64, disrupted: bool| {
            let disrupted = if disrupted { "True" } else { "False" };
            json!({"metadata": {"name": "p", "namespace": "n"}, "status": {
                "conditions": [{"type": "DisruptionTarget", "status": disrupted}],
                "containerStatuses": [{"name": container, "state": {"terminated": {"exitCode": code}}}]}})
        };
        let failed = "Container c for pod n/p failed with exit code 42 matching FailJob rule at index 0";
        assert_eq!(judge(&job, &pod("c", 42, true)), Failure::FailsJob(failed.into()));
        assert_eq!(judge(&job, &pod("d", 42, true)), Failure::Ignored);
        assert_eq!(judge(&job, &pod("d", 7, false)), Failure::FailsIndex);
        assert_eq!(judge(&job, &pod("d", 1, false)), Failure::Counts);
        assert_eq!(judge(&job, &pod("d", 0, false)), Failure::Counts, "a success is no failure");
        assert_eq!(judge(&json!({"spec": {}}), &pod("c", 42, false)), Failure::Counts);
    }

    #[test]
    fn success_rules_count_completed_indexes() {
        let rules = json!([{"succeededIndexes": "0-2"}, {"succeededIndexes": "3,4", "succeededCount": 1}, {"succeededCount": 4}]);
        let job = json!({"spec": {"successPolicy": {"rules": rules}}});
        let met = |completed: &str| met_success_rule(&job, &Indexes::parse(&completed.into(), 10), 10);
        assert_eq!(["0,1", "0-2", "4", "0,1,5,6", "5"].map(met), [None, Some(0), Some(1), Some(2), None]);
    }
}
