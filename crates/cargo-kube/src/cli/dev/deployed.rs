//! What the manifests of a program say about running it, and which of their objects a server without pods gets.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, ServiceAccount};
use kube_core::{DynamicObject, Resource as _};
use serde_json::Value;

use super::detour::leads_to_operator;
use super::listens::{Listens, Place};

/// An operator as its manifests deploy it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deployed {
    /// That of its Deployment.
    pub(super) name: String,
    /// Its namespace and the name of its ServiceAccount.
    pub(super) namespace: String,
    pub(super) account: String,
    /// Its arguments and its environment in the cluster.
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) listens: Listens,
    /// What the server gets.
    pub(super) objects: Vec<Value>,
    /// What it does not get, though the operator needs it, and why.
    pub(super) left_out: Vec<String>,
}

impl Deployed {
    /// Reads the objects of `install.yaml`. The operator gets `further` arguments beside those of the Deployment.
    ///
    /// The operator runs beside the server, so the server gets no Deployment, and a Service that leads to this machine.
    pub(super) fn read<'a>(
        objects: impl IntoIterator<Item = &'a DynamicObject>,
        further: &[OsString],
        place: Place,
    ) -> Result<Self> {
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
        let name = deployment.metadata.name.context("the Deployment has no name")?;
        let account = pod.service_account_name.context("the Deployment has no ServiceAccount")?;
        let container = pod.containers.into_iter().next().context("the Deployment has no container")?;
        let arguments = container.args.clone().unwrap_or_default();
        let listens = Listens::of(&container, &arguments, further);
        let mut deployed = Self {
            name,
            arguments,
            environment: environment(&container, &account),
            namespace,
            account,
            objects: Vec::new(),
            left_out: Vec::new(),
            listens,
        };
        for object in all {
            deployed.add(object, place)?;
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

    /// The resource of its first definition, which a user looks at.
    pub(super) fn resource(&self) -> &str {
        let is_definition = |object: &&Value| object["kind"] == "CustomResourceDefinition";
        let definition = self.objects.iter().find(is_definition);
        definition.and_then(|it| it["spec"]["names"]["plural"].as_str()).unwrap_or("namespaces")
    }

    /// Where metrics, health and the debug page are, as seen from this machine. `None` also if the operator chooses the port.
    pub(super) fn debug_page(&self) -> Option<SocketAddr> {
        self.listens.at("http").filter(|address| address.port() != 0)
    }

    fn add(&mut self, mut object: Value, place: Place) -> Result<()> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group_version, name) = (text(&object["apiVersion"]), text(&object["metadata"]["name"]));
        let unreachable = matches!(place, Place::Cluster { reach: None });
        match (group_version.split('/').next().unwrap_or_default(), &*text(&object["kind"])) {
            // What is about pods, or read by programs that are not there.
            ("apps", "Deployment")
            | ("policy", "PodDisruptionBudget")
            | ("networking.k8s.io", "NetworkPolicy")
            | ("monitoring.coreos.com", _) => {}
            ("cert-manager.io", kind) => self.left_out.push(format!(
                "{kind} {name} is left out: no pod mounts the certificate; SelfSigned needs none"
            )),
            ("admissionregistration.k8s.io", kind) if unreachable && leads_to_operator(&object) => {
                self.left_out.push(format!(
                    "{kind} {name} is left out: without --reach ADDRESS, no webhook is called here"
                ))
            }
            ("admissionregistration.k8s.io", _) => {
                if place != Place::Embedded {
                    // This machine may be gone at any time.
                    let entries = object["webhooks"].as_array_mut().into_iter().flatten();
                    entries.for_each(|entry| entry["failurePolicy"] = "Ignore".into());
                }
                self.objects.push(object);
            }
            ("apiextensions.k8s.io", _)
                if unreachable && object["spec"]["conversion"]["strategy"] == "Webhook" =>
            {
                bail!(
                    "{name} is converted by the operator: expected --reach ADDRESS, where API servers call it"
                )
            }
            ("v1", "Service") if unreachable => {}
            ("v1", "Service") => {
                let slices = self.listens.slices(&object, place)?;
                if let Some(spec) = object["spec"].as_object_mut() {
                    spec.remove("selector");
                }
                self.objects.push(object);
                self.objects.extend(slices);
            }
            _ => self.objects.push(object),
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use kube_tools::yaml::Objects;

    use super::*;

    const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/operator/deploy/install.yaml");

    fn read(text: &str) -> Result<Deployed> {
        Deployed::read(Objects::parse(text).unwrap().iter(), &[], Place::Embedded)
    }

    #[test]
    fn the_operator_runs_as_its_deployment_says() {
        let deployed = read(&std::fs::read_to_string(INSTALL).unwrap()).unwrap();
        assert_eq!((&*deployed.namespace, &*deployed.account), ("page-operator", "page-operator"));
        assert_eq!(deployed.debug_page(), Some("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(deployed.environment["POD_NAME"], "page-operator");
        assert_eq!(deployed.resource(), "pages");
        let of_kind =
            |kind: &str| deployed.objects.iter().filter(|object| object["kind"] == kind).collect::<Vec<_>>();
        for kind in ["Namespace", "CustomResourceDefinition", "ClusterRole", "ValidatingWebhookConfiguration"]
        {
            assert_eq!(of_kind(kind).len(), 1, "{kind}");
        }
        assert!(of_kind("Deployment").is_empty() && of_kind("NetworkPolicy").is_empty());
        assert_eq!(of_kind("Service")[0]["spec"].get("selector"), None);
        assert_eq!(leads_to(&deployed), ["webhook 127.0.0.1:9443", "http 127.0.0.1:8080"]);
        assert!(deployed.left_out.is_empty());
    }

    /// The ports of the Service, and where they lead.
    fn leads_to(deployed: &Deployed) -> Vec<String> {
        let slices = deployed.objects.iter().filter(|object| object["kind"] == "EndpointSlice");
        let shown = slices.map(|slice| {
            assert_eq!(slice["metadata"]["labels"]["kubernetes.io/service-name"], "page-operator");
            let (port, address) = (&slice["ports"][0], &slice["endpoints"][0]["addresses"][0]);
            format!("{} {}:{}", port["name"].as_str().unwrap(), address.as_str().unwrap(), port["port"])
        });
        shown.collect()
    }

    #[test]
    fn arguments_say_where_the_operator_listens() {
        let text = std::fs::read_to_string(INSTALL).unwrap();
        let read = |arguments: &[&str]| {
            let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
            Deployed::read(Objects::parse(&text).unwrap().iter(), &arguments, Place::Embedded)
        };
        for (arguments, page, ports) in [
            (
                &["--metrics", "0.0.0.0:9090"][..],
                Some("127.0.0.1:9090"),
                ["webhook 127.0.0.1:9443", "http 127.0.0.1:9090"],
            ),
            (
                &["--metrics=[::]:9090", "--webhooks=10.0.0.7:1"],
                Some("[::1]:9090"),
                ["webhook 10.0.0.7:1", "http ::1:9090"],
            ),
            (
                &["--metrics", "127.0.0.1:1", "--metrics", "127.0.0.1:2"],
                Some("127.0.0.1:2"),
                ["webhook 127.0.0.1:9443", "http 127.0.0.1:2"],
            ),
            (
                &["--metrics-interval", "127.0.0.1:1", "--metrics"],
                Some("127.0.0.1:8080"),
                ["webhook 127.0.0.1:9443", "http 127.0.0.1:8080"],
            ),
        ] {
            let deployed = read(arguments).unwrap();
            assert_eq!(deployed.debug_page(), page.map(|page| page.parse().unwrap()), "{arguments:?}");
            assert_eq!(leads_to(&deployed), ports, "{arguments:?}");
        }
        let chosen = read(&["--metrics", "127.0.0.1:0"]).unwrap();
        assert_eq!(
            (chosen.debug_page(), leads_to(&chosen)),
            (None, vec!["webhook 127.0.0.1:9443".to_owned()])
        );
        assert_eq!(
            read(&["--webhooks", "127.0.0.1:0"]).unwrap_err().to_string(),
            "--webhooks 127.0.0.1:0: expected the number of a port: the server calls the webhooks there"
        );
    }

    #[test]
    fn a_cluster_gets_webhooks_only_where_it_reaches_this_machine() {
        let text = std::fs::read_to_string(INSTALL).unwrap();
        let objects = Objects::parse(&text).unwrap();
        let read = |reach: Option<&str>| {
            let reach = reach.map(|ip| ip.parse().unwrap());
            Deployed::read(objects.iter(), &[], Place::Cluster { reach })
        };
        let reached = read(Some("192.0.2.7")).unwrap();
        assert_eq!(leads_to(&reached), ["webhook 192.0.2.7:9443", "http 192.0.2.7:8080"]);
        let called = |object: &&Value| object["kind"] == "ValidatingWebhookConfiguration";
        for configuration in reached.objects.iter().filter(called) {
            assert_eq!(configuration["webhooks"][0]["failurePolicy"], "Ignore");
        }
        let of_operator = reached.objects.iter().filter(|object| leads_to_operator(object));
        let mut kinds: Vec<_> = of_operator.filter_map(|object| object["kind"].as_str()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["EndpointSlice", "EndpointSlice", "Service", "ValidatingWebhookConfiguration"]);
        let error = read(None).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "is converted by the operator: expected --reach ADDRESS, where API servers call it"
            ),
            "{error}"
        );
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
        let expected = "Certificate a is left out: no pod mounts the certificate; SelfSigned needs none";
        assert_eq!(read(&format!("{text}{certificate}")).unwrap().left_out, [expected]);
    }
}
