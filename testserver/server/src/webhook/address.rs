//! Where a webhook is called: at its URL, or at its service.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{Target, target};
use crate::{
    backend::ServicePort,
    storage::{Key, Storage},
};

/// The label of an EndpointSlice with the name of its service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Where a webhook is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The service that the configuration names, and the path there.
    pub(super) service: Option<(ServicePort, String)>,
    /// Where it is in the network, or why it is nowhere, in the words that the client receives.
    pub(super) target: Result<Target, String>,
}

impl Address {
    /// That of a `clientConfig`.
    pub(crate) fn of(storage: &Storage, config: &Value) -> Self {
        let service = config["url"].is_null().then(|| service(&config["service"]));
        Self { service, target: resolve(storage, config) }
    }

    /// The same address with the timeout in its query.
    #[must_use]
    pub(crate) fn within(self, seconds: u64) -> Self {
        let service = self.service.map(|(port, path)| (port, target::path_within(&path, seconds)));
        Self { service, target: self.target.map(|target| target.within(seconds)) }
    }
}

/// The port and the path of a reference to a service.
fn service(service: &Value) -> (ServicePort, String) {
    let text = |field: &str| service[field].as_str().unwrap_or_default().to_owned();
    let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
    let path = format!("/{}", text("path").trim_start_matches('/'));
    (ServicePort { namespace: text("namespace"), name: text("name"), port }, path)
}

/// Resolves a `clientConfig`: its URL, or the address of the service it references.
fn resolve(storage: &Storage, config: &Value) -> Result<Target, String> {
    let ca = config["caBundle"].as_str().unwrap_or_default();
    let ca_bundle = BASE64_STANDARD.decode(ca).unwrap_or_default();
    if let Some(url) = config["url"].as_str() {
        return Target::of_url(url, ca_bundle);
    }
    let (at, path) = service(&config["service"]);
    let server_name = format!("{}.{}.svc", at.name, at.namespace);
    let (host, port) = service_address(storage, &at.namespace, &at.name, at.port)
        .map_err(|why| format!("Post \"https://{at}{path}\": {why}"))?;
    Ok(Target { host, port, server_name, path, ca_bundle })
}

/// Host and port of a service: its external name, else its first endpoint (of the Endpoints, then of the EndpointSlices), else its
/// cluster IP.
fn service_address(
    storage: &Storage,
    namespace: &str,
    name: &str,
    port: u16,
) -> Result<(String, u16), String> {
    let object = |plural: &str| Some(storage.object("", plural, &Key::new(Some(namespace), name))?.value());
    let service = object("services").ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &service["spec"];
    if spec["type"] == "ExternalName" {
        return Ok((spec["externalName"].as_str().unwrap_or_default().into(), port));
    }
    let service_port =
        spec["ports"].as_array().into_iter().flatten().find(|candidate| candidate["port"] == port);
    let service_port =
        service_port.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let behind = |ports: &Value| {
        let mut ports = ports.as_array().into_iter().flatten();
        // A port without a name has the empty one in a slice.
        let name = |port: &Value| port["name"].as_str().unwrap_or_default().to_owned();
        let number = ports.find(|port| name(port) == name(service_port))?["port"].as_u64()?;
        u16::try_from(number).ok()
    };
    let endpoints = object("endpoints").unwrap_or_default();
    for subset in endpoints["subsets"].as_array().into_iter().flatten() {
        if let (Some(ip), Some(port)) = (subset["addresses"][0]["ip"].as_str(), behind(&subset["ports"])) {
            return Ok((ip.into(), port));
        }
    }
    for slice in slices(storage, namespace, name) {
        let ready = slice["endpoints"].as_array().into_iter().flatten();
        let mut ready = ready.filter(|endpoint| endpoint["conditions"]["ready"] != false);
        let ip = ready.find_map(|endpoint| endpoint["addresses"][0].as_str());
        if let (Some(ip), Some(port)) = (ip, behind(&slice["ports"])) {
            return Ok((ip.into(), port));
        }
    }
    match spec["clusterIP"].as_str() {
        Some(ip) if !ip.is_empty() && ip != "None" => Ok((ip.into(), port)),
        _ => Err(format!("no endpoints available for service {name:?}")),
    }
}

/// The EndpointSlices of a service.
fn slices<'a>(
    storage: &'a Storage,
    namespace: &'a str,
    service: &'a str,
) -> impl Iterator<Item = Value> + 'a {
    let table = storage.table("discovery.k8s.io", "endpointslices");
    let all = table.into_iter().flat_map(move |table| storage.store.objects(table, Some(namespace)));
    all.filter(move |slice| slice.label(SERVICE_NAME) == Some(service)).map(|slice| slice.value())
}
