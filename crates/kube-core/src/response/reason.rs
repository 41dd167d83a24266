//! The machine-readable reasons that servers give in [`Status::reason`](super::Status::reason).
//!
//! The number behind each is the HTTP status code that it goes with. Several reasons share a code and not every reason is
//! here: ask for the reason first, and let the code decide over the rest, as the methods of [`Status`](super::Status) do.
//!
//! ```
//! use kube_core::{Status, response::reason};
//!
//! /// Whether the same request may succeed later without any change to it.
//! fn may_pass(status: &Status) -> bool {
//!     matches!(
//!         status.reason.as_str(),
//!         reason::TOO_MANY_REQUESTS | reason::SERVICE_UNAVAILABLE | reason::SERVER_TIMEOUT | reason::TIMEOUT
//!             | reason::INTERNAL_ERROR
//!     )
//! }
//! /// Whether what the request was based on has to be read anew.
//! fn is_stale(status: &Status) -> bool {
//!     matches!(status.reason.as_str(), reason::CONFLICT | reason::EXPIRED | reason::GONE)
//! }
//! /// Whether a person has to change the request, the kind or the permissions.
//! fn is_final(status: &Status) -> bool {
//!     [
//!         reason::BAD_REQUEST, reason::UNAUTHORIZED, reason::FORBIDDEN, reason::NOT_FOUND, reason::METHOD_NOT_ALLOWED,
//!         reason::NOT_ACCEPTABLE, reason::ALREADY_EXISTS, reason::REQUEST_ENTITY_TOO_LARGE,
//!         reason::UNSUPPORTED_MEDIA_TYPE, reason::INVALID, reason::STORAGE_READ_ERROR,
//!     ].contains(&status.reason.as_str())
//! }
//! let status = Status::failure("etcd leader changed", reason::SERVER_TIMEOUT).with_code(504);
//! assert!(may_pass(&status) && !is_stale(&status) && !is_final(&status));
//! assert_eq!(Status::default().reason, reason::UNKNOWN);
//! ```

/// The server gave no reason: the empty text.
pub const UNKNOWN: &str = "";
/// The request carries no valid credentials (401).
pub const UNAUTHORIZED: &str = "Unauthorized";
/// The caller is known and not allowed to do this (403).
pub const FORBIDDEN: &str = "Forbidden";
/// The object or the kind does not exist (404); on a create, its namespace.
pub const NOT_FOUND: &str = "NotFound";
/// An object of this name exists (409), possibly one that is being deleted.
pub const ALREADY_EXISTS: &str = "AlreadyExists";
/// The object has changed since it was read, another manager owns a field, or a precondition does not hold (409).
pub const CONFLICT: &str = "Conflict";
/// What was asked for is no longer there and will not come back (410).
pub const GONE: &str = "Gone";
/// The object or parameters are not acceptable to the kind (422); the causes of the details name the fields.
pub const INVALID: &str = "Invalid";
/// The resource version or continue token is too old; list again (410).
pub const EXPIRED: &str = "Expired";
/// The server could not finish in time, the operation may go on (504); retry after a while.
pub const SERVER_TIMEOUT: &str = "ServerTimeout";
/// The request's own time was over (504); also where a server has not come as far as the resource version asked for.
pub const TIMEOUT: &str = "Timeout";
/// The server is busy (429), or a disruption budget forbids an eviction; retry after
/// [`retry_after_seconds`](super::StatusDetails::retry_after_seconds).
pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
/// The request makes no sense to the server (400): its JSON, its parameters, or an object of another name or kind.
pub const BAD_REQUEST: &str = "BadRequest";
/// The verb is not supported on this resource (405).
pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
/// The server cannot answer in an accepted format (406).
pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
/// The body is larger than the server accepts (413).
pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
/// The server does not read bodies of this content type (415), as strategic merge patches of custom resources.
pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
/// Something went wrong inside the server, or in a webhook that it called (500).
pub const INTERNAL_ERROR: &str = "InternalError";
/// The server, or one behind it, cannot answer now (503); retry after a while.
pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
/// Stored objects cannot be read, so that they may have to be removed by force (500).
pub const STORAGE_READ_ERROR: &str = "StorageReadError";

/// Whether the reason is one of this module's constants, [`UNKNOWN`] included. Others are words of newer servers or of
/// API extensions.
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
