//! [`ErrorClass`]: what kind of failure an error is, for those who decide whether and when to send a request again.

use std::io;
use std::time::Duration;

use kube_core::Status;

use super::call::Error;

/// What kind of failure an error of a call is: each who repeats requests has one reaction to a class. Watchers and waits decide by it.
///
/// ```
/// use kube_client::{Error, core::Status, error::ErrorClass};
///
/// let expired = Status::failure("too old resource version", "Expired").with_code(410);
/// assert_eq!(ErrorClass::of(&Error::Api(expired.boxed())), ErrorClass::Expired);
/// let forbidden = Status::failure("pods is forbidden", "Forbidden").with_code(403);
/// assert!(ErrorClass::of_status(&forbidden).is_permanent());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The server no longer serves this `resourceVersion` or continue token.
    Expired,
    /// The requested `resourceVersion` is newer than the server's state.
    ResourceVersionTooLarge,
    /// The server is overloaded or starting. It may send `Retry-After`.
    Throttled {
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The server does not accept such a request.
    InvalidRequest,
    /// Authentication or authorization failed.
    Forbidden,
    /// An object does not exist: that of the request, or its namespace. It may be created at any time.
    NotFound,
    /// The server does not serve the path: it does not know the kind, this version of it or the subresource.
    UnknownKind,
    /// The object exists already, has changed since it was read, or another manager owns a field. The same request would fail again: read
    /// the object first.
    Conflict,
    /// The response could not be decoded.
    Undecodable,
    /// The server failed internally.
    Internal,
    /// The connection failed, maybe after the server has received the request; or what stands before the server did not receive the whole
    /// request in time (408).
    ConnectionFailed,
    /// There was no connection: nothing answers.
    Unreachable,
    /// Nothing was received for too long, by the client's limit ([`is_idle_watch`](Error::is_idle_watch)) or by TCP's.
    IdleTimeout,
}

impl ErrorClass {
    /// The class of an error.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Api(status) => Self::of_status(status),
            Error::SerdeError(_) | Error::FromUtf8(_) | Error::LinesCodecMaxLineLengthExceeded => {
                Self::Undecodable
            }
            Error::Auth(_) => Self::Forbidden,
            Error::BuildRequest(_) => Self::InvalidRequest,
            Error::ReadEvents(error) if error.kind() == io::ErrorKind::TimedOut => Self::IdleTimeout,
            error if error.is_connect() => Self::Unreachable,
            _ => Self::ConnectionFailed,
        }
    }

    /// The class of a status with which a server refused a request or ended a watch.
    pub fn of_status(status: &Status) -> Self {
        match status.code {
            _ if is_version_too_large(status) => Self::ResourceVersionTooLarge,
            410 => Self::Expired,
            _ if status.is_expired() || status.is_gone() => Self::Expired,
            429 | 503 => Self::Throttled { retry_after: status.retry_after() },
            _ if is_initializing(status) => Self::Throttled { retry_after: status.retry_after() },
            401 | 403 => Self::Forbidden,
            404 if names_object(status) => Self::NotFound,
            404 => Self::UnknownKind,
            408 => Self::ConnectionFailed,
            409 => Self::Conflict,
            400 | 405 | 406 | 415 | 422 => Self::InvalidRequest,
            _ => Self::Internal,
        }
    }

    /// The object of a response, and `None` for one that does not exist. Unlike that of `get_opt`, `None` is certain: a path that is not
    /// served for a moment is an error, so a program may decide by it that an object is gone.
    ///
    /// ```
    /// # use kube_client::{core::Status, error::{Error, ErrorClass}};
    /// let response = |text: &str| Err::<(), _>(Error::Api(Status::failure(text, "NotFound").with_code(404).boxed()));
    /// assert_eq!(ErrorClass::absent_as_none(response("pods \"a\" not found")).unwrap(), None);
    /// assert!(ErrorClass::absent_as_none(response("404 page not found")).is_err());
    /// ```
    ///
    /// # Errors
    /// Every other one of the response.
    pub fn absent_as_none<T>(response: Result<T, Error>) -> Result<Option<T>, Error> {
        match response {
            Err(error) if Self::of(&error) == Self::NotFound => Ok(None),
            response => response.map(Some),
        }
    }

    /// Whether a watch or list cannot continue from the version that it requested.
    pub fn invalidates_version(&self) -> bool {
        matches!(self, Self::Expired | Self::ResourceVersionTooLarge | Self::UnknownKind | Self::NotFound)
    }

    /// Whether retrying is useless without a change of configuration, permissions or installed kinds. What anyone may create or change at
    /// any time ([`NotFound`](Self::NotFound), [`Conflict`](Self::Conflict)) is not permanent.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::InvalidRequest | Self::Forbidden | Self::UnknownKind)
    }
}

/// Whether the storage of the server's watch cache is not ready.
fn is_initializing(status: &Status) -> bool {
    status.message.contains("storage is (re)initializing")
}

/// Whether the status of code 404 is that of an object. That of a path that is not served has details without a name, or is plain text.
fn names_object(status: &Status) -> bool {
    let is_named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
    is_named || status.message.ends_with("\" not found")
}

fn is_version_too_large(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::response::{StatusCause, StatusDetails, reason};

    fn status(code: u16, reason: &str) -> Status {
        Status::failure("", reason).with_code(code)
    }

    fn details() -> StatusDetails {
        serde_json::from_str("{}").unwrap()
    }

    #[test]
    fn expired_is_recognized_by_code_or_reason() {
        assert_eq!(ErrorClass::of_status(&status(410, "")), ErrorClass::Expired);
        assert_eq!(ErrorClass::of_status(&status(0, reason::EXPIRED)), ErrorClass::Expired);
        assert_eq!(ErrorClass::of_status(&status(0, reason::GONE)), ErrorClass::Expired);
    }

    #[test]
    fn throttled_carries_retry_after() {
        let throttled = status(429, "TooManyRequests")
            .with_details(StatusDetails { retry_after_seconds: 7, ..details() });
        let seven_seconds = Some(Duration::from_secs(7));
        assert_eq!(ErrorClass::of_status(&throttled), ErrorClass::Throttled { retry_after: seven_seconds });
        assert_eq!(ErrorClass::of_status(&status(503, "")), ErrorClass::Throttled { retry_after: None });
        let zero = status(503, "").with_details(details());
        assert_eq!(ErrorClass::of_status(&zero), ErrorClass::Throttled { retry_after: None }, "0 is absent");
        let starting = Status::failure("storage is (re)initializing", "TooManyRequests");
        assert_eq!(ErrorClass::of_status(&starting), ErrorClass::Throttled { retry_after: None });
    }

    #[test]
    fn a_version_too_large_is_distinguished_from_a_timeout() {
        let cause = StatusCause {
            reason: "ResourceVersionTooLarge".into(),
            message: String::new(),
            field: String::new(),
        };
        let too_large =
            status(504, "Timeout").with_details(StatusDetails { causes: vec![cause], ..details() });
        assert_eq!(ErrorClass::of_status(&too_large), ErrorClass::ResourceVersionTooLarge);
        assert_eq!(ErrorClass::of_status(&status(504, "Timeout")), ErrorClass::Internal);
    }

    #[test]
    fn errors_before_a_request_are_classified() {
        let unrefreshable = crate::client::AuthError::UnrefreshableTokenResponse;
        assert_eq!(ErrorClass::of(&Error::Auth(unrefreshable)), ErrorClass::Forbidden);
        let invalid = kube_core::request::Error::Validation("x".into());
        assert_eq!(ErrorClass::of(&Error::BuildRequest(invalid)), ErrorClass::InvalidRequest);
    }

    #[test]
    fn what_a_retry_cannot_mend_is_permanent() {
        for (code, permanent) in
            [(400, true), (403, true), (404, true), (409, false), (410, false), (429, false), (500, false)]
        {
            assert_eq!(ErrorClass::of_status(&status(code, "")).is_permanent(), permanent, "{code}");
        }
    }

    #[test]
    fn other_statuses_are_classified_by_code() {
        for (code, class) in [
            (400, ErrorClass::InvalidRequest),
            (401, ErrorClass::Forbidden),
            (403, ErrorClass::Forbidden),
            (404, ErrorClass::UnknownKind),
            (408, ErrorClass::ConnectionFailed),
            (409, ErrorClass::Conflict),
            (422, ErrorClass::InvalidRequest),
            (500, ErrorClass::Internal),
        ] {
            assert_eq!(ErrorClass::of_status(&status(code, "")), class, "{code}");
        }
    }

    /// Responses of Kubernetes 1.37.
    #[test]
    fn an_object_that_does_not_exist_is_distinguished_from_a_kind_that_is_not_served() {
        let object = r#""details":{"name":"none","group":"apps","kind":"deployments"}"#;
        let namespace = r#""details":{"name":"absent","kind":"namespaces"}"#;
        let class = |message: &str, details: &str| {
            let json = format!(
                r#"{{"metadata":{{}},"status":"Failure","message":{message:?},"reason":"NotFound",{details},"code":404}}"#
            );
            ErrorClass::of_status(&serde_json::from_str(&json).unwrap())
        };
        assert_eq!(class(r#"deployments.apps "none" not found"#, object), ErrorClass::NotFound);
        assert_eq!(class(r#"namespaces "absent" not found"#, namespace), ErrorClass::NotFound);
        let without_details = Status::failure(r#"configmaps "none" not found"#, "NotFound").with_code(404);
        assert_eq!(ErrorClass::of_status(&without_details), ErrorClass::NotFound);
        assert!(!ErrorClass::NotFound.is_permanent() && ErrorClass::NotFound.invalidates_version());

        // An unknown kind, version or subresource of a known group; a path of an unknown group, and every unknown custom resource.
        let unknown = class("the server could not find the requested resource", r#""details":{}"#);
        assert_eq!(unknown, ErrorClass::UnknownKind);
        let text = Status::failure("404 page not found", "NotFound").with_code(404);
        assert_eq!(ErrorClass::of_status(&text), ErrorClass::UnknownKind);
    }
}
