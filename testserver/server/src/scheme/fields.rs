//! Fields of built-in kinds that lists can be selected by, and paths of replica counts.

use crate::object::selector::FieldSource;

/// Paths of the replica counts in an object, such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    pub(crate) spec: String,
    pub(crate) status: String,
    pub(crate) selector: Option<String>,
}

/// Selectable fields of built-in kinds, besides name and namespace.
pub(super) fn selectable(group: &str, plural: &str) -> impl Iterator<Item = &'static str> {
    let fields = match (group, plural) {
        ("", "pods") => {
            "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork \
             status.phase status.podIP status.podIPs status.nominatedNodeName"
        }
        ("", "events") => {
            "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid \
             involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason \
             reportingComponent source type"
        }
        ("events.k8s.io", "events") => {
            "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion \
             regarding.resourceVersion regarding.fieldPath reason reportingController type"
        }
        ("", "secrets") => "type",
        ("", "namespaces") => "status.phase",
        ("", "nodes") => "spec.unschedulable",
        ("", "services") => "spec.clusterIP spec.type",
        ("", "replicationcontrollers") => "status.replicas",
        ("batch", "jobs") => "status.successful",
        ("certificates.k8s.io", "certificatesigningrequests") => "spec.signerName",
        ("certificates.k8s.io", "clustertrustbundles") => "spec.signerName",
        ("resource.k8s.io", "resourceslices") => "spec.nodeName spec.driver",
        _ => "",
    };
    fields.split_whitespace()
}

/// Where the value of a selectable field of a built-in kind comes from, if it has another path or a value when it is absent.
pub(super) fn source(group: &str, plural: &str, field: &str) -> Option<FieldSource> {
    let (paths, default): (&'static [&'static str], _) = match (group, plural, field) {
        ("", "pods", "spec.schedulerName") => (&["spec.schedulerName"], "default-scheduler"),
        ("", "pods", "spec.hostNetwork") => (&["spec.hostNetwork"], "false"),
        ("", "nodes", "spec.unschedulable") => (&["spec.unschedulable"], "false"),
        ("", "replicationcontrollers", "status.replicas") => (&["status.replicas"], "0"),
        ("", "events", "source") => (&["source.component", "reportingComponent"], ""),
        ("batch", "jobs", "status.successful") => (&["status.succeeded"], "0"),
        _ => return None,
    };
    Some(FieldSource { paths, default })
}

/// Paths of the `scale` subresource of built-in kinds.
pub(super) fn scale_paths(group: &str, plural: &str) -> Option<ScalePaths> {
    matches!(
        (group, plural),
        ("", "replicationcontrollers") | ("apps", "deployments" | "replicasets" | "statefulsets")
    )
    .then(|| ScalePaths {
        spec: ".spec.replicas".into(),
        status: ".status.replicas".into(),
        selector: Some(".spec.selector".into()),
    })
}
