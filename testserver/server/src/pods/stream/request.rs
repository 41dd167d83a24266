//! What a streaming request connects to, checked against the pod.

use http::StatusCode;
use serde_json::Value;

use crate::{
    object::meta,
    pods::{Container, container_of, is_running},
    route::Query,
    status_error::StatusError,
};

/// A streaming request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StreamRequest {
    Command(CommandRequest),
    Forward(ForwardRequest),
}

/// `exec` or `attach`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandRequest {
    pub(super) container: Container,
    /// `None` for `attach`.
    pub(super) argv: Option<Vec<String>>,
    pub(super) stdin: bool,
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    pub(super) tty: bool,
}

/// `port-forward`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForwardRequest {
    pub(super) namespace: String,
    pub(super) pod: String,
    /// From the query of websocket requests; with SPDY each stream names its port.
    pub(super) ports: Vec<u16>,
}

/// Whether this subresource of pods upgrades the connection.
pub(crate) fn is_stream(subresource: &str) -> bool {
    matches!(subresource, "exec" | "attach" | "portforward")
}

impl StreamRequest {
    pub(super) fn of(
        subresource: &str,
        namespace: &str,
        pod: &Value,
        query: &Query,
    ) -> Result<Self, StatusError> {
        if subresource == "portforward" {
            let ports = ports(query)?;
            running(pod)?;
            let (namespace, pod) = (namespace.to_owned(), meta::name(pod).to_owned());
            return Ok(Self::Forward(ForwardRequest { namespace, pod, ports }));
        }
        let container = container_of(namespace, pod, query.get("container"))?;
        running(pod)?;
        if !is_running(pod, &container.name) {
            let why = format!("container not found ({:?})", container.name);
            return Err(StatusError::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", why));
        }
        let command = CommandRequest {
            container,
            argv: (subresource == "exec").then(|| query.all("command").map(str::to_owned).collect()),
            stdin: query.flag("stdin"),
            stdout: query.flag("stdout"),
            stderr: query.flag("stderr"),
            tty: query.flag("tty"),
        };
        if !(command.stdin || command.stdout || command.stderr) {
            return Err(StatusError::bad_request("you must specify at least 1 of stdin, stdout, stderr"));
        }
        if command.argv.as_ref().is_some_and(Vec::is_empty) {
            return Err(StatusError::bad_request("you must specify at least 1 command"));
        }
        Ok(Self::Command(command))
    }
}

/// Only a scheduled pod can be connected to.
fn running(pod: &Value) -> Result<(), StatusError> {
    match pod["spec"]["nodeName"].as_str() {
        Some(node) if !node.is_empty() => Ok(()),
        _ => Err(StatusError::bad_request(format!("pod {} does not have a host assigned", meta::name(pod)))),
    }
}

fn ports(query: &Query) -> Result<Vec<u16>, StatusError> {
    let numbers = query.all("ports").flat_map(|list| list.split(','));
    let number = |text: &str| {
        let wrong =
            || format!("cannot convert to []int32: strconv.ParseUint: parsing {text:?}: invalid syntax");
        let number: u32 = text.parse().map_err(|_| StatusError::bad_request(wrong()))?;
        let fits = u16::try_from(number).ok().filter(|port| *port > 0);
        fits.ok_or_else(|| StatusError::bad_request(format!("port {number} is not between 1 and 65535")))
    };
    numbers.map(number).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({"metadata": {"name": "two"},
            "spec": {"nodeName": "n", "containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "a", "state": {"running": {}}}, {"name": "b", "state": {"waiting": {}}}]}})
    }

    fn requested(subresource: &str, query: &str) -> Result<StreamRequest, String> {
        StreamRequest::of(subresource, "default", &pod(), &Query::parse(query))
            .map_err(|failure| failure.message)
    }

    #[test]
    fn a_command_needs_a_container_and_a_stream() {
        let Ok(StreamRequest::Command(command)) =
            requested("exec", "container=a&command=ls&command=-l&stdout=1&tty=false")
        else {
            panic!("refused")
        };
        assert_eq!(command.argv.unwrap(), ["ls", "-l"]);
        assert!(command.stdout && !command.tty && !command.stdin);
        assert!(
            matches!(requested("attach", "container=a&stdin=true"), Ok(StreamRequest::Command(c)) if c.argv.is_none())
        );
        let why = |query| requested("exec", query).unwrap_err();
        assert_eq!(
            why("command=ls"),
            "a container name must be specified for pod two, choose one of: [i a b]"
        );
        assert_eq!(why("container=z"), "container z is not valid for pod two");
        assert_eq!(why("container=b&command=ls&stdout=1"), "container not found (\"b\")");
        assert_eq!(why("container=a&command=ls"), "you must specify at least 1 of stdin, stdout, stderr");
        assert_eq!(why("container=a&stdout=1"), "you must specify at least 1 command");
    }

    #[test]
    fn ports_are_validated() {
        let ports = |query| match requested("portforward", query) {
            Ok(StreamRequest::Forward(forward)) => Ok(forward.ports),
            Ok(StreamRequest::Command(_)) => panic!("no command"),
            Err(why) => Err(why),
        };
        assert_eq!(ports("ports=80&ports=81,82"), Ok(vec![80, 81, 82]));
        assert_eq!(ports(""), Ok(Vec::new()));
        assert!(ports("ports=x").unwrap_err().starts_with("cannot convert to []int32: strconv.ParseUint"));
        assert!(ports("ports=0").is_err() && ports("ports=70000").is_err());
    }
}
