//! The order in which objects are written, by kind: what others need comes first. They are deleted in reverse.

/// The position of a kind in the order of installation; kinds of equal position may be written at the same time. Deletion is in reverse.
///
/// It is the order of Helm and kustomize (namespaces, CRDs, what pods use, workloads, what is in front of them), by group and kind, so that
/// a custom resource of the same name is not meant. Kinds that are not listed, custom resources above all, come after those that may serve
/// them. Admission webhooks and policies come last: they could refuse what serves them.
///
/// ```
/// use kube_tools::kind_order::position;
///
/// assert!(position("", "ConfigMap") < position("apps", "Deployment"));
/// assert!(position("apps", "Deployment") < position("example.com", "Page"));
/// ```
#[must_use]
pub fn position(group: &str, kind: &str) -> usize {
    let rank = FIRST.iter().position(|kinds| kinds.contains(&(group, kind)));
    rank.unwrap_or(if LAST.contains(&(group, kind)) { FIRST.len() + 1 } else { FIRST.len() })
}

/// Whether it is a CRD.
pub(crate) fn is_crd(group: &str, kind: &str) -> bool {
    (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")
}

const FIRST: &[&[(&str, &str)]] = &[
    &[("", "Namespace")],
    &[("apiextensions.k8s.io", "CustomResourceDefinition")],
    &[
        ("scheduling.k8s.io", "PriorityClass"),
        ("node.k8s.io", "RuntimeClass"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttributesClass"),
        ("storage.k8s.io", "CSIDriver"),
        ("networking.k8s.io", "IngressClass"),
    ],
    // Limits count what is written after them.
    &[("", "ResourceQuota"), ("", "LimitRange"), ("networking.k8s.io", "NetworkPolicy")],
    &[("policy", "PodDisruptionBudget"), ("", "ServiceAccount")],
    // The Secret of a token needs its ServiceAccount.
    &[("", "Secret"), ("", "ConfigMap")],
    &[("", "PersistentVolume")],
    &[("", "PersistentVolumeClaim")],
    &[("rbac.authorization.k8s.io", "ClusterRole"), ("rbac.authorization.k8s.io", "Role")],
    &[("rbac.authorization.k8s.io", "ClusterRoleBinding"), ("rbac.authorization.k8s.io", "RoleBinding")],
    // Pods get the addresses of services that exist when they start.
    &[("", "Service"), ("", "Endpoints"), ("discovery.k8s.io", "EndpointSlice")],
    &[
        ("apps", "DaemonSet"),
        ("", "Pod"),
        ("", "ReplicationController"),
        ("apps", "ReplicaSet"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
    ],
    &[("autoscaling", "HorizontalPodAutoscaler"), ("batch", "Job"), ("batch", "CronJob")],
    &[("networking.k8s.io", "Ingress"), ("apiregistration.k8s.io", "APIService")],
];

const LAST: &[(&str, &str)] = &[
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_need_comes_first() {
        let order = [
            ("", "Namespace"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            ("storage.k8s.io", "StorageClass"),
            ("", "LimitRange"),
            ("", "ServiceAccount"),
            ("", "Secret"),
            ("", "PersistentVolume"),
            ("", "PersistentVolumeClaim"),
            ("rbac.authorization.k8s.io", "ClusterRole"),
            ("rbac.authorization.k8s.io", "RoleBinding"),
            ("", "Service"),
            ("apps", "Deployment"),
            ("autoscaling", "HorizontalPodAutoscaler"),
            ("networking.k8s.io", "Ingress"),
            ("example.com", "Gadget"),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ];
        let positions: Vec<_> = order.iter().map(|(group, kind)| position(group, kind)).collect();
        assert!(positions.is_sorted_by(|before, after| before < after), "{positions:?}");
    }

    #[test]
    fn a_custom_resource_with_the_name_of_a_built_in_kind_comes_after_its_crd() {
        assert_eq!(position("serving.knative.dev", "Service"), position("example.com", "Gadget"));
        assert_eq!(position("example.com", "Namespace"), position("example.com", "Gadget"));
    }

    #[test]
    fn no_kind_is_listed_twice() {
        let listed: Vec<_> = FIRST.iter().flat_map(|kinds| kinds.iter()).chain(LAST).collect();
        let unique: std::collections::HashSet<_> = listed.iter().collect();
        assert_eq!(listed.len(), unique.len());
    }
}
