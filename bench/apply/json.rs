//! A Deployment, a Service and an autoscaler with `json!`.
use serde_json::{Value, json};

use crate::Web;

fn probe(path: &str) -> Value {
    json!({ "httpGet": { "path": path, "port": "http" }, "periodSeconds": 5 })
}

pub fn deployment(web: &Web) -> Value {
    let name = &web.name;
    let mut env = vec![json!({ "name": "RUST_LOG", "value": "info" })];
    env.extend(web.env.iter().map(|(name, value)| json!({ "name": name, "value": value })));
    let mut container = json!({
        "name": "web",
        "image": format!("registry.example.com/{}", web.image),
        "ports": [{ "name": "http", "containerPort": 8080 }],
        "env": env,
        "resources": { "limits": { "cpu": "500m", "memory": "128Mi" } },
        "readinessProbe": probe("/healthz"),
    });
    if web.debug {
        container["args"] = json!(["--verbose"]);
    }
    let mut spec = json!({
        "selector": { "matchLabels": { "app": name } },
        "template": {
            "metadata": { "labels": { "app": name } },
            "spec": { "containers": [container] },
        },
    });
    if let Some(replicas) = web.replicas {
        spec["replicas"] = json!(replicas);
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": spec,
    })
}

pub fn service(web: &Web) -> Value {
    let name = &web.name;
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name },
        "spec": { "selector": { "app": name }, "ports": [{ "name": "http", "port": 80, "targetPort": "http" }] },
    })
}

pub fn autoscaler(web: &Web) -> Value {
    let name = &web.name;
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": name },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": name },
            "minReplicas": 2,
            "maxReplicas": 10,
            "metrics": [{
                "type": "Resource",
                "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 70 } },
            }],
        },
    })
}
