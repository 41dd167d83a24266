//! A write as built-in plugins see it, and the objects that they read.

use serde_json::Value;

use crate::{
    admission::QuotaLedger,
    scheme::Endpoint,
    status_error::StatusError,
    storage::{Key, Storage},
};

/// The operation under admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    /// A connection into a pod; the object holds its options.
    Connect,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    /// The kind of the options of the request.
    pub(crate) fn options(self) -> Option<&'static str> {
        match self {
            Self::Create => Some("CreateOptions"),
            Self::Update => Some("UpdateOptions"),
            Self::Delete => Some("DeleteOptions"),
            Self::Connect => None,
        }
    }
}

/// A write, as plugins see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'a> {
    pub(crate) operation: Operation,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) old: Option<&'a Value>,
}

impl Write<'_> {
    /// Whether this writes objects of a built-in resource, and not a subresource of them.
    pub(crate) fn writes(&self, operations: &[Operation], group: &str, plural: &str) -> bool {
        self.subresource.is_none()
            && operations.contains(&self.operation)
            && self.endpoint.resource.is(group, plural)
    }

    /// 403 with the message of the genuine server.
    pub(crate) fn forbidden(&self, name: &str, why: &str) -> StatusError {
        StatusError::forbidden(self.endpoint.group(), self.endpoint.plural(), name, why)
    }
}

/// The objects of the server, for plugins to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objects<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) quotas: &'a QuotaLedger,
}

impl Objects<'_> {
    /// An object by its resource and name; `namespace` is `None` at cluster scope.
    pub(crate) fn get(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Value> {
        Some(self.storage.object(group, plural, &Key::new(namespace, name))?.value())
    }

    /// All objects of a resource, or those of one namespace, by name.
    pub(crate) fn list<'s>(
        &'s self,
        group: &'s str,
        plural: &'s str,
        namespace: Option<&'s str>,
    ) -> impl Iterator<Item = Value> + use<'s> {
        let table = self.storage.table(group, plural);
        let objects = table.into_iter().flat_map(move |table| self.storage.store.objects(table, namespace));
        objects.map(|stored| stored.value())
    }
}
