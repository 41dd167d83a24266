//! Which type has a rule.

use serde_json::Value;

use super::{
    autoscalers, certificates, claims, cluster, containers, disks, jobs, network, pods, projections,
    resources, scheduling, security, volumes, workloads,
};
use crate::schema::FieldError;

/// A rule of a struct at a path.
type Rule = fn(&Value, &str, &mut Vec<FieldError>);

/// The rule of a type, if it has one.
pub(in super::super) fn of(owner: &str) -> Option<Rule> {
    let rule: Rule = match owner.strip_prefix("api.").unwrap_or(owner) {
        "core.v1.ResourceRequirements" => resources::resources,
        "core.v1.VolumeResourceRequirements" => resources::volume_resources,
        "core.v1.PersistentVolumeSpec" => volumes::persistent,
        "core.v1.PersistentVolumeClaimSpec" => claims::spec,
        "core.v1.PersistentVolumeClaimTemplate" => claims::template,
        "core.v1.DownwardAPIVolumeSource" | "core.v1.DownwardAPIProjection" => projections::downward,
        "core.v1.ProjectedVolumeSource" => projections::projected,
        "core.v1.ClusterTrustBundleProjection" => projections::trust_bundle,
        "core.v1.PodCertificateProjection" => projections::certificate,
        "core.v1.ISCSIVolumeSource" => disks::iscsi,
        "core.v1.ISCSIPersistentVolumeSource" => disks::persistent_iscsi,
        "core.v1.FCVolumeSource" => disks::fibre_channel,
        "core.v1.FlockerVolumeSource" => disks::flocker,
        "core.v1.GCEPersistentDiskVolumeSource" => disks::google,
        "core.v1.AzureDiskVolumeSource" => disks::azure,
        "core.v1.StorageOSVolumeSource" | "core.v1.StorageOSPersistentVolumeSource" => disks::storage_os,
        "core.v1.CinderVolumeSource" => disks::cinder,
        "core.v1.CSIVolumeSource" => disks::driver,
        "core.v1.EndpointSubset" => network::endpoints,
        "core.v1.EndpointAddress" => network::endpoint,
        "storage.v1.StorageClass" => volumes::class,
        "networking.v1.IngressSpec" => network::ingress,
        "networking.v1.IngressRule" => network::ingress_rule,
        "networking.v1.HTTPIngressPath" => network::ingress_path,
        "networking.v1.IPBlock" => network::ip_block,
        "apps.v1.RollingUpdateStatefulSetStrategy" => workloads::stateful_set_rollout,
        "apps.v1.StatefulSetUpdateStrategy" => workloads::stateful_set_strategy,
        "apps.v1.DaemonSetUpdateStrategy" => workloads::daemon_set_strategy,
        "core.v1.EnvVar" => containers::variable,
        "core.v1.EnvVarSource" => containers::source,
        "core.v1.HTTPGetAction" => containers::request,
        "core.v1.Container" => containers::container,
        "core.v1.EphemeralContainer" => containers::ephemeral_container,
        "core.v1.SeccompProfile" => security::seccomp,
        "core.v1.AppArmorProfile" => security::app_armor,
        "core.v1.WindowsSecurityContextOptions" => security::windows,
        "core.v1.SecurityContext" => security::context,
        "core.v1.Toleration" => scheduling::toleration,
        "core.v1.NodeSelectorRequirement" => scheduling::node_requirement,
        "apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement" => scheduling::requirement,
        "core.v1.PodAffinityTerm" => scheduling::affinity,
        "core.v1.TopologySpreadConstraint" => scheduling::spread,
        "core.v1.PodResourceClaim" => pods::claim,
        "core.v1.PodSpec" => pods::pod,
        "core.v1.NodeSpec" => cluster::node,
        "core.v1.ServiceSpec" => network::service,
        "core.v1.PodTemplateSpec" => pods::template,
        "core.v1.EmptyDirVolumeSource" => resources::empty_dir,
        "storage.v1.VolumeAttachmentSource" => volumes::attachment,
        "core.v1.SecretReference" => volumes::secret_reference,
        "networking.v1.IngressBackend" => network::backend,
        "networking.v1.NetworkPolicyPeer" => network::peer,
        "networking.v1.NetworkPolicyPort" => network::policy_port,
        "policy.v1.PodDisruptionBudgetSpec" => workloads::budget,
        "apps.v1.DeploymentSpec" => workloads::deployment,
        "apps.v1.ReplicaSetSpec" => workloads::replica_set,
        "apps.v1.DaemonSetSpec" => workloads::daemon_set,
        "batch.v1.JobSpec" => jobs::job,
        "batch.v1.JobTemplateSpec" => jobs::template,
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
