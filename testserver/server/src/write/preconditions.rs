//! What a write requires of the stored state: its namespace, and the version that it replaces.

use http::Method;
use serde_json::Value;

use super::{ObjectWrite, WriteContext, object_write::Replaced};
use crate::{
    call::Call,
    object::meta,
    schema::{ErrorList, FieldError},
    status_error::{Cause, StatusError},
    storage::{Key, Storage},
    strategy,
};

impl ObjectWrite<'_> {
    /// Refuses to create custom resources while all of them are being deleted.
    pub(super) fn check_served(&self) -> Result<(), StatusError> {
        if self.call().is_none() || !self.creates() || !self.endpoint.resource.terminating {
            return Ok(());
        }
        let why = "create not allowed while custom resource definition is terminating";
        let (group, plural) = (self.endpoint.group(), self.endpoint.plural());
        Err(StatusError::forbidden(group, plural, meta::name(&self.object), why))
    }

    /// Refuses to create in a namespace that does not exist or is being deleted.
    pub(super) fn check_place(&self, context: &WriteContext<'_>) -> Result<(), StatusError> {
        let Some(call) = self.call().filter(|_| self.creates()) else { return Ok(()) };
        check_namespace(context.admission.storage, call, &self.object)
    }

    /// Checks what the object says about the version that it replaces.
    pub(super) fn check_preconditions(&self) -> Result<(), StatusError> {
        let (Some(call), Some(replaced)) = (self.call(), self.replaced) else { return Ok(()) };
        check_identity(call, replaced, &self.object)?;
        check_immutable(call, replaced.object, &self.object)
    }
}

/// Refuses a write without a resourceVersion, if the kind needs one. `0` is none.
pub(crate) fn check_versioned(call: &Call, object: &Value) -> Result<(), StatusError> {
    let given = meta::text(object, "resourceVersion").is_some_and(|version| version != "0");
    if given || !strategy::needs_version(&call.endpoint) {
        return Ok(());
    }
    let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
    Err(StatusError::invalid(call.endpoint.group(), call.endpoint.plural(), call.object_name(), &[error]))
}

pub(crate) fn wrong_uid(call: &Call, requested: &str, stored: &str) -> StatusError {
    let why = format!("Precondition failed: UID in precondition: {requested}, UID in object meta: {stored}");
    StatusError::conflict(call.endpoint.group(), call.endpoint.plural(), call.object_name(), &why)
}

fn check_identity(call: &Call, replaced: Replaced<'_>, new: &Value) -> Result<(), StatusError> {
    let stored = replaced.stored;
    let uid = meta::text(new, "uid").filter(|uid| *uid != &*stored.uid);
    if let Some(uid) = uid.filter(|_| call.method == Method::PUT) {
        return Err(wrong_uid(call, uid, &stored.uid));
    }
    match meta::text(new, "resourceVersion") {
        None | Some("0") => Ok(()),
        Some(version) if version.parse::<u64>().is_err() => {
            Err(StatusError::unexplained(format!("strconv.ParseUint: parsing {version:?}: invalid syntax")))
        }
        Some(version) if version == stored.revision.to_string() => Ok(()),
        Some(_) => Err(call.stale()),
    }
}

/// Refuses changes of immutable metadata. Subresource writes ignore them, and every write ignores the time of a deletion in progress.
fn check_immutable(call: &Call, old: &Value, new: &Value) -> Result<(), StatusError> {
    if call.subresource.is_some() {
        return Ok(());
    }
    let mut errors = ErrorList::default();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (provided, current) = (&new["metadata"][field], &old["metadata"][field]);
        let restored = field == "deletionTimestamp" && meta::is_deleting(old);
        if !provided.is_null() && *provided != "" && provided != current && !restored {
            let field = format!("metadata.{field}");
            errors.invalid(field, provided, "field is immutable");
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid(call, &errors)) }
}

fn invalid(call: &Call, errors: &[FieldError]) -> StatusError {
    StatusError::invalid(call.endpoint.group(), call.endpoint.kind(), call.object_name(), errors)
}

/// Refuses to create objects in a missing or terminating namespace.
fn check_namespace(storage: &Storage, call: &Call, object: &Value) -> Result<(), StatusError> {
    let Some(name) = call.namespace.as_deref() else { return Ok(()) };
    let namespace = storage.object("", "namespaces", &Key::new(None, name));
    let Some(namespace) = namespace else { return Err(StatusError::not_found("", "namespaces", name)) };
    if !namespace.deleting {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {name} because it is being terminated");
    let object_name = Some(meta::name_or_base(object)).filter(|name| !name.is_empty()).unwrap_or("Unknown");
    let mut failure =
        StatusError::forbidden(call.endpoint.group(), call.endpoint.plural(), object_name, &why);
    if let Some(details) = &mut failure.details {
        details.causes.push(Cause {
            reason: "NamespaceTerminating".into(),
            message: format!("namespace {name} is being terminated"),
            field: "metadata.namespace".into(),
        });
    }
    Err(failure)
}
