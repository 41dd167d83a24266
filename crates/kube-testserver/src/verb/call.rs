use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Map, Value};

use crate::{
    auth::User,
    failure::Failure,
    registry::Endpoint,
    route::Query,
    store::{Key, Stored},
    strategy::Part,
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
    /// Reads show the state of this earlier revision.
    pub(crate) stale: Option<u64>,
}

/// What goes back, before it is put into the form the client wants.
#[derive(Debug)]
pub(crate) struct Answer {
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

impl Answer {
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

    pub(super) fn key(&self) -> Key {
        Key::new(self.namespace.as_deref(), self.object_name())
    }

    pub(super) fn object_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(super) fn part(&self) -> Part {
        match self.subresource.as_deref() {
            Some("status") => Part::Status,
            Some("finalize") => Part::Finalize,
            _ => Part::Main,
        }
    }

    /// Who writes, as managed fields record it: the query's field manager, else the first word of the user agent.
    pub(super) fn manager(&self) -> String {
        let agent =
            || self.user_agent.split(['/', ' ']).next().filter(|name| !name.is_empty()).unwrap_or("unknown");
        self.query.get("fieldManager").map_or_else(|| agent().to_string(), str::to_string)
    }

    pub(super) fn not_found(&self) -> Failure {
        Failure::not_found(self.endpoint.group(), self.endpoint.plural(), self.object_name())
    }

    pub(super) fn stale(&self) -> Failure {
        Failure::stale(self.endpoint.group(), self.endpoint.plural(), self.object_name())
    }
}
