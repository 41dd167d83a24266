//! The machine-readable reasons that servers give in [`Status::reason`](super::Status::reason).

/// The server gave no reason.
pub const UNKNOWN: &str = "";
/// The request carries no valid credentials (401).
pub const UNAUTHORIZED: &str = "Unauthorized";
/// The caller is known and not allowed to do this (403).
pub const FORBIDDEN: &str = "Forbidden";
/// The object or the kind does not exist (404).
pub const NOT_FOUND: &str = "NotFound";
/// An object of this name exists (409).
pub const ALREADY_EXISTS: &str = "AlreadyExists";
/// The object has changed since it was read, or another manager owns a field (409).
pub const CONFLICT: &str = "Conflict";
/// What was asked for is no longer there and will not come back (410).
pub const GONE: &str = "Gone";
/// The object or parameters are not acceptable to the kind (422).
pub const INVALID: &str = "Invalid";
/// The resource version or continue token is too old; list again (410).
pub const EXPIRED: &str = "Expired";
/// The server could not finish in time, the operation may go on (504); retry after a while.
pub const SERVER_TIMEOUT: &str = "ServerTimeout";
/// The request's own time was over (504).
pub const TIMEOUT: &str = "Timeout";
/// The server is busy (429); retry after a while.
pub const TOO_MANY_REQUESTS: &str = "TooManyRequests";
/// The request makes no sense to the server (400).
pub const BAD_REQUEST: &str = "BadRequest";
/// The verb is not supported on this resource (405).
pub const METHOD_NOT_ALLOWED: &str = "MethodNotAllowed";
/// The server cannot answer in an accepted format (406).
pub const NOT_ACCEPTABLE: &str = "NotAcceptable";
/// The body is larger than the server accepts (413).
pub const REQUEST_ENTITY_TOO_LARGE: &str = "RequestEntityTooLarge";
/// The server does not read bodies of this content type (415).
pub const UNSUPPORTED_MEDIA_TYPE: &str = "UnsupportedMediaType";
/// Something went wrong inside the server (500).
pub const INTERNAL_ERROR: &str = "InternalError";
/// The server, or one behind it, cannot answer now (503); retry after a while.
pub const SERVICE_UNAVAILABLE: &str = "ServiceUnavailable";
/// Stored objects cannot be read, so that they may have to be removed by force (500).
pub const STORAGE_READ_ERROR: &str = "StorageReadError";

/// Whether the reason is one of this module's constants, [`UNKNOWN`] included.
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
