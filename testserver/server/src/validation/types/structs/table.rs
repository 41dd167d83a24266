//! Which type has a rule.

use serde_json::Value;

use super::{
    autoscalers, certificates, claims, cluster, containers, devices, disks, flow, jobs, network, pods,
    projections, resources, scheduling, security, services, slices, storage, workloads,
};
use crate::{schema::ErrorList, validation::selectors};

/// A rule of a struct at a path.
type Rule = fn(&Value, &str, &mut ErrorList);

/// The rule of a type, if it has one.
#[expect(clippy::too_many_lines, reason = "a table: one row for each type")]
pub(in super::super) fn of(owner: &str) -> Option<Rule> {
    let rule: Rule = match owner.strip_prefix("api.").unwrap_or(owner) {
        "core.v1.ResourceRequirements" => resources::resources,
        "core.v1.VolumeResourceRequirements" => resources::volume_resources,
        "core.v1.PersistentVolumeSpec" => storage::persistent,
        "core.v1.PersistentVolumeClaimSpec" => storage::claim,
        "core.v1.PersistentVolumeClaimTemplate" => claims::template,
        "core.v1.DownwardAPIVolumeSource" | "core.v1.DownwardAPIProjection" => projections::downward,
        "core.v1.ProjectedVolumeSource" => projections::projected,
        "core.v1.ClusterTrustBundleProjection" => projections::trust_bundle,
        "core.v1.PodCertificateProjection" => projections::certificate,
        "core.v1.GCEPersistentDiskVolumeSource" => disks::google,
        "core.v1.StorageOSVolumeSource" => disks::storage_os,
        "core.v1.CinderVolumeSource" => disks::cinder,
        "core.v1.CSIVolumeSource" => disks::driver,
        "core.v1.EndpointSubset" => network::endpoints,
        "core.v1.EndpointAddress" => network::endpoint,
        "storage.v1.StorageClass" => storage::class,
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
        "core.v1.ServiceSpec" => services::service,
        "core.v1.PodTemplateSpec" => pods::template,
        "core.v1.EmptyDirVolumeSource" => resources::empty_dir,
        "storage.v1.VolumeAttachmentSource" => storage::attachment,
        "core.v1.SecretReference" => storage::secret_reference,
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
        "core.v1.ISCSIPersistentVolumeSource" | "core.v1.ISCSIVolumeSource" => disks::iscsi,
        "core.v1.FCVolumeSource" => disks::fibre_channel,
        "core.v1.FlockerVolumeSource" => disks::flocker,
        "core.v1.StorageOSPersistentVolumeSource" => disks::persistent_storage_os,
        "core.v1.AzureDiskVolumeSource" => disks::azure,
        "core.v1.QuobyteVolumeSource" => disks::quobyte,
        "discovery.v1.EndpointSlice" => network::slice,
        "networking.v1.ServiceCIDRSpec" => network::service_range,
        "networking.v1.IngressClassParametersReference" => network::class_parameters,
        "node.v1.Overhead" => cluster::overhead,
        "kube-aggregator.pkg.apis.apiregistration.v1.APIService" => cluster::api_service,
        "storage.v1.CSIDriverSpec" => storage::driver,
        "storage.v1.CSINodeDriver" => storage::node_driver,
        "storage.v1.VolumeAttributesClass" => storage::attributes_class,
        "flowcontrol.v1.FlowSchema" => flow::schema,
        "flowcontrol.v1.PolicyRulesWithSubjects" => flow::rules,
        "flowcontrol.v1.Subject" => flow::subject,
        "flowcontrol.v1.ResourcePolicyRule" => flow::resource_rule,
        "flowcontrol.v1.NonResourcePolicyRule" => flow::other_rule,
        "flowcontrol.v1.PriorityLevelConfiguration" => flow::level,
        "flowcontrol.v1.LimitedPriorityLevelConfiguration" => flow::limited,
        "flowcontrol.v1.ExemptPriorityLevelConfiguration" => flow::shares,
        "flowcontrol.v1.LimitResponse" => flow::response,
        "flowcontrol.v1.QueuingConfiguration" => flow::queues,
        "resource.v1.DeviceClaim" => devices::claim,
        "resource.v1.DeviceRequest" => devices::request,
        "resource.v1.ExactDeviceRequest" | "resource.v1.DeviceSubRequest" => devices::amount,
        "resource.v1.DeviceConstraint" => devices::constraint,
        "resource.v1.DeviceToleration" => devices::toleration,
        "resource.v1.OpaqueDeviceConfiguration" => devices::opaque,
        "resource.v1.CELDeviceSelector" => devices::expression,
        "resource.v1.ResourceClaimTemplateSpec" => claims::device_template,
        "resource.v1.ResourceSliceSpec" => slices::slice,
        "resource.v1.Device" => slices::device,
        "resource.v1.DeviceAttribute" => slices::attribute,
        _ => return None,
    };
    Some(rule)
}

/// Whether members that the rule of a type forbids are judged nevertheless.
pub(in super::super) fn judges_forbidden(owner: &str) -> bool {
    owner == "api.autoscaling.v2.MetricSpec"
}

/// The members that are not judged: the pods of a workload whose selector is invalid, and what ephemeral containers cannot have.
pub(in super::super) fn unjudged(owner: &str, value: &Value) -> &'static [&'static str] {
    match owner {
        "api.core.v1.EphemeralContainer" => &["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"],
        "api.apps.v1.DeploymentSpec" | "api.apps.v1.ReplicaSetSpec" | "api.apps.v1.StatefulSetSpec"
            if !selectors::is_valid(&value["selector"]) =>
        {
            &["template"]
        }
        _ => &[],
    }
}
