//! A Deployment, a Service and an autoscaler with `apply!`.
use k8s_openapi::api::{
    apps::v1::Deployment,
    autoscaling::v2::HorizontalPodAutoscaler,
    core::v1::{Probe, Service},
};
use kube::{Sparse, apply};

use crate::Web;

fn probe(path: &str) -> Sparse<Probe> {
    apply!(Probe { http_get: { path, port: "http" }, period_seconds: 5 })
}

pub fn deployment(web: &Web) -> Sparse<Deployment> {
    let name = &web.name;
    apply!(Deployment {
        metadata: { name, labels: { "app": name } },
        spec: {
            replicas: web.replicas,
            selector: { match_labels: { "app": name } },
            template: {
                metadata: { labels: { "app": name } },
                spec: { containers: [{
                    name: "web",
                    image: format!("registry.example.com/{}", web.image),
                    if web.debug { args: ["--verbose"] }
                    ports: [{ name: "http", container_port: 8080 }],
                    env: [{ name: "RUST_LOG", value: "info" }, for (name, value) in &web.env { name, value }],
                    resources: { limits: { "cpu": "500m", "memory": "128Mi" } },
                    readiness_probe: probe("/healthz"),
                }] },
            },
        },
    })
}

pub fn service(web: &Web) -> Sparse<Service> {
    let name = &web.name;
    apply!(Service {
        metadata: { name },
        spec: { selector: { "app": name }, ports: [{ name: "http", port: 80, target_port: "http" }] },
    })
}

pub fn autoscaler(web: &Web) -> Sparse<HorizontalPodAutoscaler> {
    let name = &web.name;
    apply!(HorizontalPodAutoscaler {
        metadata: { name },
        spec: {
            scale_target_ref: { api_version: "apps/v1", kind: "Deployment", name },
            min_replicas: 2,
            max_replicas: 10,
            metrics: [{ type_: "Resource", resource: { name: "cpu", target: { type_: "Utilization", average_utilization: 70 } } }],
        },
    })
}
