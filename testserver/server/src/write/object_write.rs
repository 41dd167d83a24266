//! A write of one object on its way, and the order of its stages.

use std::sync::Arc;

use serde_json::Value;

use super::{allocator::ServiceAllocator, kind::Kind, kinds::kind_of};
use crate::{
    admission::{self, AdmissionContext, Attributes, Operation},
    apply::Ownership,
    call::Call,
    object::meta,
    route::WriteOptions,
    scheme::Endpoint,
    status_error::StatusError,
    storage::{Key, Storage, Stored},
    strategy::WritePart,
    webhook::Interruption,
};

/// What the stages read of a server.
pub(crate) struct WriteContext<'a> {
    pub(crate) admission: AdmissionContext<'a>,
    pub(crate) services: &'a ServiceAllocator,
    /// RFC 3339.
    pub(crate) now: String,
}

/// A write of one object, which is new or replaces a stored version.
pub(crate) struct ObjectWrite<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(super) kind: &'static dyn Kind,
    pub(super) namespace: Option<&'a str>,
    pub(super) writer: Writer<'a>,
    pub(super) replaced: Option<Replaced<'a>>,
    /// Whether the object was sent with the version of a stored one.
    pub(crate) has_version: bool,
    /// As far as the stages have come.
    pub(crate) object: Value,
    /// What the response, or the refusal, warns of.
    pub(crate) warnings: Vec<String>,
}

/// Who writes.
pub(crate) enum Writer<'a> {
    Client(ClientWrite<'a>),
    /// A controller of the server.
    Controller,
    /// The server itself: an object that every cluster has is valid, and judging it would delay each start.
    Server,
}

/// The request of a client.
pub(crate) struct ClientWrite<'a> {
    pub(super) call: &'a Call,
    pub(super) options: &'a WriteOptions,
    pub(super) ownership: Ownership,
}

/// A stored version, and what it is in the version of the endpoint.
#[derive(Clone, Copy)]
pub(crate) struct Replaced<'a> {
    pub(crate) stored: &'a Arc<Stored>,
    pub(crate) object: &'a Value,
}

impl<'a> ObjectWrite<'a> {
    /// The write of a request; `replaced` is `None` if it creates.
    pub(crate) fn by_client(
        call: &'a Call,
        options: &'a WriteOptions,
        ownership: Ownership,
        replaced: Option<Replaced<'a>>,
        object: Value,
    ) -> Self {
        let writer = Writer::Client(ClientWrite { call, options, ownership });
        Self { replaced, ..Self::create(writer, &call.endpoint, call.namespace.as_deref(), object) }
    }

    /// A creation.
    pub(crate) fn create(
        writer: Writer<'a>,
        endpoint: &'a Endpoint,
        namespace: Option<&'a str>,
        object: Value,
    ) -> Self {
        Self {
            endpoint,
            kind: kind_of(endpoint),
            namespace,
            writer,
            replaced: None,
            has_version: has_version(&object),
            object,
            warnings: Vec::new(),
        }
    }

    /// The update of an object of a controller.
    pub(crate) fn replacing(self, replaced: Replaced<'a>) -> Self {
        Self { replaced: Some(replaced), ..self }
    }

    /// Whether the object is valid as it is made.
    pub(super) fn is_trusted(&self) -> bool {
        matches!(self.writer, Writer::Server)
    }

    /// Takes the object through all stages before it is stored.
    pub(crate) fn pass(&mut self, context: &WriteContext<'_>) -> Result<(), Interruption> {
        self.check_served()?;
        // About the object as it was sent, but nothing is said about one that cannot be decoded.
        let preconditions = self.check_preconditions();
        self.decode()?;
        preconditions?;
        self.default();
        self.check_place(context)?;
        self.admit(context)?;
        self.prepare(context)?;
        self.validate(context)
    }

    /// Decodes an object that is answered and not stored, and sets what it leaves out.
    pub(crate) fn read(&mut self) -> Result<Value, StatusError> {
        self.decode()?;
        self.default();
        self.kind.encode(self.endpoint, &mut self.object);
        Ok(self.object.take())
    }

    pub(crate) fn creates(&self) -> bool {
        self.replaced.is_none()
    }

    pub(crate) fn is_dry_run(&self) -> bool {
        matches!(&self.writer, Writer::Client(client) if client.options.dry_run)
    }

    /// Where the object is stored, once it has a name.
    pub(crate) fn key(&self) -> Key {
        Key::new(self.namespace, meta::name(&self.object))
    }

    /// The object that passed, in the storage version.
    pub(crate) fn take_stored_form(&mut self, storage: &Storage) -> Result<Value, Interruption> {
        let object = self.object.take();
        match self.call() {
            Some(call) => call.to_storage(storage, object),
            None => Ok(object),
        }
    }

    pub(super) fn old(&self) -> Option<&'a Value> {
        self.replaced.map(|replaced| replaced.object)
    }

    pub(super) fn part(&self) -> WritePart {
        self.call().map_or(WritePart::Main, Call::part)
    }

    pub(crate) fn call(&self) -> Option<&'a Call> {
        match &self.writer {
            Writer::Client(client) => Some(client.call),
            Writer::Controller | Writer::Server => None,
        }
    }

    /// The write as built-in plugins see it.
    pub(super) fn plugin_write(&self) -> admission::Write<'a> {
        admission::Write {
            operation: self.operation(),
            endpoint: self.endpoint,
            subresource: self.call().and_then(|call| call.subresource.as_deref()),
            namespace: self.namespace,
            old: self.old(),
        }
    }

    /// The write as webhooks and policies see it, which are for requests; `by_controller` is [the one of a controller](Self::as_request).
    pub(super) fn attributes<'c>(&self, by_controller: Option<&'c Call>) -> Option<Attributes<'c>>
    where
        'a: 'c,
    {
        let call = self.call().or(by_controller)?;
        let (operation, dry_run) = (self.operation(), self.is_dry_run());
        Some(Attributes { operation, call, object: None, old: self.old(), dry_run })
    }

    /// Whether admission reviews the object. Of a write through `scale` it reviews the Scale.
    pub(super) fn is_reviewed(&self) -> bool {
        self.call().is_none_or(|call| call.subresource.as_deref() != Some("scale"))
    }

    fn operation(&self) -> Operation {
        if self.creates() { Operation::Create } else { Operation::Update }
    }
}

/// Whether an object has the version of a stored one. What is not a number is no version.
fn has_version(object: &Value) -> bool {
    let version = meta::text(object, "resourceVersion");
    version.is_some_and(|version| version.parse::<u64>().is_ok_and(|version| version > 0))
}
