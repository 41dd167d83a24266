//! Where the operator listens, and what leads there from its Service.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::{Value, json};

/// The server that gets the manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In this process.
    Embedded,
    /// A cluster.
    Cluster {
        /// Where it reaches this machine.
        reach: Option<IpAddr>,
    },
}

/// The options by which programs of `cargo kube new` are told where they listen, by the names of the container's ports.
const OPTIONS: [(&str, &str); 2] = [("http", "--metrics"), ("webhook", "--webhooks")];

/// That of a container's port.
pub(super) fn option(port: &str) -> Option<&'static str> {
    OPTIONS.iter().find_map(|(name, option)| (*name == port).then_some(*option))
}

/// Where the operator listens, as seen from this machine, by the names of the container's ports.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Listens(BTreeMap<String, SocketAddr>);

impl Listens {
    /// As the container says, unless an argument says otherwise.
    pub(super) fn of(container: &Container, arguments: &[String], further: &[OsString]) -> Self {
        let ports = container.ports.iter().flatten().filter_map(|port| {
            let number = u16::try_from(port.container_port).ok()?;
            Some((port.name.clone()?, SocketAddr::new(Ipv4Addr::LOCALHOST.into(), number)))
        });
        let mut all: BTreeMap<_, _> = ports.collect();
        let further = further.iter().filter_map(|argument| argument.to_str());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(further).collect();
        for (name, option) in OPTIONS {
            all.extend(address(&arguments, option).map(|address| (name.to_owned(), address)));
        }
        Self(all)
    }

    pub(super) fn at(&self, name: &str) -> Option<SocketAddr> {
        self.0.get(name).copied()
    }

    /// All that the operator does not choose itself.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        let all = self.0.iter().map(|(name, address)| (name.as_str(), *address));
        all.filter(|(_, address)| address.port() != 0)
    }

    /// What leads from a Service to this machine: a slice for each port.
    ///
    /// # Errors
    /// The operator chooses the port of its webhooks.
    pub(super) fn slices(&self, service: &Value, place: Place) -> Result<Vec<Value>> {
        let mut slices = Vec::new();
        for port in service["spec"]["ports"].as_array().into_iter().flatten() {
            let of_service = port["port"].as_u64().and_then(|number| u16::try_from(number).ok());
            let here = |number| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), number);
            let address = match serde_json::from_value(port["targetPort"].clone()).ok() {
                Some(IntOrString::Int(number)) => u16::try_from(number).ok().map(here),
                Some(IntOrString::String(name)) => self.at(&name),
                None => None,
            };
            let Some(mut address) = address.or(of_service.map(here)) else { continue };
            if let Place::Cluster { reach: Some(reach) } = place {
                address.set_ip(reach);
            }
            match (address.port(), port["name"].as_str()) {
                (0, Some("webhook")) => bail!(
                    "--webhooks {address}: expected the number of a port: the server calls the webhooks there"
                ),
                (0, _) => {}
                _ => slices.push(slice(service, &port["name"], address)),
            }
        }
        Ok(slices)
    }
}

/// The last value of an option, as seen from this machine. One that is no address is for the program to refuse.
fn address(arguments: &[&str], option: &str) -> Option<SocketAddr> {
    let mut values =
        arguments.iter().enumerate().filter_map(|(at, argument)| match argument.strip_prefix(option)? {
            "" => arguments.get(at + 1).copied(),
            rest => rest.strip_prefix('='),
        });
    let mut address: SocketAddr = values.next_back()?.parse().ok()?;
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Some(address)
}

/// What leads from a port of a Service to this address.
fn slice(service: &Value, port: &Value, address: SocketAddr) -> Value {
    let name = service["metadata"]["name"].as_str().unwrap_or_default();
    let suffix = port.as_str().map(|port| format!("-{port}")).unwrap_or_default();
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": format!("{name}{suffix}"),
            "namespace": service["metadata"]["namespace"],
            "labels": { "kubernetes.io/service-name": name },
        },
        "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
        "endpoints": [{ "addresses": [address.ip()] }],
        "ports": [{ "name": port.as_str().unwrap_or_default(), "port": address.port() }],
    })
}
