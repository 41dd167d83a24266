//! The `Status` object: success or failure of a request.

use std::{fmt, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{Deserialize, Serialize};

use super::reason;

/// The result of a request: the response of a server if it is not an object, the object of an error event in a watch, and
/// the result in webhook responses.
///
/// On the wire it is `{"kind": "Status", "apiVersion": "v1", ...}`; decoding ignores these two fields, and serializing omits
/// them and all empty fields.
///
/// ```
/// use kube_core::Status;
///
/// let status: Status = serde_json::from_str(
///     r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":404,
///         "message":"pods \"web\" not found","reason":"NotFound","details":{"name":"web","kind":"pods"}}"#,
/// )?;
/// assert!(status.is_not_found());
/// assert_eq!(status.to_string(), "pods \"web\" not found (NotFound, code 404)");
/// assert!(status.is_failure() && !status.is_success() && Status::success().is_success());
///
/// // The reason refines the code: both of these are 409.
/// let exists = Status::failure("a exists", "AlreadyExists").with_code(409);
/// assert!(exists.is_already_exists() && !exists.is_conflict());
/// let changed = Status::failure("a has changed", "Conflict").with_code(409).boxed();
/// assert!(changed.is_conflict() && !changed.is_already_exists());
///
/// // The questions are those of `k8s.io/apimachinery/pkg/api/errors` in Go, with the same answers.
/// let expired = Status::failure("too old resource version: 5 (90)", "Expired").with_code(410);
/// assert!(expired.is_expired() && !expired.is_gone());
///
/// // Without a reason, as in responses of proxies, the code is used.
/// assert!(Status::failure("", "").with_code(403).is_forbidden());
/// assert!(Status::failure("", "").with_code(422).is_invalid());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Success or failure; `None` if the server did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusSummary>,
    /// The suggested HTTP status code, 0 if the server sent none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
    /// The human-readable description. Its wording changes between server versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// List metadata; some servers return a continue token here if the token of the request has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ListMeta>,
    /// The machine-readable reason, one of the constants in [`reason`]. It refines the code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Details of the reason; `None` if the server sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
}

impl Status {
    /// A success without code and message.
    pub fn success() -> Self {
        Self { status: Some(StatusSummary::Success), ..Self::default() }
    }

    /// A failure with a human-readable message and a machine-readable [`reason`].
    pub fn failure(message: &str, reason: &str) -> Self {
        Self {
            status: Some(StatusSummary::Failure),
            message: message.into(),
            reason: reason.into(),
            ..Self::default()
        }
    }

    /// Boxes the status, as errors hold it.
    pub fn boxed(self) -> Box<Self> {
        Box::new(self)
    }

    /// Sets the HTTP status code, which is not checked against the reason.
    pub fn with_code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// Sets the details, replacing earlier ones.
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(details);
        self
    }

    /// Whether the status is `Success`; false if it is absent.
    pub fn is_success(&self) -> bool {
        self.status == Some(StatusSummary::Success)
    }

    /// Whether the status is `Failure`; false if it is absent, even with a code of 400 or more.
    pub fn is_failure(&self) -> bool {
        self.status == Some(StatusSummary::Failure)
    }

    /// Whether the object or kind does not exist: reason `NotFound`, or code 404 without a known reason.
    pub fn is_not_found(&self) -> bool {
        self.has_reason(reason::NOT_FOUND, 404)
    }

    /// Whether an object of the same name exists: reason `AlreadyExists`. The code 409 alone is ambiguous.
    pub fn is_already_exists(&self) -> bool {
        self.reason == reason::ALREADY_EXISTS
    }

    /// Whether the object changed since it was read, or another manager owns a field: reason `Conflict`, or code 409
    /// without a known reason.
    pub fn is_conflict(&self) -> bool {
        self.has_reason(reason::CONFLICT, 409)
    }

    /// Whether the caller may not do this: reason `Forbidden`, or code 403 without a known reason.
    pub fn is_forbidden(&self) -> bool {
        self.has_reason(reason::FORBIDDEN, 403)
    }

    /// Whether the object or the parameters are invalid: reason `Invalid`, or code 422 without a known reason.
    pub fn is_invalid(&self) -> bool {
        self.has_reason(reason::INVALID, 422)
    }

    /// Whether the server no longer has what was requested: reason `Gone`, or code 410 without a known reason. See
    /// [`is_expired`](Self::is_expired).
    pub fn is_gone(&self) -> bool {
        self.has_reason(reason::GONE, 410)
    }

    /// Whether the resourceVersion or continue token is too old: reason `Expired`. Servers send it with code 410, but some send that code
    /// alone ([`is_gone`](Self::is_gone)): to relist, ask for either.
    pub fn is_expired(&self) -> bool {
        self.reason == reason::EXPIRED
    }

    /// Whether the credentials are missing or invalid: reason `Unauthorized`, or code 401 without a known reason.
    pub fn is_unauthorized(&self) -> bool {
        self.has_reason(reason::UNAUTHORIZED, 401)
    }

    /// Whether the request is malformed: reason `BadRequest`, or code 400 without a known reason.
    pub fn is_bad_request(&self) -> bool {
        self.has_reason(reason::BAD_REQUEST, 400)
    }

    /// Whether the resource does not support the verb: reason `MethodNotAllowed`, or code 405 without a known reason.
    pub fn is_method_not_allowed(&self) -> bool {
        self.has_reason(reason::METHOD_NOT_ALLOWED, 405)
    }

    /// Whether the server has no format that the request accepts: reason `NotAcceptable`, or code 406 without a known reason.
    pub fn is_not_acceptable(&self) -> bool {
        self.has_reason(reason::NOT_ACCEPTABLE, 406)
    }

    /// Whether the body is too large: reason `RequestEntityTooLarge`, or code 413 without a known reason.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.has_reason(reason::REQUEST_ENTITY_TOO_LARGE, 413)
    }

    /// Whether the server does not support the format of the body: reason `UnsupportedMediaType`, or code 415 without a known reason.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.has_reason(reason::UNSUPPORTED_MEDIA_TYPE, 415)
    }

    /// Whether the server throttles requests, or a disruption budget forbids an eviction: reason `TooManyRequests`, or code 429 with any
    /// reason.
    pub fn is_too_many_requests(&self) -> bool {
        self.reason == reason::TOO_MANY_REQUESTS || self.code == 429
    }

    /// Whether the server or a webhook failed: reason `InternalError`, or code 500 without a known reason.
    pub fn is_internal_error(&self) -> bool {
        self.has_reason(reason::INTERNAL_ERROR, 500)
    }

    /// Whether the server is unavailable: reason `ServiceUnavailable`, or code 503 without a known reason.
    pub fn is_service_unavailable(&self) -> bool {
        self.has_reason(reason::SERVICE_UNAVAILABLE, 503)
    }

    /// Whether the server gave up because the time of the request was over: reason `Timeout`, or code 504 without a known reason. The
    /// operation may still complete.
    pub fn is_timeout(&self) -> bool {
        self.has_reason(reason::TIMEOUT, 504)
    }

    /// Whether the server could not finish in time and asks to be called again: reason `ServerTimeout`. The operation may still complete.
    pub fn is_server_timeout(&self) -> bool {
        self.reason == reason::SERVER_TIMEOUT
    }

    /// How long the server asks to wait before the next attempt: [`retry_after_seconds`](StatusDetails::retry_after_seconds), also from
    /// the header `Retry-After`. `None` if it does not ask.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Compares the reason, and the code only if the reason is unknown.
    fn has_reason(&self, expected: &str, code: u16) -> bool {
        self.reason == expected
            || (self.code == code && (self.reason == reason::UNKNOWN || !reason::is_known(&self.reason)))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = match self.status {
            Some(StatusSummary::Success) => "success",
            Some(StatusSummary::Failure) => "failure",
            None => "status without a message",
        };
        f.write_str(if self.message.is_empty() { summary } else { &self.message })?;
        match (self.reason.as_str(), self.code) {
            ("", 0) => Ok(()),
            ("", code) => write!(f, " (code {code})"),
            (reason, 0) => write!(f, " ({reason})"),
            (reason, code) => write!(f, " ({reason}, code {code})"),
        }
    }
}

impl std::error::Error for Status {}

/// Success or failure; on the wire the variant's name.
///
/// ```
/// use kube_core::{Status, response::StatusSummary};
/// let status: Status = serde_json::from_str(r#"{"status": "Failure", "code": 500}"#)?;
/// assert_eq!(status.status, Some(StatusSummary::Failure));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum StatusSummary {
    /// The operation succeeded. For a deletion: the object is gone.
    Success,
    /// The operation failed, or the server cannot know (`ServerTimeout`).
    Failure,
}

/// Details of a [`Status`]. Fields that the server did not send are empty or 0.
///
/// ```
/// use kube_core::{Status, response::{StatusCause, StatusDetails}};
///
/// let status: Status = serde_json::from_str(
///     r#"{"status": "Failure", "reason": "Invalid", "code": 422, "details": {"group": "apps", "kind": "Deployment",
///         "name": "front", "causes": [{"reason": "FieldValueRequired", "message": "Required value",
///                                      "field": "spec.selector"}]}}"#,
/// )?;
/// let details: &StatusDetails = status.details.as_ref().expect("has details");
/// let fields: Vec<_> = details.causes.iter().map(|cause: &StatusCause| cause.field.as_str()).collect();
/// assert_eq!((details.name.as_str(), fields), ("front", vec!["spec.selector"]));
/// assert_eq!(Status::default().with_details(details.clone()).details, status.details);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDetails {
    /// The name of the object in the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group of the resource; empty for the core group too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind (`Pod`), in some responses the resource name (`pods`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object, if the status is about exactly one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The causes: invalid fields, or the managers of the fields in conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before a retry, as in the header `Retry-After`; 0 if the server sent none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One cause of a failure: see the example of [`StatusDetails`]. Fields that the server did not send are empty.
///
/// ```
/// use kube_core::response::StatusCause;
/// let cause: StatusCause = serde_json::from_str(
///     r#"{"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\"", "field": ".spec.replicas"}"#,
/// )?;
/// assert_eq!(cause.field, ".spec.replicas");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StatusCause {
    /// The machine-readable reason, such as `FieldValueInvalid` or `FieldManagerConflict`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The human-readable description, usually with the invalid value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field, such as `spec.ports[0].port`; for conflicts of server-side apply with a leading dot: `.spec.ports`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{Status, StatusCause, StatusDetails};
    use crate::response::reason;

    #[test]
    fn the_reason_refines_the_code() {
        let both = |code, reason: &str| Status::failure("m", reason).with_code(code);
        assert!(both(409, reason::ALREADY_EXISTS).is_already_exists());
        assert!(!both(409, reason::ALREADY_EXISTS).is_conflict());
        assert!(
            both(409, reason::CONFLICT).is_conflict() && !both(409, reason::CONFLICT).is_already_exists()
        );
        // Without a known reason, the code is used.
        for reason in [reason::UNKNOWN, "Teapot"] {
            assert!(both(404, reason).is_not_found() && both(409, reason).is_conflict());
            assert!(both(403, reason).is_forbidden() && both(422, reason).is_invalid());
            assert!(!both(409, reason).is_already_exists() && !both(500, reason).is_not_found());
        }
        assert!(!both(404, reason::EXPIRED).is_not_found());
        assert!(both(0, reason::INVALID).is_invalid());
        assert!(reason::is_known("") && reason::is_known("Gone") && !reason::is_known("Teapot"));
    }

    #[test]
    fn every_reason_has_its_question() {
        type Question = fn(&Status) -> bool;
        // Reason, code, and whether the code alone is enough.
        let questions: [(&str, u16, bool, Question); 18] = [
            (reason::NOT_FOUND, 404, true, Status::is_not_found),
            (reason::ALREADY_EXISTS, 409, false, Status::is_already_exists),
            (reason::CONFLICT, 409, true, Status::is_conflict),
            (reason::FORBIDDEN, 403, true, Status::is_forbidden),
            (reason::INVALID, 422, true, Status::is_invalid),
            (reason::GONE, 410, true, Status::is_gone),
            (reason::EXPIRED, 410, false, Status::is_expired),
            (reason::UNAUTHORIZED, 401, true, Status::is_unauthorized),
            (reason::BAD_REQUEST, 400, true, Status::is_bad_request),
            (reason::METHOD_NOT_ALLOWED, 405, true, Status::is_method_not_allowed),
            (reason::NOT_ACCEPTABLE, 406, true, Status::is_not_acceptable),
            (reason::REQUEST_ENTITY_TOO_LARGE, 413, true, Status::is_request_entity_too_large),
            (reason::UNSUPPORTED_MEDIA_TYPE, 415, true, Status::is_unsupported_media_type),
            (reason::TOO_MANY_REQUESTS, 429, true, Status::is_too_many_requests),
            (reason::INTERNAL_ERROR, 500, true, Status::is_internal_error),
            (reason::SERVICE_UNAVAILABLE, 503, true, Status::is_service_unavailable),
            (reason::TIMEOUT, 504, true, Status::is_timeout),
            (reason::SERVER_TIMEOUT, 504, false, Status::is_server_timeout),
        ];
        for (at, (reason, code, by_code, ask)) in questions.into_iter().enumerate() {
            let status = Status::failure("", reason).with_code(code);
            let yes: Vec<_> = (0..questions.len()).filter(|&other| questions[other].3(&status)).collect();
            assert_eq!(yes, [at], "{reason}: only its own question");
            assert_eq!(ask(&Status::failure("", "").with_code(code)), by_code, "{code} without a reason");
        }
        // In Go, the code is enough here whatever the reason.
        assert!(Status::failure("", reason::INTERNAL_ERROR).with_code(429).is_too_many_requests());
    }

    #[test]
    fn the_time_to_wait_is_that_of_the_details() {
        let details =
            |seconds: u32| serde_json::from_value(json!({ "retryAfterSeconds": seconds })).expect("valid");
        let waits = |seconds| Status::failure("", "").with_details(details(seconds)).retry_after();
        assert_eq!((waits(7), waits(0)), (Some(Duration::from_secs(7)), None));
        assert_eq!(Status::failure("", "").retry_after(), None);
    }

    #[test]
    fn display_prints_message_reason_and_code() {
        assert_eq!(Status::success().to_string(), "success");
        assert_eq!(Status::failure("", "").to_string(), "failure");
        assert_eq!(Status::default().to_string(), "status without a message");
        assert_eq!(Status::failure("no", "Gone").to_string(), "no (Gone)");
        assert_eq!(Status::failure("no", "").with_code(500).to_string(), "no (code 500)");
        assert!(Status::failure("", "").boxed().is_failure() && Status::success().is_success());
    }

    #[test]
    fn empty_fields_are_omitted_on_the_wire() {
        let cause =
            StatusCause { reason: "FieldValueInvalid".into(), message: "no".into(), field: "spec.x".into() };
        let details = StatusDetails {
            name: "a".into(),
            group: String::new(),
            kind: "pods".into(),
            uid: String::new(),
            causes: vec![cause],
            retry_after_seconds: 2,
        };
        let status = Status::failure("m", "Invalid").with_code(422).with_details(details);
        let json = json!({"status": "Failure", "message": "m", "reason": "Invalid", "code": 422, "details": {
            "name": "a", "kind": "pods", "retryAfterSeconds": 2,
            "causes": [{"reason": "FieldValueInvalid", "message": "no", "field": "spec.x"}]}});
        assert_eq!(serde_json::to_value(&status).expect("valid"), json);
        assert_eq!(serde_json::from_value::<Status>(json).expect("valid"), status);
        assert_eq!(serde_json::from_value::<Status>(json!({})).expect("valid"), Status::default());
        assert_eq!(serde_json::to_value(Status::default()).expect("valid"), json!({}));
    }
}
