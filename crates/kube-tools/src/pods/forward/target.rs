//! What ports are forwarded to, in the notation of `kubectl port-forward`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ReplicationController;
use kube_core::ApiResource;
use thiserror::Error;

/// A pod, or what has pods: then a connection goes to one that is ready.
///
/// ```
/// use kube_tools::pods::ForwardTarget;
/// assert_eq!("svc/web".parse(), Ok(ForwardTarget::Service("web".into())));
/// assert_eq!("web-0".parse(), Ok(ForwardTarget::Pod("web-0".into())));
/// assert_eq!(ForwardTarget::StatefulSet("db".into()).to_string(), "statefulset/db");
/// assert!("ingress/web".parse::<ForwardTarget>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardTarget {
    /// This pod, ready or not, and the next one of its name.
    Pod(String),
    /// A pod of a Service. Ports are those of the Service, by number or name.
    Service(String),
    /// A pod of a Deployment.
    Deployment(String),
    /// A pod of a StatefulSet.
    StatefulSet(String),
    /// A pod of a DaemonSet.
    DaemonSet(String),
    /// A pod of a ReplicaSet.
    ReplicaSet(String),
    /// A pod of a ReplicationController.
    ReplicationController(String),
    /// A pod of a Job.
    Job(String),
}

impl ForwardTarget {
    pub(super) fn name(&self) -> &str {
        self.parts().1
    }

    /// The type, for workloads whose selector is to be read.
    pub(super) fn workload(&self) -> Option<ApiResource> {
        Some(match self {
            Self::Pod(_) | Self::Service(_) => return None,
            Self::Deployment(_) => ApiResource::erase::<Deployment>(&()),
            Self::StatefulSet(_) => ApiResource::erase::<StatefulSet>(&()),
            Self::DaemonSet(_) => ApiResource::erase::<DaemonSet>(&()),
            Self::ReplicaSet(_) => ApiResource::erase::<ReplicaSet>(&()),
            Self::ReplicationController(_) => ApiResource::erase::<ReplicationController>(&()),
            Self::Job(_) => ApiResource::erase::<Job>(&()),
        })
    }

    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Pod(name) => ("pod", name),
            Self::Service(name) => ("service", name),
            Self::Deployment(name) => ("deployment", name),
            Self::StatefulSet(name) => ("statefulset", name),
            Self::DaemonSet(name) => ("daemonset", name),
            Self::ReplicaSet(name) => ("replicaset", name),
            Self::ReplicationController(name) => ("replicationcontroller", name),
            Self::Job(name) => ("job", name),
        }
    }
}

impl fmt::Display for ForwardTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.parts();
        write!(f, "{kind}/{name}")
    }
}

impl FromStr for ForwardTarget {
    type Err = InvalidForward;

    /// Reads `TYPE/NAME` with the types, plurals and short names of kubectl, or the name of a pod.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, name) = text.split_once('/').unwrap_or(("pod", text));
        let invalid = || InvalidForward {
            text: text.to_owned(),
            expected: "target: expected the name of a pod, or TYPE/NAME with the type pod, service, deployment, statefulset, daemonset, \
                       replicaset, replicationcontroller or job",
        };
        if name.is_empty() || name.contains('/') {
            return Err(invalid());
        }
        let name = name.to_owned();
        Ok(match kind.to_ascii_lowercase().as_str() {
            "po" | "pod" | "pods" => Self::Pod(name),
            "svc" | "service" | "services" => Self::Service(name),
            "deploy" | "deployment" | "deployments" | "deployment.apps" | "deployments.apps" => {
                Self::Deployment(name)
            }
            "sts" | "statefulset" | "statefulsets" | "statefulset.apps" | "statefulsets.apps" => {
                Self::StatefulSet(name)
            }
            "ds" | "daemonset" | "daemonsets" | "daemonset.apps" | "daemonsets.apps" => Self::DaemonSet(name),
            "rs" | "replicaset" | "replicasets" | "replicaset.apps" | "replicasets.apps" => {
                Self::ReplicaSet(name)
            }
            "rc" | "replicationcontroller" | "replicationcontrollers" => Self::ReplicationController(name),
            "job" | "jobs" | "job.batch" | "jobs.batch" => Self::Job(name),
            _ => return Err(invalid()),
        })
    }
}

/// A port of a Service, or of the containers of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemotePort {
    /// By its number.
    Number(u16),
    /// By its name.
    Name(String),
}

impl fmt::Display for RemotePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl From<u16> for RemotePort {
    fn from(number: u16) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for RemotePort {
    /// A number, or else a name.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Number)
    }
}

/// Text that names no target or port.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}` is not a {expected}")]
pub struct InvalidForward {
    text: String,
    expected: &'static str,
}

/// A local address, and the port to which its connections are forwarded.
///
/// ```
/// use kube_tools::pods::{ForwardPort, RemotePort};
/// // Any free port of 127.0.0.1: `Forwarder::local_addrs` returns it.
/// let port = ForwardPort::to("http");
/// assert_eq!(port.local.port(), 0);
/// // The notation of kubectl: [LOCAL:]REMOTE
/// let port: ForwardPort = "8080:80".parse()?;
/// assert_eq!((port.local.to_string().as_str(), port.remote), ("127.0.0.1:8080", RemotePort::Number(80)));
/// # Ok::<(), kube_tools::pods::InvalidForward>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardPort {
    /// The address to listen on. Port 0 is any free port.
    pub local: SocketAddr,
    /// The port of the target.
    pub remote: RemotePort,
}

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl ForwardPort {
    /// From any free port of 127.0.0.1.
    pub fn to(remote: impl Into<RemotePort>) -> Self {
        Self { local: SocketAddr::new(LOCALHOST, 0), remote: remote.into() }
    }

    /// From this local address.
    #[must_use]
    pub fn on(mut self, local: impl Into<SocketAddr>) -> Self {
        self.local = local.into();
        self
    }
}

impl FromStr for ForwardPort {
    type Err = InvalidForward;

    /// Reads `[LOCAL:]REMOTE`: `8080:80`, `8080:http`, `80` for the same number at both ends, `:80` for any free local port.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidForward {
            text: text.to_owned(),
            expected: "pair of ports: expected [LOCAL:]REMOTE, such as 8080:80, 8080:http, :80 or 80",
        };
        let (local, remote) = match text.split_once(':') {
            Some(("", remote)) => (0, remote),
            Some((local, remote)) => (local.parse().map_err(|_| invalid())?, remote),
            None => (text.parse().map_err(|_| invalid())?, text),
        };
        // A number that is none of a port is not a name either: names contain a letter.
        if remote == "0" || !remote.bytes().any(|byte| byte.is_ascii_alphanumeric()) || remote.contains(':') {
            return Err(invalid());
        }
        let remote = RemotePort::from(remote);
        if matches!(&remote, RemotePort::Name(name) if name.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(invalid());
        }
        Ok(Self { local: SocketAddr::new(LOCALHOST, local), remote })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_print_as_they_are_read() {
        for text in
            ["pod/a", "service/a", "deployment/a", "statefulset/a", "daemonset/a", "replicaset/a", "job/a"]
        {
            assert_eq!(text.parse::<ForwardTarget>().unwrap().to_string(), text);
        }
        assert_eq!("DEPLOY/a".parse(), Ok(ForwardTarget::Deployment("a".into())));
        for text in ["", "/", "pod/", "pod/a/b", "node/a"] {
            let err = text.parse::<ForwardTarget>().unwrap_err().to_string();
            assert!(err.starts_with(&format!("`{text}` is not a target: expected")), "{err}");
        }
    }

    #[test]
    fn pairs_of_ports_are_read() {
        let read = |text: &str| {
            let port: ForwardPort = text.parse().unwrap();
            (port.local.port(), port.remote.to_string())
        };
        assert_eq!(read("80"), (80, "80".into()));
        assert_eq!(read(":80"), (0, "80".into()));
        assert_eq!(read("0:http"), (0, "http".into()));
        for text in
            ["", ":", "http", "80:", "80:0", "80:70000", "70000:80", "-1:80", "1:2:3", "127.0.0.1:80:80"]
        {
            assert!(text.parse::<ForwardPort>().is_err(), "{text}");
        }
    }
}
