//! What the manifests of a program say about running it, and which of their objects a server without pods gets.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, ServiceAccount};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_core::{DynamicObject, Resource as _};
use serde_json::{Value, json};

/// An operator as its manifests deploy it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deployed {
    /// Its namespace and the name of its ServiceAccount.
    pub(super) namespace: String,
    pub(super) account: String,
    /// Its arguments and its environment in the cluster.
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    /// The port of metrics, health and the debug page.
    pub(super) debug_port: Option<i32>,
    /// What the server gets.
    pub(super) objects: Vec<Value>,
    /// What it does not get, though the operator needs it.
    pub(super) left_out: Vec<String>,
}

impl Deployed {
    /// Reads the objects of `install.yaml`.
    ///
    /// The operator runs beside the server, so the server gets no Deployment, and a Service that leads to this machine.
    pub(super) fn read<'a>(objects: impl IntoIterator<Item = &'a DynamicObject>) -> Result<Self> {
        let mut all = Vec::new();
        for object in objects {
            all.push(serde_json::to_value(object)?);
        }
        let deployment =
            match all.iter().filter(|object| object["kind"] == "Deployment").collect::<Vec<_>>()[..] {
                [one] => one.clone(),
                ref several => bail!("install.yaml: expected one Deployment, found {}", several.len()),
            };
        let deployment: Deployment = serde_json::from_value(deployment).context("the Deployment")?;
        let namespace = deployment.meta().namespace.clone().context("the Deployment has no namespace")?;
        let pod = deployment.spec.template.spec.context("the Deployment has no pod template")?;
        let account = pod.service_account_name.context("the Deployment has no ServiceAccount")?;
        let container = pod.containers.into_iter().next().context("the Deployment has no container")?;
        let mut deployed = Self {
            debug_port: port(&container, "http"),
            arguments: container.args.clone().unwrap_or_default(),
            environment: environment(&container, &account),
            namespace,
            account,
            objects: Vec::new(),
            left_out: Vec::new(),
        };
        for object in all {
            deployed.add(object, &container);
        }
        let is_account = |object: &Value| {
            object["kind"] == ServiceAccount::kind(&()).as_ref()
                && object["metadata"]["name"] == *deployed.account
        };
        if !deployed.objects.iter().any(is_account) {
            bail!("install.yaml: expected the ServiceAccount {} of the Deployment", deployed.account);
        }
        Ok(deployed)
    }

    fn add(&mut self, mut object: Value, container: &Container) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let group_version = text(&object["apiVersion"]);
        match (group_version.split('/').next().unwrap_or_default(), &*text(&object["kind"])) {
            // What is about pods, or read by programs that are not there.
            ("apps", "Deployment")
            | ("policy", "PodDisruptionBudget")
            | ("networking.k8s.io", "NetworkPolicy")
            | ("monitoring.coreos.com", _) => {}
            ("cert-manager.io", kind) => {
                self.left_out.push(format!("{kind} {}", text(&object["metadata"]["name"])));
            }
            ("v1", "Service") => {
                let endpoints = endpoints(&object, container);
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.remove("selector");
                }
                self.objects.extend([object, endpoints]);
            }
            _ => self.objects.push(object),
        }
    }
}

/// The number of a port.
fn port(container: &Container, name: &str) -> Option<i32> {
    let mut ports = container.ports.iter().flatten();
    ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port)
}

fn environment(container: &Container, pod: &str) -> BTreeMap<String, String> {
    let values = container.env.iter().flatten().map(|variable| {
        let field = variable.value_from.as_ref().and_then(|from| from.field_ref.as_ref());
        let value = match field.map(|field| field.field_path.as_str()) {
            Some("metadata.name") => Some(pod.to_owned()),
            _ => variable.value.clone(),
        };
        (variable.name.clone(), value)
    });
    values.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The ports of a Service, on this machine.
fn endpoints(service: &Value, container: &Container) -> Value {
    let ports: Vec<_> = service["spec"]["ports"].as_array().into_iter().flatten().map(|of_service| {
        let target = serde_json::from_value(of_service["targetPort"].clone()).ok();
        let number = match target {
            Some(IntOrString::Int(number)) => Some(number),
            Some(IntOrString::String(name)) => port(container, &name),
            None => None,
        };
        json!({ "name": of_service["name"], "port": number.map_or_else(|| of_service["port"].clone(), Value::from) })
    }).collect();
    let metadata =
        json!({ "name": service["metadata"]["name"], "namespace": service["metadata"]["namespace"] });
    let subset = json!({ "addresses": [{ "ip": "127.0.0.1" }], "ports": ports });
    json!({ "apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": [subset] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_tools::yaml::Objects;

    const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/operator/deploy/install.yaml");

    fn read(text: &str) -> Result<Deployed> {
        Deployed::read(Objects::parse(text).unwrap().iter())
    }

    #[test]
    fn the_operator_runs_as_its_deployment_says() {
        let deployed = read(&std::fs::read_to_string(INSTALL).unwrap()).unwrap();
        assert_eq!((&*deployed.namespace, &*deployed.account), ("page-operator", "page-operator"));
        assert_eq!(deployed.debug_port, Some(8080));
        assert_eq!(deployed.environment["POD_NAME"], "page-operator");
        let of_kind =
            |kind: &str| deployed.objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
        for kind in ["Namespace", "CustomResourceDefinition", "ClusterRole", "ValidatingWebhookConfiguration"]
        {
            assert_eq!(of_kind(kind).len(), 1, "{kind}");
        }
        assert!(of_kind("Deployment").is_empty() && of_kind("NetworkPolicy").is_empty());
        assert_eq!(of_kind("Service")[0]["spec"].get("selector"), None);
        let ports = json!([{ "name": "webhook", "port": 9443 }, { "name": "http", "port": 8080 }]);
        assert_eq!(of_kind("Endpoints")[0]["subsets"][0]["ports"], ports);
        assert!(deployed.left_out.is_empty());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let text = std::fs::read_to_string(INSTALL).unwrap();
        let error = |text: &str| format!("{:#}", read(text).unwrap_err());
        assert_eq!(
            error("{apiVersion: v1, kind: Namespace, metadata: {name: a}}"),
            "install.yaml: expected one Deployment, found 0"
        );
        assert_eq!(
            error(&text.replace("kind: ServiceAccount\nmetadata", "kind: ConfigMap\nmetadata")),
            "install.yaml: expected the ServiceAccount page-operator of the Deployment"
        );
        let certificate =
            "---\n{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a, namespace: b}}\n";
        assert_eq!(read(&format!("{text}{certificate}")).unwrap().left_out, ["Certificate a"]);
    }
}
