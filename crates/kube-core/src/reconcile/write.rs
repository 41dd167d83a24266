//! A write that a server has confirmed: which object is in which state by it.

use super::path::ResourcePath;
use http::{Method, Uri};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A write of one object that a server has confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnWrite {
    /// The API group of the resource; empty for the core group.
    pub group: String,
    /// The resource, such as `pods`.
    pub plural: String,
    /// `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The uid of the object. `None` if the response to its deletion does not name it.
    pub uid: Option<String>,
    /// The labels of the object after the write. `None` if the response does not have them: that of a deletion, or of the subresource
    /// `scale`.
    pub labels: Option<BTreeMap<String, String>>,
    /// The state of the object after the write.
    pub state: WrittenState,
    /// The address of the server, by the configuration of the client. `None` if that is not known, as for a client over a service of the
    /// program. Versions of different servers say nothing about each other.
    pub server: Option<String>,
}

/// The state of an object after a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenState {
    /// It exists in this resourceVersion. So does an object that is being deleted: it waits for finalizers, or for its grace period.
    Version(String),
    /// It is gone.
    Deleted,
}

impl OwnWrite {
    /// Whether the response to such a request may say what it has written: before [`of`](Self::of), because that needs the whole response.
    #[must_use]
    pub fn may_follow(method: &Method, uri: &Uri) -> bool {
        path_of_write(method, uri).is_some()
    }

    /// What a request has written, by the body of its response, which has a code of 2xx.
    ///
    /// Which [`server`](Self::server) it is, the request does not tell.
    ///
    /// `None` for what leaves no state of one object behind: reads, dry runs, deletions of collections, reviews, evictions, and responses
    /// without a uid and a resourceVersion.
    ///
    /// ```
    /// use http::Method;
    /// use kube_core::reconcile::{OwnWrite, WrittenState};
    ///
    /// let created = br#"{"kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u1","resourceVersion":"7"}}"#;
    /// let write = OwnWrite::of(&Method::POST, &"/api/v1/namespaces/shop/configmaps?".parse()?, created);
    /// assert_eq!(write.map(|it| (it.plural, it.name, it.state)), Some(("configmaps".into(), "a".into(), WrittenState::Version("7".into()))));
    ///
    /// let status = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","uid":"u1"}}"#;
    /// let write = OwnWrite::of(&Method::DELETE, &"/api/v1/namespaces/shop/configmaps/a?".parse()?, status);
    /// assert_eq!(write.map(|it| (it.uid, it.state)), Some((Some("u1".into()), WrittenState::Deleted)));
    /// # Ok::<(), http::uri::InvalidUri>(())
    /// ```
    #[must_use]
    pub fn of(method: &Method, uri: &Uri, response: &[u8]) -> Option<Self> {
        let path = path_of_write(method, uri)?;
        let deletes = *method == Method::DELETE;
        let head: Head = serde_json::from_slice(response).ok()?;
        if head.kind == "Status" && matches!(&*head.api_version, "v1" | "") {
            return deletes.then(|| deleted(path, response));
        }
        let has_labels = head.kind != "Scale";
        written(&path, head.metadata, deletes, has_labels)
    }
}

/// The path of a request that may write one object.
fn path_of_write<'a>(method: &Method, uri: &'a Uri) -> Option<ResourcePath<'a>> {
    if !matches!(*method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE) || is_dry_run(uri) {
        return None;
    }
    let path = ResourcePath::of(uri.path())?;
    let is_connection = matches!(path.subresource, Some("proxy" | "exec" | "attach" | "portforward"));
    let deletes_collection = *method == Method::DELETE && path.name.is_none();
    (!is_connection && !deletes_collection).then_some(path)
}

/// By a `Status`.
fn deleted(path: ResourcePath<'_>, response: &[u8]) -> OwnWrite {
    let status: StatusHead = serde_json::from_slice(response).unwrap_or_default();
    OwnWrite {
        group: path.group.to_owned(),
        plural: path.plural.to_owned(),
        namespace: path.namespace.map(str::to_owned),
        name: path.name.unwrap_or_default(),
        uid: status.details.uid.filter(|uid| !uid.is_empty()),
        labels: None,
        state: WrittenState::Deleted,
        server: None,
    }
}

fn written(path: &ResourcePath<'_>, metadata: Metadata, deletes: bool, has_labels: bool) -> Option<OwnWrite> {
    let not_empty = |text: Option<String>| text.filter(|text| !text.is_empty());
    let uid = not_empty(metadata.uid.clone())?;
    let version = not_empty(metadata.resource_version.clone())?;
    let is_gone = metadata.is_gone(deletes, path);
    Some(OwnWrite {
        group: path.group.to_owned(),
        plural: path.plural.to_owned(),
        namespace: not_empty(metadata.namespace).or_else(|| path.namespace.map(str::to_owned)),
        name: not_empty(metadata.name)?,
        uid: Some(uid),
        labels: has_labels.then_some(metadata.labels),
        state: if is_gone { WrittenState::Deleted } else { WrittenState::Version(version) },
        server: None,
    })
}

fn is_dry_run(uri: &Uri) -> bool {
    let values = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.strip_prefix("dryRun="));
    values.into_iter().any(|value| !value.is_empty())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    #[serde(deserialize_with = "null_as_empty")]
    labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "null_as_empty")]
    finalizers: Vec<String>,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
}

impl Metadata {
    /// Whether the write was the end of the object. `deletes` is whether it was a deletion.
    fn is_gone(&self, deletes: bool, path: &ResourcePath<'_>) -> bool {
        if self.deletion_timestamp.is_none() {
            return deletes; // servers return some kinds, such as services, as they were before their deletion
        }
        let waits = !self.finalizers.is_empty()
            || self.deletion_grace_period_seconds.is_some_and(|seconds| seconds != 0)
            // A Namespace has finalizers in its spec.
            || (path.group.is_empty() && path.plural == "namespaces");
        !waits
    }
}

fn null_as_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusHead {
    details: StatusDetails,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusDetails {
    uid: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn write(method: Method, uri: &str, response: &Value) -> Option<OwnWrite> {
        OwnWrite::of(&method, &uri.parse().unwrap(), response.to_string().as_bytes())
    }

    fn object(metadata: Value) -> Value {
        let mut all = json!({ "name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7" });
        all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        json!({ "kind": "Pod", "apiVersion": "v1", "metadata": all, "status": {}, "details": 5 })
    }

    const POD: &str = "/api/v1/namespaces/ns/pods/a?";

    #[test]
    fn each_verb_leaves_a_version_behind() {
        let labelled = object(json!({ "labels": { "app": "web" } }));
        for (method, uri) in [
            (Method::POST, "/api/v1/namespaces/ns/pods?&fieldManager=me"),
            (Method::PUT, POD),
            (Method::PATCH, "/api/v1/namespaces/ns/pods/a/status?"),
        ] {
            let write = write(method, uri, &labelled).unwrap();
            assert_eq!((&*write.group, &*write.plural, &*write.name), ("", "pods", "a"));
            assert_eq!((write.namespace.as_deref(), write.uid.as_deref()), (Some("ns"), Some("u")));
            assert_eq!(write.labels.unwrap()["app"], "web");
            assert_eq!(write.state, WrittenState::Version("7".into()));
        }
        let scale = json!({ "kind": "Scale", "metadata": labelled["metadata"] });
        let scaled = write(Method::PUT, "/apis/apps/v1/namespaces/ns/deployments/a/scale", &scale).unwrap();
        assert_eq!((&*scaled.plural, scaled.labels), ("deployments", None), "a Scale has no labels");
    }

    #[test]
    fn what_leaves_no_state_of_one_object_behind_is_no_write() {
        let pod = object(json!({}));
        let success = json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" });
        for (method, uri, response) in [
            (Method::GET, POD, &pod),
            (Method::PATCH, "/api/v1/namespaces/ns/pods/a?&dryRun=All&fieldManager=me", &pod),
            (Method::DELETE, "/api/v1/namespaces/ns/pods?", &success),
            (Method::POST, "/api/v1/namespaces/ns/pods/a/eviction", &success),
            (Method::POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &json!({ "metadata": {} })),
            (Method::POST, "/somewhere/else", &pod),
            (Method::POST, "/api/v1/namespaces/ns/pods/a/proxy/orders", &pod),
            (Method::PUT, POD, &json!({ "metadata": { "name": "a", "uid": "u", "resourceVersion": "" } })),
            (Method::PUT, POD, &json!("text")),
        ] {
            assert_eq!(write(method.clone(), uri, response), None, "{method} {uri}");
            let proxied = uri.contains("proxy");
            assert!(!(proxied && OwnWrite::may_follow(&method, &uri.parse().unwrap())), "it may never end");
        }
        assert_eq!(OwnWrite::of(&Method::PUT, &POD.parse().unwrap(), b"{"), None, "cut off");
    }

    #[test]
    fn a_deletion_that_waits_leaves_a_version_and_one_that_does_not_the_end() {
        let deleting = |rest: Value| {
            let mut pod = object(rest);
            pod["metadata"]["deletionTimestamp"] = json!("2026-11-28T00:00:00Z");
            pod
        };
        let state = |method, uri, response: &Value| write(method, uri, response).unwrap().state;
        let version = WrittenState::Version("7".into());
        for waiting in [json!({ "finalizers": ["x"] }), json!({ "deletionGracePeriodSeconds": 30 })] {
            assert_eq!(state(Method::DELETE, POD, &deleting(waiting)), version);
        }
        let namespace = deleting(json!({}));
        assert_eq!(state(Method::DELETE, "/api/v1/namespaces/a", &namespace), version, "by its spec");
        for gone in
            [deleting(json!({})), deleting(json!({ "deletionGracePeriodSeconds": 0, "labels": null }))]
        {
            assert_eq!(state(Method::DELETE, POD, &gone), WrittenState::Deleted);
            assert_eq!(state(Method::PATCH, POD, &gone), WrittenState::Deleted, "its last finalizer");
        }
        assert_eq!(state(Method::DELETE, POD, &object(json!({}))), WrittenState::Deleted, "as it was before");
        let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" });
        let by_name = write(Method::DELETE, POD, &status).unwrap();
        assert_eq!((&*by_name.name, by_name.uid, by_name.state), ("a", None, WrittenState::Deleted));
        // A custom resource may be of the kind Status, too.
        let custom =
            json!({ "kind": "Status", "apiVersion": "x.io/v1", "metadata": object(json!({}))["metadata"] });
        assert_eq!(state(Method::PUT, "/apis/x.io/v1/namespaces/ns/statuses/a", &custom), version);
    }
}
