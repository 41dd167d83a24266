//! The kinds that the server serves, found by what people call them.

use std::{collections::BTreeSet, sync::Arc};

use http::Request;
use http_body_util::{BodyExt, Empty};
use kube_testserver::ApiServer;
use serde_json::Value;
use tower::ServiceExt;

/// A kind as discovery describes it.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    singular: String,
    short: Vec<String>,
    pub(crate) namespaced: bool,
}

impl Kind {
    /// Plural and group, as kubectl writes it: `deployments.apps`.
    pub(crate) fn resource(&self) -> String {
        resource(&self.plural, &self.group)
    }

    /// The path of an object, or of its collection without a name.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        if self.namespaced {
            path += &format!("/namespaces/{}", if namespace.is_empty() { "default" } else { namespace });
        }
        path += &format!("/{}", self.plural);
        if !name.is_empty() {
            path += &format!("/{name}");
        }
        path
    }
}

/// Plural and group, as kubectl writes it.
pub(crate) fn resource(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

/// Group and plural of a resource.
pub(crate) fn split(resource: &str) -> (&str, &str) {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    (group, plural)
}

/// All kinds of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds(Arc<[Kind]>);

impl Kinds {
    /// Asks the server for its kinds.
    pub(crate) async fn discover(server: &ApiServer) -> Self {
        let mut kinds = Vec::new();
        for path in ["/api", "/apis"] {
            let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
            let request = Request::get(path).header("accept", accept).body(Empty::<bytes::Bytes>::new());
            let request = request.expect("invariant: the request is valid");
            let Ok(response) = server.clone().oneshot(request).await else { continue };
            let Ok(body) = response.into_body().collect().await else { continue };
            kinds.extend(read(&serde_json::from_slice(&body.to_bytes()).unwrap_or_default()));
        }
        Self(kinds.into())
    }

    /// All resources.
    pub(crate) fn resources(&self) -> BTreeSet<String> {
        self.0.iter().map(Kind::resource).collect()
    }

    /// The kind that is meant by `Page`, `page`, `pages`, `pg` or `pages.example.com`.
    pub(crate) fn find(&self, text: &str) -> Option<&Kind> {
        let named = |kind: &&Kind| {
            kind.resource() == text
                || [&kind.kind, &kind.plural, &kind.singular].contains(&&text.to_owned())
                || kind.short.iter().any(|short| short == text)
        };
        self.0.iter().find(named)
    }

    /// The kind of an object or of an owner reference; any version of its group.
    pub(crate) fn of(&self, object: &Value) -> Option<&Kind> {
        let api_version = object["apiVersion"].as_str()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let of_group = |found: &&Kind| found.group == group && object["kind"] == found.kind.as_str();
        self.0.iter().filter(of_group).max_by_key(|found| found.version == version)
    }
}

/// The kinds of a discovery document.
fn read(document: &Value) -> Vec<Kind> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut kinds = Vec::new();
    for group in list(&document["items"]) {
        for version in list(&group["versions"]) {
            for served in list(&version["resources"]) {
                kinds.push(Kind {
                    group: text(&group["metadata"]["name"]),
                    version: text(&version["version"]),
                    kind: text(&served["responseKind"]["kind"]),
                    plural: text(&served["resource"]),
                    singular: text(&served["singularResource"]),
                    short: list(&served["shortNames"]).iter().map(text).collect(),
                    namespaced: served["scope"] == "Namespaced",
                });
            }
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn kinds_are_found_by_all_their_names() {
        let kinds = Kinds::discover(&ApiServer::new()).await;
        for name in ["Deployment", "deployments", "deployment", "deploy", "deployments.apps"] {
            assert_eq!(
                kinds.find(name).unwrap().path("shop", "a"),
                "/apis/apps/v1/namespaces/shop/deployments/a"
            );
        }
        assert_eq!(kinds.find("ns").unwrap().path("", "shop"), "/api/v1/namespaces/shop");
        assert_eq!(kinds.of(&json!({"apiVersion": "v1", "kind": "Secret"})).unwrap().resource(), "secrets");
        assert!(kinds.find("pages").is_none());
    }
}
