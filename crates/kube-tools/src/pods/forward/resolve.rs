//! From a target to a port of a pod, by requests.

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_client::error::Error;
use kube_client::{Api, Client};
use kube_core::params::ListParams;
use kube_core::{DynamicObject, Selector};
use serde::Deserialize;
use serde_json::Value;

use super::choose::{choose, container_port, is_ready, is_running, name_of, target_port};
use super::error::ForwardError;
use super::target::{ForwardTarget, RemotePort};
use crate::pods::summary::{PodSummary, summaries};

/// Where a connection goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) pod: String,
    pub(super) uid: String,
    pub(super) port: u16,
}

/// Finds the pod for a port of a target.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    pub(super) pods: Api<Pod>,
    pub(super) target: ForwardTarget,
    pub(super) port: RemotePort,
}

impl Resolver {
    /// A pod that takes connections now. [`ForwardError::NotReady`] if there may be one later.
    pub(super) async fn resolve(&self) -> Result<Endpoint, ForwardError> {
        let (pod, port) = match &self.target {
            ForwardTarget::Pod(name) => {
                let pod = match summaries(&self.pods).get(name).await {
                    // It may be about to be replaced.
                    Err(Error::Api(status)) if status.is_not_found() => {
                        return Err(self.not_ready("it does not exist".to_owned()));
                    }
                    pod => self.received(pod)?,
                };
                is_running(&pod).map_err(|reason| self.not_ready(reason))?;
                (pod, self.port.clone())
            }
            _ => {
                let (selector, port) = self.selector().await?;
                let params = ListParams::default().labels(&selector);
                let pods = self.received(summaries(&self.pods).list(&params).await)?;
                (choose(pods.items).map_err(|reason| self.not_ready(reason))?, port)
            }
        };
        let port = match (&self.target, port) {
            // A Service says the protocol of its ports, whatever its pods declare.
            (ForwardTarget::Service(_), RemotePort::Number(number)) => number,
            (_, port) => container_port(&pod, &port).map_err(|reason| self.unsuitable(reason))?,
        };
        Ok(Endpoint { pod: name_of(&pod).to_owned(), uid: pod.metadata.uid.unwrap_or_default(), port })
    }

    /// Whether the same pod still takes connections.
    pub(super) async fn is_current(&self, endpoint: &Endpoint) -> bool {
        let usable = |pod: &PodSummary| match self.target {
            ForwardTarget::Pod(_) => is_running(pod).is_ok(),
            _ => is_ready(pod),
        };
        let pod = summaries(&self.pods).get(&endpoint.pod).await;
        pod.is_ok_and(|pod| pod.metadata.uid.as_deref() == Some(&endpoint.uid) && usable(&pod))
    }

    /// Whether the pod was deleted or replaced. `false` if the server does not say.
    pub(super) async fn is_gone(&self, endpoint: &Endpoint) -> bool {
        match summaries(&self.pods).get_opt(&endpoint.pod).await {
            Ok(Some(pod)) => {
                pod.metadata.uid.as_deref() != Some(&endpoint.uid)
                    || pod.metadata.deletion_timestamp.is_some()
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// The selector of the pods, and the port of the pods.
    async fn selector(&self) -> Result<(String, RemotePort), ForwardError> {
        let name = self.target.name();
        let client = Client::from(self.pods.clone());
        let namespace = self.pods.namespace().unwrap_or_default();
        let Some(kind) = self.target.workload() else {
            let service = self.received(Api::<Service>::namespaced(client, namespace).get(name).await)?;
            let port = target_port(&service, &self.port).map_err(|reason| self.unsuitable(reason))?;
            let labels = service.spec.and_then(|spec| spec.selector).filter(|labels| !labels.is_empty());
            let labels =
                labels.ok_or_else(|| self.unsuitable("the Service has no selector, so no pods".into()))?;
            return Ok((labels.into_iter().collect::<Selector>().to_string(), port));
        };
        let api = Api::<DynamicObject>::namespaced_with(client, namespace, &kind);
        let workload = self.received(api.get(name).await)?;
        let selector = selector_of(&workload.data["spec"]["selector"]);
        let selector = selector.filter(|selector| !selector.selects_all());
        let selector = selector.ok_or_else(|| self.unsuitable("it has no selector, so no pods".into()))?;
        Ok((selector.to_string(), self.port.clone()))
    }

    fn received<T>(&self, received: Result<T, Error>) -> Result<T, ForwardError> {
        received.map_err(|source| ForwardError::Request { target: self.target.clone(), source })
    }

    fn not_ready(&self, reason: String) -> ForwardError {
        ForwardError::NotReady { target: self.target.clone(), reason }
    }

    fn unsuitable(&self, reason: String) -> ForwardError {
        ForwardError::Unsuitable { target: self.target.clone(), port: self.port.clone(), reason }
    }
}

/// A `LabelSelector`, or the plain labels of a ReplicationController.
fn selector_of(selector: &Value) -> Option<Selector> {
    if selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some() {
        return LabelSelector::deserialize(selector).ok()?.try_into().ok();
    }
    let labels = std::collections::BTreeMap::<String, String>::deserialize(selector).ok()?;
    Some(labels.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_are_those_of_workloads_and_of_replication_controllers() {
        let text = |selector: Value| selector_of(&selector).map(|selector| selector.to_string());
        assert_eq!(text(json!({"matchLabels": {"app": "web"}})).as_deref(), Some("app=web"));
        let expressions =
            json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]});
        assert_eq!(text(expressions).as_deref(), Some("app in (a,b)"));
        assert_eq!(text(json!({"app": "web"})).as_deref(), Some("app=web"));
        assert!(text(Value::Null).is_none());
        assert!(selector_of(&json!({})).unwrap().selects_all());
    }
}
