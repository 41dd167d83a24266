//! A Deployment, a Service and an autoscaler with k8s-openapi's types.
use k8s_openapi::api::{apps::v1::*, autoscaling::v2::*, core::v1::*};
use k8s_openapi::apimachinery::pkg::{
    api::resource::Quantity,
    apis::meta::v1::{LabelSelector, ObjectMeta},
    util::intstr::IntOrString,
};

use crate::Web;

fn probe(path: &str) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("http".into()),
            ..Default::default()
        }),
        period_seconds: Some(5),
        ..Default::default()
    }
}
pub fn deployment(web: &Web) -> Deployment {
    let labels = || Some([("app".to_owned(), web.name.clone())].into());
    let own = [EnvVar { name: "RUST_LOG".into(), value: Some("info".into()), ..Default::default() }];
    let more = web.env.iter().map(|(name, value)| EnvVar {
        name: name.clone(),
        value: Some(value.clone()),
        ..Default::default()
    });
    Deployment {
        metadata: ObjectMeta { name: Some(web.name.clone()), labels: labels(), ..Default::default() },
        spec: DeploymentSpec {
            replicas: web.replicas,
            selector: LabelSelector { match_labels: labels(), ..Default::default() },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: labels(), ..Default::default() }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "web".into(),
                        image: Some(format!("registry.example.com/{}", web.image)),
                        args: web.debug.then(|| vec!["--verbose".into()]),
                        ports: Some(vec![ContainerPort {
                            name: Some("http".into()),
                            container_port: 8080,
                            ..Default::default()
                        }]),
                        env: Some(own.into_iter().chain(more).collect()),
                        resources: Some(ResourceRequirements {
                            limits: Some(
                                [
                                    ("cpu".into(), Quantity("500m".into())),
                                    ("memory".into(), Quantity("128Mi".into())),
                                ]
                                .into(),
                            ),
                            ..Default::default()
                        }),
                        readiness_probe: Some(probe("/healthz")),
                        ..Default::default()
                    }],
                    ..Default::default()
                }),
                ..Default::default()
            },
            ..Default::default()
        },
        ..Default::default()
    }
}
pub fn service(web: &Web) -> Service {
    Service {
        metadata: ObjectMeta { name: Some(web.name.clone()), ..Default::default() },
        spec: Some(ServiceSpec {
            selector: Some([("app".to_owned(), web.name.clone())].into()),
            ports: Some(vec![ServicePort {
                name: Some("http".into()),
                port: 80,
                target_port: Some(IntOrString::String("http".into())),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    }
}
pub fn autoscaler(web: &Web) -> HorizontalPodAutoscaler {
    HorizontalPodAutoscaler {
        metadata: ObjectMeta { name: Some(web.name.clone()), ..Default::default() },
        spec: HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".into()),
                kind: "Deployment".into(),
                name: web.name.clone(),
            },
            min_replicas: Some(2),
            max_replicas: 10,
            metrics: Some(vec![MetricSpec {
                type_: "Resource".into(),
                resource: Some(ResourceMetricSource {
                    name: "cpu".into(),
                    target: MetricTarget {
                        type_: "Utilization".into(),
                        average_utilization: Some(70),
                        ..Default::default()
                    },
                }),
                ..Default::default()
            }]),
            ..Default::default()
        },
        ..Default::default()
    }
}
