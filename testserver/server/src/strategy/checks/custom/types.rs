//! Which type has a rule.

use serde_json::Value;

use super::{autoscalers, certificates, cluster, network, pods, resources, volumes, workloads};
use crate::schema::FieldError;

/// A rule of a struct at a path.
type Rule = fn(&Value, &str, &mut Vec<FieldError>);

/// The rule of a type, if it has one.
pub(in super::super) fn of(owner: &str) -> Option<Rule> {
    let rule: Rule = match owner.strip_prefix("api.").unwrap_or(owner) {
        "core.v1.ResourceRequirements" => resources::resources,
        "core.v1.VolumeResourceRequirements" => resources::volume_resources,
        "core.v1.PersistentVolumeSpec" => volumes::persistent,
        "core.v1.PersistentVolumeClaimSpec" => volumes::claim,
        "core.v1.DownwardAPIVolumeSource" => volumes::downward,
        "core.v1.EndpointSubset" => network::endpoints,
        "core.v1.EndpointAddress" => network::endpoint,
        "storage.v1.StorageClass" => volumes::class,
        "networking.v1.IngressSpec" => network::ingress,
        "networking.v1.IngressRule" => network::ingress_rule,
        "networking.v1.HTTPIngressPath" => network::ingress_path,
        "networking.v1.IPBlock" => network::ip_block,
        "apps.v1.StatefulSetUpdateStrategy" => workloads::stateful_set_strategy,
        "apps.v1.DaemonSetUpdateStrategy" => workloads::daemon_set_strategy,
        "core.v1.EnvVar" => pods::variable,
        "core.v1.Toleration" => pods::toleration,
        "core.v1.NodeSelectorRequirement" | "apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement" => {
            pods::requirement
        }
        "core.v1.Container" => pods::container,
        "core.v1.PodSpec" => pods::pod,
        "core.v1.NodeSpec" => cluster::node,
        "core.v1.ServiceSpec" => network::service,
        "core.v1.PodTemplateSpec" => pods::template,
        "core.v1.PodAffinityTerm" => pods::affinity,
        "core.v1.EmptyDirVolumeSource" => resources::empty_dir,
        "storage.v1.VolumeAttachmentSource" => volumes::attachment,
        "core.v1.SecretReference" => volumes::secret_reference,
        "core.v1.ProjectedVolumeSource" => volumes::projected,
        "core.v1.ClusterTrustBundleProjection" => certificates::trust_bundle,
        "core.v1.PodCertificateProjection" => certificates::pod_certificate,
        "networking.v1.IngressBackend" => network::backend,
        "networking.v1.NetworkPolicyPeer" => network::peer,
        "networking.v1.NetworkPolicyPort" => network::policy_port,
        "policy.v1.PodDisruptionBudgetSpec" => workloads::budget,
        "apps.v1.DeploymentSpec" => workloads::deployment,
        "apps.v1.ReplicaSetSpec" | "apps.v1.DaemonSetSpec" => workloads::selector,
        "apps.v1.StatefulSetSpec" => workloads::stateful_set,
        "apps.v1.RollingUpdateDeployment" => workloads::rolling_deployment,
        "apps.v1.RollingUpdateDaemonSet" => workloads::rolling_daemon_set,
        "autoscaling.v2.HorizontalPodAutoscalerSpec" | "autoscaling.v1.HorizontalPodAutoscalerSpec" => {
            autoscalers::autoscaler
        }
        "autoscaling.v2.MetricSpec" => autoscalers::metric,
        "certificates.v1.ClusterTrustBundleSpec" => certificates::bundle,
        "certificates.v1.CertificateSigningRequestSpec" => certificates::signing_request,
        _ => return None,
    };
    Some(rule)
}
