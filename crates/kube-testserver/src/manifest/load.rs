use std::{io, path::PathBuf, sync::Arc};

use http::{Method, StatusCode};
use serde_json::Value;

use super::{Manifests, read::Document};
use crate::{
    auth::User,
    failure::Failure,
    meta,
    registry::Endpoint,
    route::Query,
    verb::{self, Call, Content},
    webhook::Answers,
    world::World,
};

/// Why objects could not be taken in. The message names the file and document, and the object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file or directory is not there or cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Text that is no YAML.
    #[error("{origin} is no YAML: {why}")]
    Yaml {
        /// The file, or "the YAML text".
        origin: String,
        /// What is wrong, with line and column.
        why: String,
    },
    /// An object that the server refuses, as it would refuse it from a client.
    #[error("{object}: {why}")]
    Object {
        /// Where it comes from, its kind and name.
        object: String,
        /// The server's message.
        why: String,
    },
}

impl LoadError {
    pub(super) fn object(object: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Object { object: object.into(), why: why.into() }
    }

    fn of(document: &Document, why: impl Into<String>) -> Self {
        let value = &document.value;
        let kind = value["kind"].as_str().unwrap_or("object without kind");
        let namespace = meta::text(value, "namespace").map(|ns| format!("{ns}/")).unwrap_or_default();
        Self::object(format!("{}: {kind} {namespace}{}", document.origin, meta::name(value)), why)
    }
}

/// Creates objects as a client would, definitions and namespaces first. What they say of their status is taken over. One that
/// is there already is replaced.
pub(crate) fn load(world: &mut World, manifests: Manifests) -> Result<(), LoadError> {
    let mut documents = manifests.read()?;
    documents.sort_by_key(|document| match document.value["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    });
    for document in documents {
        let endpoint = endpoint(world, &document)?;
        let status = document.value.get("status").filter(|_| endpoint.has_status()).cloned();
        let stored = put(world, &endpoint, None, document.value.clone())
            .map_err(|failure| LoadError::of(&document, failure.message))?;
        if let Some(status) = status {
            let mut object = stored;
            object["status"] = status;
            put(world, &endpoint, Some("status"), object)
                .map_err(|failure| LoadError::of(&document, failure.message))?;
        }
    }
    Ok(())
}

fn endpoint(world: &World, document: &Document) -> Result<Endpoint, LoadError> {
    let text = |field: &str| document.value[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || kind.is_empty() {
        return Err(LoadError::of(document, "expected an object with apiVersion and kind"));
    }
    let (group, version) = meta::split_api_version(api_version);
    world.registry.by_kind(group, version, kind).cloned().ok_or_else(|| {
        let why = format!("the server has no kind {kind} in {api_version}; is its CRD among the objects?");
        LoadError::of(document, why)
    })
}

/// Creates the object, or replaces it (or its status) when it is there.
fn put(
    world: &mut World,
    endpoint: &Endpoint,
    subresource: Option<&str>,
    mut object: Value,
) -> Result<Value, Failure> {
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
        answers: Answers::closed(),
        identity: Default::default(),
    };
    let mut answer = verb::perform(world, &call);
    if answer.as_ref().is_err_and(|failure| failure.code == StatusCode::CONFLICT) {
        (call.method, call.name) = (Method::PUT, Some(meta::name(&object).into()));
        answer = verb::perform(world, &call);
    }
    Ok(match answer?.content {
        Content::Object(stored) => stored.value(),
        Content::Document(document) => document,
        Content::List { .. } => Value::Null,
    })
}
