//! The stage decode: from the body of a request to an object of its endpoint, and from JSON to what the kind reads of it.

use http::Method;
use serde_json::{Value, json};

use super::{ObjectWrite, body, kind::undecodable, kinds::kind_of, object_write::Writer, strict};
use crate::{call::Call, object::meta, route::FieldValidation, scheme::Endpoint, status_error::StatusError};

impl ObjectWrite<'_> {
    /// Reads the object by its kind. Unknown and duplicate fields are refused or warned of.
    pub(crate) fn decode(&mut self) -> Result<(), StatusError> {
        if self.is_trusted() {
            return Ok(());
        }
        let mut unknown = Vec::new();
        self.kind
            .decode(self.endpoint, &mut self.object, &mut unknown)
            .map_err(|why| undecodable(self.endpoint, &why))?;
        let Writer::Client(client) = &self.writer else { return Ok(()) };
        let validation = client.options.validation;
        if validation == FieldValidation::Ignore {
            return Ok(());
        }
        let problems = strict::problems(client.options, unknown);
        if validation == FieldValidation::Strict && !problems.is_empty() {
            let why = format!("strict decoding error: {}", problems.join(", "));
            return Err(undecodable(self.endpoint, &why));
        }
        self.warnings.extend(strict::once(problems));
        Ok(())
    }
}

/// The object of a create or update, as it was sent.
pub(crate) fn object(call: &Call) -> Result<Value, StatusError> {
    let mut object = body::typed(call, call.endpoint.kind())?;
    check_type(&call.endpoint, &mut object)?;
    Ok(object)
}

/// Sets a missing `apiVersion` and `kind`, and refuses any other than the endpoint's.
pub(crate) fn check_type(endpoint: &Endpoint, object: &mut Value) -> Result<(), StatusError> {
    let api_version = endpoint.api_version();
    let provided = |field: &str| object[field].as_str().unwrap_or_default();
    let (kind, version, reader) = (provided("kind"), provided("apiVersion"), kind_of(endpoint));
    let fits = version == api_version || version.is_empty() && reader.has_go_type();
    if !fits || !["", endpoint.kind()].contains(&kind) {
        return Err(reader.wrong_type(endpoint, object));
    }
    object["apiVersion"] = api_version.into();
    object["kind"] = endpoint.kind().into();
    Ok(())
}

/// Sets the namespace of the path. The name in the path of a custom resource is ignored on create.
pub(crate) fn set_namespace(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    decode_metadata(call, object)?;
    place(call, object)
}

/// Sets the namespace of the path; a body without the name of the path is refused.
pub(crate) fn set_identity(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    decode_metadata(call, object)?;
    match (call.name.as_deref(), meta::name(object)) {
        (Some(name), "") => Err(StatusError::nameless(name)),
        (Some(name), provided) if provided != name => Err(StatusError::bad_request(format!(
            "the name of the object ({provided}) does not match the name on the URL ({name})"
        ))),
        _ => place(call, object),
    }
}

fn decode_metadata(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    match call.method {
        Method::PATCH => Ok(()),
        _ => kind_of(&call.endpoint).decode_metadata(&call.endpoint, object),
    }
}

fn place(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    if meta::map_mut(object).is_none() {
        return Err(StatusError::bad_request("metadata must be an object"));
    }
    let provided = meta::text(object, "namespace").unwrap_or_default();
    // That of an object without a namespace is ignored.
    if !provided.is_empty() && call.namespace.as_deref().is_some_and(|namespace| provided != namespace) {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(StatusError::bad_request(message));
    }
    meta::set(object, "namespace", call.namespace.clone());
    Ok(())
}
