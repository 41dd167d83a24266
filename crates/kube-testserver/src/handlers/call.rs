use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Map, Value};

use crate::{
    auth::User,
    cluster::ClusterState,
    conversion, ids, meta,
    route::Query,
    scheme::Endpoint,
    status_error::StatusError,
    store::{Key, Stored},
    strategy::WritePart,
    webhook::WebhookResponses,
};

/// One request to a resource, its body complete.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) endpoint: Endpoint,
    pub(crate) namespace: Option<String>,
    /// `None`: the collection.
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    pub(crate) query: Query,
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    pub(crate) body: Bytes,
    pub(crate) user: Arc<User>,
    /// What was asked outside for this request, and answered.
    pub(crate) webhook_responses: WebhookResponses,
    pub(crate) identity: GeneratedIdentity,
    /// Reads show the state of this earlier revision.
    pub(crate) stale: Option<u64>,
}

/// What a new object is called by: the same however often its verb runs.
#[derive(Debug, Default)]
pub(crate) struct GeneratedIdentity {
    uid: OnceLock<String>,
    name: OnceLock<String>,
}

/// What goes back, before it is put into the form the client wants.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) code: StatusCode,
    pub(crate) content: Content,
    /// Sent as `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Content {
    Object(Arc<Stored>),
    List {
        objects: Vec<Arc<Stored>>,
        revision: u64,
        /// `continue` and `remainingItemCount`.
        more: Map<String, Value>,
    },
    /// A kind of its own: a `Status` or a `Scale`.
    Document(Value),
}

impl ApiResponse {
    pub(crate) fn ok(content: Content) -> Self {
        Self { code: StatusCode::OK, content, warnings: Vec::new() }
    }
}

impl Call {
    /// The verb of discovery and authorization.
    pub(crate) fn verb(&self) -> &'static str {
        match (self.method.as_str(), &self.name) {
            // Only the handler of custom resources answers HEAD.
            ("HEAD", _) if !self.endpoint.resource.custom => "",
            ("GET" | "HEAD", Some(_)) => "get",
            ("GET" | "HEAD", None) => "list",
            ("POST", _) => "create",
            ("PUT", Some(_)) => "update",
            ("PATCH", Some(_)) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            _ => "",
        }
    }

    /// Gives a new object the name that it webhook_call the server for.
    pub(super) fn name_new(&self, object: &mut Value) {
        if meta::name(object).is_empty()
            && let Some(base) = meta::text(object, "generateName")
        {
            let name = self.identity.name.get_or_init(|| ids::generated_name(base));
            meta::set(object, "name", name.as_str());
        }
    }

    pub(super) fn new_uid(&self) -> &str {
        self.identity.uid.get_or_init(ids::uid)
    }

    /// A stored object in the version of the call.
    pub(super) fn read(&self, cluster: &ClusterState, stored: &Stored) -> Result<Value, StatusError> {
        conversion::from_storage(cluster, &self.endpoint, &self.webhook_responses, stored)
    }

    /// An object of the call in the version that is stored.
    pub(super) fn to_storage(&self, cluster: &ClusterState, object: Value) -> Result<Value, StatusError> {
        conversion::to_storage(cluster, &self.endpoint, &self.webhook_responses, object)
    }

    pub(super) fn key(&self) -> Key {
        Key::new(self.namespace.as_deref(), self.object_name())
    }

    pub(super) fn object_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn part(&self) -> WritePart {
        match self.subresource.as_deref() {
            Some("status") => WritePart::Status,
            Some("finalize") => WritePart::Finalize,
            Some("approval") => WritePart::Approval,
            Some("ephemeralcontainers") => WritePart::EphemeralContainers,
            Some("resize") => WritePart::Resize,
            _ => WritePart::Main,
        }
    }

    /// Who writes, as managed fields record it: the query's field manager, else the first word of the user agent.
    pub(super) fn manager(&self) -> String {
        let agent =
            || self.user_agent.split(['/', ' ']).next().filter(|name| !name.is_empty()).unwrap_or("unknown");
        self.query.get("fieldManager").map_or_else(|| agent().to_string(), str::to_string)
    }

    pub(super) fn not_found(&self) -> StatusError {
        StatusError::not_found(self.endpoint.group(), self.endpoint.plural(), self.object_name())
    }

    pub(super) fn stale(&self) -> StatusError {
        StatusError::stale(self.endpoint.group(), self.endpoint.plural(), self.object_name())
    }
}
