//! Creates objects in a server as a client would, in an order that works.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::Value;

use super::{Manifests, error::LoadError, read::Document};
use crate::{
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    handlers,
    object::meta,
    rbac::User,
    route::Query,
    scheme::Endpoint,
    status_error::StatusError,
    webhook::{Interruption, WebhookResponses},
};

/// Creates objects as a client would, CRDs, namespaces and classes first, and keeps their status. Existing objects are replaced.
pub(crate) fn load(cluster: &mut ClusterState, manifests: Manifests) -> Result<(), LoadError> {
    let mut documents = manifests.read()?;
    documents.sort_by_key(|document| match document.value["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        // Pods and claims name them.
        Some("PriorityClass" | "StorageClass") => 2,
        _ => 3,
    });
    for document in documents {
        let endpoint = endpoint(cluster, &document)?;
        let status = document.value.get("status").filter(|_| endpoint.has_status()).cloned();
        let stored = put(cluster, &endpoint, None, document.value.clone())
            .map_err(|failure| refused(&document, failure.message))?;
        if let Some(status) = status {
            let mut object = stored;
            object["status"] = status;
            put(cluster, &endpoint, Some("status"), object)
                .map_err(|failure| refused(&document, failure.message))?;
        }
    }
    Ok(())
}

fn endpoint(cluster: &ClusterState, document: &Document) -> Result<Endpoint, LoadError> {
    let text = |field: &str| document.value[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || kind.is_empty() {
        return Err(refused(document, "expected an object with apiVersion and kind"));
    }
    let (group, version) = meta::split_api_version(api_version);
    cluster.scheme().by_kind(group, version, kind).cloned().ok_or_else(|| {
        let why = format!("the server has no kind {kind} in {api_version}; is its CRD among the objects?");
        refused(document, why)
    })
}

/// Creates the object, or replaces it (or its status) if it exists.
fn put(
    cluster: &mut ClusterState,
    endpoint: &Endpoint,
    subresource: Option<&str>,
    mut object: Value,
) -> Result<Value, StatusError> {
    if subresource.is_none() {
        meta::set(&mut object, "resourceVersion", Value::Null);
        meta::set(&mut object, "uid", Value::Null);
    }
    let namespace =
        endpoint.resource.namespaced.then(|| meta::text(&object, "namespace").unwrap_or("default"));
    let mut call = Call {
        method: if subresource.is_some() { Method::PUT } else { Method::POST },
        endpoint: endpoint.clone(),
        namespace: namespace.map(Into::into),
        name: subresource.is_some().then(|| meta::name(&object).into()),
        subresource: subresource.map(Into::into),
        query: Query::parse("fieldValidation=Strict"),
        content_type: "application/json".into(),
        user_agent: "kube-testserver".into(),
        body: object.to_string().into(),
        user: Arc::new(User::admin()),
        stale: None,
        webhook_responses: WebhookResponses::disabled(),
        identity: Default::default(),
    };
    let mut response = perform(cluster, &call);
    if response.as_ref().is_err_and(|failure| failure.code == StatusCode::CONFLICT) {
        (call.method, call.name) = (Method::PUT, Some(meta::name(&object).into()));
        response = perform(cluster, &call);
    }
    Ok(match response?.content {
        Content::Object(stored) => stored.value(),
        Content::Document(document) => document,
        Content::List { .. } => Value::Null,
    })
}

fn perform(cluster: &mut ClusterState, call: &Call) -> Result<ApiResponse, StatusError> {
    handlers::perform(cluster, call).map_err(|interruption| match interruption {
        Interruption::Refused(error) => error,
        Interruption::NeedsWebhook(_) => StatusError::internal("no webhook is called for initial objects"),
    })
}

/// The error of one document, with its origin, kind and name.
fn refused(document: &Document, why: impl Into<String>) -> LoadError {
    let value = &document.value;
    let kind = value["kind"].as_str().unwrap_or("object without kind");
    let namespace = meta::text(value, "namespace").map(|ns| format!("{ns}/")).unwrap_or_default();
    LoadError::object(format!("{}: {kind} {namespace}{}", document.origin, meta::name(value)), why)
}
