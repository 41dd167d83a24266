//! One resource request with its whole body, and its response before it is encoded.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Map, Value};

use crate::{
    crd::conversion::{self, Unconverted},
    ids::Ids,
    object::meta,
    rbac::User,
    response::Offer,
    route::Query,
    scheme::Endpoint,
    status_error::StatusError,
    storage::{Key, Storage, Stored},
    strategy::WritePart,
    webhook::{Interruption, WebhookResponses},
};

/// A resource request with its whole body.
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
    /// The webhook responses for this request so far.
    pub(crate) webhook_responses: WebhookResponses,
    pub(crate) identity: GeneratedIdentity,
    /// Reads return the state at this earlier revision.
    pub(crate) stale: Option<u64>,
}

/// What is generated for a written object. It stays the same when the handler runs again: webhooks have seen it.
#[derive(Debug, Default)]
pub(crate) struct GeneratedIdentity {
    uid: OnceLock<String>,
    name: OnceLock<String>,
    /// The name of the volume that a plugin adds to a pod.
    volume: OnceLock<String>,
    /// The time of the write.
    time: OnceLock<String>,
}

/// The response before it is encoded.
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
    /// Another kind, such as `Status` or `Scale`.
    Document(Value),
}

impl ApiResponse {
    pub(crate) fn ok(content: Content) -> Self {
        Self { code: StatusCode::OK, content, warnings: Vec::new() }
    }
}

impl Call {
    /// The verb, as in discovery and RBAC.
    pub(crate) fn verb(&self) -> &'static str {
        match (self.method.as_str(), &self.name) {
            // Only custom resources support HEAD.
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

    /// Generates the name of a new object with `generateName`.
    pub(crate) fn name_new(&self, ids: &Ids, object: &mut Value) {
        if meta::name(object).is_empty()
            && let Some(base) = meta::text(object, "generateName")
        {
            let name = self.identity.name.get_or_init(|| ids.generated_name(base));
            meta::set(object, "name", name.as_str());
        }
    }

    pub(crate) fn new_uid(&self, ids: &Ids) -> &str {
        self.identity.uid.get_or_init(|| ids.uid())
    }

    /// The name of a volume that is added to a new pod.
    pub(crate) fn new_volume(&self, ids: &Ids, base: &str) -> String {
        self.identity.volume.get_or_init(|| ids.generated_name(base)).clone()
    }

    /// The time of the write: that of the first run.
    pub(crate) fn write_time(&self, now: String) -> String {
        self.identity.time.get_or_init(|| now).clone()
    }

    /// Converts a stored object to the version of the call.
    pub(crate) fn read(&self, storage: &Storage, stored: &Stored) -> Result<Value, Interruption> {
        conversion::from_storage(storage, &self.endpoint, &self.webhook_responses, stored)
            .map_err(|unconverted| self.unread(unconverted, stored))
    }

    /// Converts stored objects of one list to the version of the call.
    pub(crate) fn read_all(
        &self,
        storage: &Storage,
        objects: &[Arc<Stored>],
    ) -> Result<Vec<Arc<Stored>>, Interruption> {
        conversion::in_requested_version(storage, &self.endpoint, &self.webhook_responses, objects)
            .map_err(|unconverted| unconverted.in_list(&self.endpoint, objects))
    }

    /// The failure to read an object: a write that has to read it says less.
    pub(crate) fn unread(&self, unconverted: Unconverted, stored: &Stored) -> Interruption {
        match self.verb() {
            "get" | "list" | "delete" | "deletecollection" => unconverted.in_read(&self.endpoint, stored),
            _ => unconverted.in_write(stored),
        }
    }

    /// Converts an object of the call to the storage version.
    pub(crate) fn to_storage(&self, storage: &Storage, object: Value) -> Result<Value, Interruption> {
        Ok(conversion::to_storage(storage, &self.endpoint, &self.webhook_responses, object)?)
    }

    /// The representations of what the call returns.
    pub(crate) fn offer(&self) -> Offer {
        let is_read = match self.subresource.as_deref().and_then(|name| self.endpoint.subresource(name)) {
            Some(part) => part.verbs.iter().any(|verb| verb == "get"),
            None => self.endpoint.allows("get"),
        };
        Offer { protobuf: !self.endpoint.resource.custom, tables: is_read }
    }

    pub(crate) fn key(&self) -> Key {
        Key::new(self.namespace.as_deref(), self.object_name())
    }

    pub(crate) fn object_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn part(&self) -> WritePart {
        match self.subresource.as_deref() {
            Some("status") => WritePart::Status,
            Some("finalize") => WritePart::Finalize,
            Some("approval") => WritePart::Approval,
            Some("ephemeralcontainers") => WritePart::EphemeralContainers,
            Some("resize") => WritePart::Resize,
            _ => WritePart::Main,
        }
    }

    /// The field manager: the one in the query, else the first word of the user agent.
    pub(crate) fn manager(&self) -> String {
        let agent =
            || self.user_agent.split(['/', ' ']).next().filter(|name| !name.is_empty()).unwrap_or("unknown");
        self.query.get("fieldManager").map_or_else(|| agent().to_string(), str::to_string)
    }

    pub(crate) fn not_found(&self) -> StatusError {
        StatusError::not_found(self.endpoint.group(), self.endpoint.plural(), self.object_name())
    }

    pub(crate) fn stale(&self) -> StatusError {
        StatusError::stale(self.endpoint.group(), self.endpoint.plural(), self.object_name())
    }
}
