//! Which kind has which rules.

use super::{
    Write, admission_policy, data, event, job, job_status, limit_range, pod, priority_class, resource_quota,
    role, role_binding, service, status, webhook_configuration, workload,
};
use crate::{crd, schema::ErrorList, strategy::WritePart};

type Rule = fn(&Write<'_>, &mut ErrorList);

/// Adds the errors of the rules of the kind, in their order.
pub(in crate::validation) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let rules = if write.part == WritePart::Status { of_status(write) } else { rules(write) };
    rules.iter().for_each(|rule| rule(write, errors));
}

fn of_status(write: &Write<'_>) -> &'static [Rule] {
    match write.endpoint.kind() {
        "ReplicationController" | "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            &[status::replicas]
        }
        "Pod" => &[pod::validate, status::pod],
        "PersistentVolumeClaim" => &[status::volume_claim],
        "Job" => &[job_status::validate],
        "Namespace" => &[status::namespace],
        "Node" => &[status::node],
        "ResourceQuota" => &[resource_quota::validate_status],
        "Service" | "Ingress" => &[status::balancer],
        "ResourceClaim" => &[status::claim],
        "CertificateSigningRequest" => &[status::certificate],
        "PodDisruptionBudget" | "ValidatingAdmissionPolicy" => &[status::conditions],
        _ => rules(write),
    }
}

fn rules(write: &Write<'_>) -> &'static [Rule] {
    match (write.endpoint.group(), write.endpoint.plural()) {
        ("", "pods") => &[pod::validate, pod::validate_new],
        ("", "podtemplates") => &[pod::validate_template],
        ("", "services") => &[service::validate],
        ("" | "events.k8s.io", "events") => &[event::validate],
        ("", "limitranges") => &[limit_range::validate],
        ("", "resourcequotas") => &[resource_quota::validate],
        ("", "configmaps" | "secrets") => &[data::validate],
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => &[workload::validate],
        ("batch", "jobs") => &[job::validate, job::validate_selector, job::validate_new],
        ("batch", "cronjobs") => &[job::validate_template],
        ("scheduling.k8s.io", "priorityclasses") => &[priority_class::validate],
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => &[role::validate],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => &[role_binding::validate],
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            &[|write, errors| errors.extend(crd::validate_definition(write.object, write.old))]
        }
        // A status of a policy does not compile its expressions again.
        ("admissionregistration.k8s.io", _) if write.part != WritePart::Main => &[],
        ("admissionregistration.k8s.io", plural) => match plural {
            "validatingadmissionpolicies" => &[admission_policy::validating],
            "validatingadmissionpolicybindings" => &[admission_policy::validating_binding],
            "mutatingadmissionpolicies" => &[admission_policy::mutating],
            "mutatingadmissionpolicybindings" => &[admission_policy::mutating_binding],
            _ => &[webhook_configuration::validate],
        },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{scheme::Scheme, validation::built_in};

    /// What `v1.37` answered to each, without the order.
    #[test]
    fn rules_of_the_pod_and_of_its_owner_judge_the_restart_policy() {
        let scheme = Scheme::with_built_in();
        let messages = |group: &str, plural: &str, object: &Value| {
            let endpoint = scheme.by_plural(group, plural).unwrap();
            let mut errors = ErrorList::default();
            built_in::validate(&Write { endpoint, part: WritePart::Main, object, old: None }, &mut errors);
            errors.retain(|error| error.field == "spec.template.spec.restartPolicy");
            errors.into_iter().map(|error| error.message).collect::<Vec<_>>()
        };
        let pod = json!({"restartPolicy": "Bad", "containers": [{"name": "c", "image": "i"}]});
        let object = json!({"spec": {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}});
        let refused = |supported: &str| format!("Unsupported value: \"Bad\": supported values: {supported}");
        for (group, plural, own) in
            [("apps", "deployments", "\"Always\""), ("batch", "jobs", "\"OnFailure\", \"Never\"")]
        {
            let of_pod = refused("\"Always\", \"OnFailure\", \"Never\"");
            assert_eq!(messages(group, plural, &object), [refused(own), of_pod], "{plural}");
        }
    }
}
