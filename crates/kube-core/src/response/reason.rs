//! The machine-readable reasons in [`Status::reason`](super::Status::reason).
//!
//! The number in parentheses is the HTTP status code of the reason. Several reasons share a code, and servers may send others:
//! check the reason first and fall back to the code, as the methods of [`Status`](super::Status) do.
//!
//! ```
//! use kube_core::{Status, response::reason};
//!
//! /// Whether the same request may succeed later.
//! fn is_retryable(status: &Status) -> bool {
//!     matches!(
//!         status.reason.as_str(),
//!         reason::TOO_MANY_REQUESTS | reason::SERVICE_UNAVAILABLE | reason::SERVER_TIMEOUT | reason::TIMEOUT
//!             | reason::INTERNAL_ERROR
//!     )
//! }
//! /// Whether the client must read the object again or relist first.
//! fn is_stale(status: &Status) -> bool {
//!     matches!(status.reason.as_str(), reason::CONFLICT | reason::EXPIRED | reason::GONE)
//! }
//! /// Whether the request, the kind or the permissions must be changed.
//! fn is_final(status: &Status) -> bool {
//!     [
//!         reason::BAD_REQUEST, reason::UNAUTHORIZED, reason::FORBIDDEN, reason::NOT_FOUND, reason::METHOD_NOT_ALLOWED,
//!         reason::NOT_ACCEPTABLE, reason::ALREADY_EXISTS, reason::REQUEST_ENTITY_TOO_LARGE,
//!         reason::UNSUPPORTED_MEDIA_TYPE, reason::INVALID, reason::STORAGE_READ_ERROR,
//!     ].contains(&status.reason.as_str())
//! }
//! let status = Status::failure("etcd leader changed", reason::SERVER_TIMEOUT).with_code(504);
//! assert!(is_retryable(&status) && !is_stale(&status) && !is_final(&status));
//! assert_eq!(Status::default().reason, reason::UNKNOWN);
//! ```

/// The server sent no reason: the empty string.
pub const UNKNOWN: &str = "";
/// The request carries no valid credentials (401).
pub const UNAUTHORIZED: &str = "Unauthorized";
/// The caller is authenticated but not allowed to do this (403).
pub const FORBIDDEN: &str = "Forbidden";
/// The object or the kind does not exist (404); on a create, its namespace.
pub const NOT_FOUND: &str = "NotFound";
/// An object of this name exists (409), possibly one that is being deleted.
pub const ALREADY_EXISTS: &str = "AlreadyExists";
/// The object has changed since it was read, another manager owns a field, or a precondition does not hold (409).
pub const CONFLICT: &str = "Conflict";
/// The requested resource is permanently gone (410).
pub const GONE: &str = "Gone";
/// The object or parameters violate the rules of the kind (422); the causes in the details name the fields.
pub const INVALID: &str = "Invalid";
/// The resourceVersion or continue token is too old (410); relist.
pub const EXPIRED: &str = "Expired";
/// The server could not finish in time, and the operation may still complete (504); retry after a delay.
pub const SERVER_TIMEOUT: &str = "ServerTimeout";
/// The timeout of the request has expired (504); also if the server's cache is older than the requested resourceVersion.
pub const TIMEOUT: &str = "Timeout";
/// The server throttles requests, or a disruption budget forbids an eviction (429); retry after
/// [`retry_after_seconds`](super::StatusDetails::retry_after_seconds).
pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
/// The request is malformed (400): its JSON, its parameters, or an object of another name or kind.
pub const BAD_REQUEST: &str = "BadRequest";
/// The verb is not supported on this resource (405).
pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
/// The server does not support a format that the request accepts (406).
pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
/// The body is larger than the server accepts (413).
pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
/// The server does not support the content type of the body (415), such as a strategic merge patch of a custom resource.
pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
/// The server or a webhook that it called failed (500).
pub const INTERNAL_ERROR: &str = "InternalError";
/// The server or a backend of it is unavailable (503); retry after a delay.
pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
/// Stored objects cannot be decoded and may have to be deleted by force (500).
pub const STORAGE_READ_ERROR: &str = "StorageReadError";

/// Whether the reason is one of this module's constants, including [`UNKNOWN`]. Newer servers and API extensions may send
/// others.
///
/// ```
/// use kube_core::response::reason::is_known;
/// assert!(is_known("NotFound") && is_known(""));
/// assert!(!is_known("Teapot"));
/// ```
pub fn is_known(reason: &str) -> bool {
    [
        UNKNOWN,
        UNAUTHORIZED,
        FORBIDDEN,
        NOT_FOUND,
        ALREADY_EXISTS,
        CONFLICT,
        GONE,
        INVALID,
        EXPIRED,
        SERVER_TIMEOUT,
        TIMEOUT,
        TOO_MANY_REQUESTS,
        BAD_REQUEST,
        METHOD_NOT_ALLOWED,
        NOT_ACCEPTABLE,
        REQUEST_ENTITY_TOO_LARGE,
        UNSUPPORTED_MEDIA_TYPE,
        INTERNAL_ERROR,
        SERVICE_UNAVAILABLE,
        STORAGE_READ_ERROR,
    ]
    .contains(&reason)
}
