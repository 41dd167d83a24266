//! The address of a webhook: its URL, or where its service is.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::Target;
use crate::storage::{Key, Storage};

/// Resolves a webhook's `clientConfig`: its URL, or the address of the service it references.
///
/// # Errors
/// The message that the client receives.
pub(crate) fn resolve(storage: &Storage, config: &Value) -> Result<Target, String> {
    let ca = config["caBundle"].as_str().unwrap_or_default();
    let ca_bundle = BASE64_STANDARD.decode(ca).unwrap_or_default();
    if let Some(url) = config["url"].as_str() {
        return Target::of_url(url, ca_bundle);
    }
    let service = &config["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
    let path = format!("/{}", text("path").trim_start_matches('/'));
    let server_name = format!("{name}.{namespace}.svc");
    let (host, port) = service_address(storage, namespace, name, port)
        .map_err(|why| format!("Post \"https://{server_name}:{port}{path}\": {why}"))?;
    Ok(Target { host, port, server_name, path, ca_bundle })
}

/// Host and port of a service: its external name, else its first endpoint, else its cluster IP.
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
    let endpoints = object("endpoints").unwrap_or_default();
    for subset in endpoints["subsets"].as_array().into_iter().flatten() {
        let mut ports = subset["ports"].as_array().into_iter().flatten();
        let behind =
            ports.find(|port| port["name"] == service_port["name"]).and_then(|port| port["port"].as_u64());
        let behind = behind.and_then(|port| u16::try_from(port).ok());
        if let (Some(ip), Some(behind)) = (subset["addresses"][0]["ip"].as_str(), behind) {
            return Ok((ip.into(), behind));
        }
    }
    match spec["clusterIP"].as_str() {
        Some(ip) if !ip.is_empty() && ip != "None" => Ok((ip.into(), port)),
        _ => Err(format!("no endpoints available for service {name:?}")),
    }
}
