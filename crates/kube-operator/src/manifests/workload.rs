//! What runs: Service, Deployment, and what protects them.

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
        core::v1::{
            Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, HTTPGetAction, ObjectFieldSelector,
            PodSecurityContext, PodSpec, PodTemplateSpec, Probe, SeccompProfile, SecretVolumeSource,
            SecurityContext, Service, ServicePort, ServiceSpec, TopologySpreadConstraint, Volume,
            VolumeMount,
        },
        policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec},
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};
use kube_core::ObjectMeta;

use super::{
    error::ManifestsError,
    placement::{Objects, Placement, labels, metadata},
    registration::{self, SERVICE_PORT},
    settings::Manifests,
};
use crate::{manager::WebhookFacts, webhook::certificates::CertificateNeeds};

/// That of distroless images: `nonroot`.
const USER: i64 = 65532;
/// More than the program takes to stop, so that it is not killed meanwhile.
const GRACE_PERIOD_MARGIN: u64 = 5;
const CERTIFICATE: &str = "certificate";

pub(super) fn workload(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    let ports = ports(manifests)?;
    if !ports.is_empty() {
        objects.add(&Service {
            metadata: metadata(manifests, placement),
            spec: Some(ServiceSpec {
                ports: Some(ports.iter().map(Port::of_service).collect()),
                selector: Some(labels(manifests)),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        })?;
    }
    objects.add(&deployment(manifests, placement, &ports)?)?;
    if manifests.facts.has_replicas {
        objects.add(&PodDisruptionBudget {
            metadata: metadata(manifests, placement),
            spec: Some(PodDisruptionBudgetSpec {
                max_unavailable: Some(IntOrString::Int(1)),
                selector: Some(selector(manifests)),
                ..PodDisruptionBudgetSpec::default()
            }),
            ..PodDisruptionBudget::default()
        })?;
    }
    Ok(())
}

/// A port of the program.
pub(super) struct Port {
    pub(super) name: &'static str,
    number: u16,
    of_service: u16,
}

impl Port {
    fn of_service(&self) -> ServicePort {
        ServicePort {
            name: Some(self.name.into()),
            port: self.of_service.into(),
            target_port: Some(IntOrString::String(self.name.into())),
            ..ServicePort::default()
        }
    }
}

pub(super) fn ports(manifests: &Manifests) -> Result<Vec<Port>, ManifestsError> {
    let webhooks = manifests.facts.webhooks.as_ref().map(|webhooks| webhooks.port);
    let metrics = manifests.facts.metrics;
    let ports = [
        webhooks.map(|number| Port { name: "webhook", number, of_service: SERVICE_PORT }),
        metrics.map(|number| Port { name: "http", number, of_service: number }),
    ];
    let ports: Vec<_> = ports.into_iter().flatten().collect();
    if let Some(port) = ports.iter().find(|port| port.number == 0) {
        let what = format!("the manager serves {} at port 0, which is any free one", port.name);
        return Err(ManifestsError::inconsistent(what, "expected a fixed port, such as 8080 or 9443"));
    }
    if let [first, second] = &ports[..]
        && (first.number == second.number || first.of_service == second.of_service)
    {
        let what = format!("the manager serves {} and {} at port {}", first.name, second.name, second.number);
        let expected = format!("expected different ports, and {SERVICE_PORT} for the webhooks only");
        return Err(ManifestsError::inconsistent(what, expected));
    }
    Ok(ports)
}

fn replicas(manifests: &Manifests) -> Result<i32, ManifestsError> {
    let has_replicas = manifests.facts.has_replicas;
    let replicas = manifests.replicas.unwrap_or(if has_replicas { 2 } else { 1 });
    if replicas < 0 {
        return Err(ManifestsError::inconsistent(format!("{replicas} replicas"), "expected 0 or more"));
    }
    if replicas > 1 && !has_replicas {
        let expected = "expected a manager with leader_election or sharding: all of them would write";
        return Err(ManifestsError::inconsistent(format!("{replicas} replicas"), expected));
    }
    Ok(replicas)
}

fn deployment(
    manifests: &Manifests,
    placement: &Placement,
    ports: &[Port],
) -> Result<Deployment, ManifestsError> {
    let volumes = volumes(manifests)?;
    let mounts = volumes.iter().map(|(_, mount)| mount.clone()).collect::<Vec<_>>();
    let volumes = volumes.into_iter().map(|(volume, _)| volume).collect::<Vec<_>>();
    let spread = TopologySpreadConstraint {
        label_selector: Some(selector(manifests)),
        max_skew: 1,
        topology_key: "kubernetes.io/hostname".into(),
        when_unsatisfiable: "ScheduleAnyway".into(),
        ..TopologySpreadConstraint::default()
    };
    let grace_period = manifests.facts.grace_period.as_secs().saturating_add(GRACE_PERIOD_MARGIN);
    let spec = PodSpec {
        containers: vec![container(manifests, placement, ports, mounts)],
        security_context: Some(PodSecurityContext {
            run_as_group: Some(USER),
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".into(), ..Default::default() }),
            ..PodSecurityContext::default()
        }),
        service_account_name: Some(manifests.name.clone()),
        termination_grace_period_seconds: Some(i64::try_from(grace_period).unwrap_or(i64::MAX).max(30)),
        topology_spread_constraints: Some(vec![spread]),
        volumes: some(volumes),
        ..PodSpec::default()
    };
    // Two that do not know of each other must not run beside each other, not even during an update.
    let strategy = (!manifests.facts.has_replicas)
        .then(|| DeploymentStrategy { type_: Some("Recreate".into()), ..DeploymentStrategy::default() });
    Ok(Deployment {
        metadata: metadata(manifests, placement),
        spec: DeploymentSpec {
            replicas: Some(replicas(manifests)?),
            selector: selector(manifests),
            strategy,
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels(manifests)), ..ObjectMeta::default() }),
                spec: Some(spec),
            },
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    })
}

fn container(
    manifests: &Manifests,
    placement: &Placement,
    ports: &[Port],
    mounts: Vec<VolumeMount>,
) -> Container {
    let probed = manifests.facts.metrics.is_some();
    Container {
        name: "operator".into(),
        image: Some(manifests.image.clone()),
        args: some(manifests.args.clone()),
        env: Some(environment(manifests, placement)),
        ports: some(ports.iter().map(container_port).collect()),
        // A large cache takes minutes to fill. After that, only a controller without progress is restarted.
        startup_probe: probed.then(|| probe("/livez", 5, 60)),
        liveness_probe: probed.then(|| probe("/livez", 20, 3)),
        readiness_probe: probed.then(|| probe("/readyz", 5, 3)),
        resources: Some(manifests.resources.clone()),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), ..Capabilities::default() }),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        volume_mounts: some(mounts),
        ..Container::default()
    }
}

/// The certificate that is served from files, and folders to write to.
fn volumes(manifests: &Manifests) -> Result<Vec<(Volume, VolumeMount)>, ManifestsError> {
    let mut all: Vec<_> = certificate_volume(manifests)?.into_iter().collect();
    for (number, path) in manifests.empty_dirs.iter().enumerate() {
        let invalid = |expected| ManifestsError::inconsistent(format!("empty_dir({path:?})"), expected);
        if !path.starts_with('/') || path.trim_end_matches('/').is_empty() || path.contains(':') {
            return Err(invalid("expected an absolute path of a folder, without a colon, such as /tmp"));
        }
        if all.iter().any(|(_, mount)| is_within(path, &mount.mount_path)) {
            return Err(invalid("expected a folder that is not mounted yet"));
        }
        let name = format!("empty-dir-{number}");
        let volume = Volume { name: name.clone(), empty_dir: Some(Default::default()), ..Volume::default() };
        all.push((volume, VolumeMount { name, mount_path: path.clone(), ..VolumeMount::default() }));
    }
    Ok(all)
}

fn is_within(path: &str, folder: &str) -> bool {
    let (path, folder) = (path.trim_end_matches('/'), folder.trim_end_matches('/'));
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn certificate_volume(manifests: &Manifests) -> Result<Option<(Volume, VolumeMount)>, ManifestsError> {
    let Some(WebhookFacts { certificates: CertificateNeeds::Files { certificate, key }, .. }) =
        &manifests.facts.webhooks
    else {
        return Ok(None);
    };
    let volume = Volume {
        name: CERTIFICATE.into(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(registration::certificate_secret(manifests)),
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    };
    let mount = VolumeMount {
        name: CERTIFICATE.into(),
        mount_path: registration::certificate_folder(certificate, key)?.into(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    Ok(Some((volume, mount)))
}

fn environment(manifests: &Manifests, placement: &Placement) -> Vec<EnvVar> {
    let field = ObjectFieldSelector { field_path: "metadata.name".into(), ..Default::default() };
    let pod_name = EnvVar {
        name: "POD_NAME".into(),
        value_from: Some(EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() }),
        ..EnvVar::default()
    };
    let value = |name: &str, value: &str| EnvVar {
        name: name.into(),
        value: Some(value.into()),
        ..EnvVar::default()
    };
    // The identity in the Lease, unless the program names another.
    let given = |name: &str| manifests.env.contains_key(name);
    let mut all: Vec<_> = (!given("POD_NAME")).then_some(pod_name).into_iter().collect();
    if !placement.watched.is_empty() && !given("WATCH_NAMESPACES") {
        all.push(value("WATCH_NAMESPACES", &placement.watched_text));
    }
    all.extend(manifests.env.iter().map(|(name, text)| value(name, text)));
    all
}

fn container_port(port: &Port) -> ContainerPort {
    ContainerPort {
        name: Some(port.name.into()),
        container_port: port.number.into(),
        ..ContainerPort::default()
    }
}

fn probe(path: &str, period_seconds: i32, failure_threshold: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.into()),
            port: IntOrString::String("http".into()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period_seconds),
        timeout_seconds: Some(5),
        failure_threshold: Some(failure_threshold),
        ..Probe::default()
    }
}

pub(super) fn selector(manifests: &Manifests) -> LabelSelector {
    LabelSelector { match_labels: Some(labels(manifests)), ..LabelSelector::default() }
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}
