//! Questions about the server's response to a failed call: was the object not found, was there a conflict, ...

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube_core::Status;

use super::call::Error;

impl Error {
    /// The status with which the server refused the request. `None` if there was no response, or it could not be read.
    ///
    /// ```
    /// use kube_client::{Error, core::Status};
    ///
    /// let status = Status::failure("pods \"web\" not found", "NotFound").with_code(404);
    /// let err = Error::Api(status.boxed());
    /// assert!(err.is_not_found());
    /// assert_eq!(err.status().map(|status| status.code), Some(404));
    /// ```
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Api(status) => Some(status),
            _ => None,
        }
    }

    /// How long the server asks to wait before the next attempt; `None` if it does not ask.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status().and_then(Status::retry_after)
    }
}

/// Defines methods of [`Error`] that ask its status.
macro_rules! ask_the_status {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// What the server's status says, as `errors.IsNotFound` and its like of `k8s.io/apimachinery` in Go. All are false if the server
        /// did not respond. For an error that wraps this one, use [`status_of`](crate::error::status_of).
        impl Error {
            $($(#[$doc])* pub fn $name(&self) -> bool {
                self.status().is_some_and(Status::$name)
            })*
        }
    };
}

ask_the_status! {
    /// The object or the kind does not exist; on a create, its namespace (404).
    is_not_found;
    /// An object of this name exists, possibly one that is being deleted (409).
    is_already_exists;
    /// The object has changed since it was read, or another manager owns a field (409). Not an object that exists already.
    is_conflict;
    /// The caller may not do this (403).
    is_forbidden;
    /// The credentials are missing or invalid (401).
    is_unauthorized;
    /// The object is not valid (422).
    is_invalid;
    /// The request is malformed (400).
    is_bad_request;
    /// The resource does not support the verb (405).
    is_method_not_allowed;
    /// The resourceVersion or the continue token is too old (410 with the reason `Expired`): list again. Some servers send the code alone,
    /// which is [`is_gone`](Self::is_gone).
    is_expired;
    /// The server no longer has what was requested (410).
    is_gone;
    /// The server throttles requests, or a disruption budget forbids an eviction (429).
    is_too_many_requests;
    /// The server or a webhook failed (500).
    is_internal_error;
    /// The server is unavailable (503).
    is_service_unavailable;
    /// The server says that the time of the request was over (504). The operation may still complete. A time limit of the client itself is
    /// not a status: see [`Error::Service`].
    is_timeout;
    /// The server could not finish in time and asks to be called again. The operation may still complete.
    is_server_timeout;
}

/// The status with which the server refused a request, of any error that has it as a cause: those of watchers, finalizers and controllers,
/// and the program's own.
///
/// ```
/// use kube_client::{Error, core::Status, error::status_of};
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("the settings cannot be read")]
/// struct NoSettings(#[source] Error);
///
/// let err = NoSettings(Error::Api(Status::failure("configmaps \"settings\" not found", "NotFound").boxed()));
/// assert!(status_of(&err).is_some_and(Status::is_not_found));
/// ```
///
/// Causes are found by [`source`](StdError::source). An error that is `#[error(transparent)]` in thiserror's words hides the error that it
/// is made of: match on it and ask that.
pub fn status_of<'a>(err: &'a (dyn StdError + 'static)) -> Option<&'a Status> {
    let mut next = Some(err);
    while let Some(err) = next {
        // An error that several calls share, such as that of discovery, is in an `Arc`.
        let call = err.downcast_ref::<Error>().or_else(|| err.downcast_ref::<Arc<Error>>().map(|it| &**it));
        let found = match call {
            Some(err) => err.status(),
            None => {
                err.downcast_ref::<Status>().or_else(|| err.downcast_ref::<Box<Status>>().map(|it| &**it))
            }
        };
        if found.is_some() {
            return found;
        }
        // `io::Error::source` skips the error that the `io::Error` wraps.
        next = match err.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => err.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, reason: &str) -> Error {
        Error::Api(Status::failure("no", reason).with_code(code).boxed())
    }

    #[test]
    fn the_status_of_a_response_answers() {
        assert!(refused(404, "NotFound").is_not_found());
        assert!(refused(409, "Conflict").is_conflict() && !refused(409, "Conflict").is_already_exists());
        assert!(
            refused(409, "AlreadyExists").is_already_exists() && !refused(409, "AlreadyExists").is_conflict()
        );
        assert!(refused(410, "Expired").is_expired() && refused(410, "").is_gone());
        assert!(refused(429, "Odd").is_too_many_requests());
        let unread = Error::ReadEvents(io::ErrorKind::ConnectionReset.into());
        assert!(unread.status().is_none() && !unread.is_timeout());
    }

    #[test]
    fn the_status_is_found_below_other_errors() {
        #[derive(Debug, thiserror::Error)]
        enum Outer {
            #[error("call")]
            Call(#[source] Error),
            #[error("watch")]
            Watch(#[source] Box<Status>),
            #[error("io")]
            Io(#[source] io::Error),
            #[error("discovery")]
            Shared(#[source] Arc<Error>),
            #[error("none")]
            None,
        }
        let found = |err: Outer| status_of(&err).map(|status| status.code);
        assert_eq!(found(Outer::Call(refused(404, ""))), Some(404));
        assert_eq!(found(Outer::Watch(Status::failure("", "").with_code(410).boxed())), Some(410));
        assert_eq!(found(Outer::Io(io::Error::other(refused(403, "")))), Some(403));
        assert_eq!(found(Outer::Shared(Arc::new(refused(503, "")))), Some(503));
        assert_eq!(found(Outer::None), None);
        let boxed: Box<dyn StdError + Send + Sync> = refused(409, "").into();
        assert!(status_of(&*boxed).is_some_and(Status::is_conflict));
    }
}
