//! One constructor per kind of error, with the message of the genuine server.

use http::StatusCode;

use super::{Cause, Details, StatusError};
use crate::schema::FieldError;

/// One function per kind of error, with the message of the genuine server. `group` and `plural` name the resource.
impl StatusError {
    pub(crate) fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(plural, group));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(named(group, plural, name))
    }

    /// No resource or subresource is served at this path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
            .about(Details::default())
    }

    pub(crate) fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(plural, group));
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(named(group, plural, name))
    }

    /// The name is taken by an object that is being deleted.
    pub(crate) fn while_deleting(mut self) -> Self {
        self.message.insert_str(0, "object is being deleted: ");
        self
    }

    pub(crate) fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", qualified(plural, group));
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(named(group, plural, name))
    }

    /// The resourceVersion of a write is outdated.
    pub(crate) fn stale(group: &str, plural: &str, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, plural, name, why)
    }

    /// 422 with one cause per field; `kind` is usually a kind, in a few places a resource.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let each: Vec<String> = errors.iter().map(|e| format!("{}: {}", e.field, e.message)).collect();
        let summary = match each.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {summary}", qualified(kind, group));
        let causes = errors
            .iter()
            .map(|e| Cause { reason: e.reason.into(), message: e.message.clone(), field: e.field.clone() })
            .collect();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
            .about(Details { causes, ..named(group, kind, name) })
    }

    /// 422 about one option of the request itself.
    pub(crate) fn invalid_option(options: &str, errors: &[FieldError]) -> Self {
        Self::invalid("meta.k8s.io", options, "", errors)
    }

    pub(crate) fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", qualified(plural, group));
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(named(group, plural, name))
    }

    /// A failure that Kubernetes does not explain any further.
    pub(crate) fn unexplained(why: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", why)
    }

    pub(crate) fn internal(why: impl std::fmt::Display) -> Self {
        let cause = Cause { message: why.to_string(), ..Cause::default() };
        let message = format!("Internal error occurred: {why}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
            .about(Details { causes: vec![cause], ..Details::default() })
    }

    /// The object in the body of a write has no name; `name` is the one in the path.
    pub(crate) fn nameless(name: &str) -> Self {
        Self::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))
    }

    /// The credentials are not valid.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 403 from the authorizer, which names the object only if the request does.
    pub(crate) fn denied(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let mut failure = Self::forbidden(group, plural, name, why);
        if name.is_empty() {
            failure.message = format!("{} is forbidden: {why}", qualified(plural, group));
        }
        failure
    }

    /// 403 from the authorizer on a non-resource path.
    pub(crate) fn denied_path(why: &str) -> Self {
        let message = format!("forbidden: {why}");
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(Details::default())
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(Details::default())
    }

    pub(crate) fn unsupported_media_type(accepted: &str) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// No handler of a built-in kind accepts this content type.
    pub(crate) fn unrouted_media_type() -> Self {
        let message = "415: Unsupported Media Type";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
            .about(Details::default())
    }

    /// No handler of a built-in kind has an acceptable representation.
    pub(crate) fn unrouted_accept(available: &str) -> Self {
        Self::not_acceptable(format!("406: Not Acceptable\n\nAvailable representations: {available}"))
            .about(Details::default())
    }

    pub(crate) fn accepts_only(accepted: &str) -> Self {
        Self::not_acceptable(format!("only the following media types are accepted: {accepted}"))
    }

    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// Watches stream JSON lines only.
    pub(crate) fn no_such_stream() -> Self {
        Self::accepts_only("application/json;stream=watch")
    }

    pub(crate) fn too_large(why: impl std::fmt::Display) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// The requested resourceVersion is no longer in the history.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The requested resourceVersion is in the future.
    pub(crate) fn too_large_resource_version(requested: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        let cause = Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: "Too large resource version".into(),
            field: String::new(),
        };
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).about(Details {
            causes: vec![cause],
            retry_after_seconds: 1,
            ..Details::default()
        })
    }

    /// The resourceVersion is not a number.
    pub(crate) fn unreadable_resource_version(provided: &str) -> Self {
        let message = format!(
            "resourceVersion: Invalid value: {provided:?}: strconv.ParseUint: parsing {provided:?}: invalid syntax"
        );
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }
}

fn named(group: &str, kind: &str, name: &str) -> Details {
    Details { name: name.into(), group: group.into(), kind: kind.into(), ..Details::default() }
}

fn qualified(kind: &str, group: &str) -> String {
    if group.is_empty() { kind.into() } else { format!("{kind}.{group}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_equal_those_of_a_genuine_server() {
        let status = StatusError::not_found("srv.test", "widgets", "zz").status();
        let expected = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "widgets.srv.test \"zz\" not found", "reason": "NotFound",
            "details": {"name": "zz", "group": "srv.test", "kind": "widgets"}, "code": 404});
        assert_eq!(status, expected);

        let error = |field: &str| FieldError {
            field: field.into(),
            reason: "FieldValueRequired",
            message: "Required value".into(),
        };
        let one = StatusError::invalid("", "ConfigMap", "", &[error("metadata.name")]);
        assert_eq!(one.message, "ConfigMap \"\" is invalid: metadata.name: Required value");
        let two = StatusError::invalid("g", "K", "n", &[error("a"), error("b")]);
        assert_eq!(two.message, "K.g \"n\" is invalid: [a: Required value, b: Required value]");
        assert_eq!(two.status()["details"]["causes"][1]["field"], "b");
    }
}
