//! [`Failure`]: what the response to a request means for a migration.

use std::time::Duration;

use kube_client::error::{Error, ErrorClass};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// There is no such object.
    NotFound,
    /// The object has changed, or someone (a webhook) says so.
    Conflict(String),
    /// The continue token is too old; the server may have sent another one.
    Expired { token: Option<String>, message: String },
    /// It may succeed later.
    Temporary { after: Option<Duration>, message: String },
    /// It will not.
    Refused(String),
}

impl Failure {
    pub(super) fn of(error: &Error) -> Self {
        let message = error.to_string();
        let Some(status) = error.status() else {
            return match error {
                Error::HyperError(_) | Error::Service(_) => Self::Temporary { after: None, message },
                _ => Self::Refused(message),
            };
        };
        match ErrorClass::of(error) {
            ErrorClass::NotFound => return Self::NotFound,
            // What is not served for a moment is not gone.
            ErrorClass::UnknownKind => return Self::Temporary { after: None, message },
            _ => {}
        }
        if status.is_expired() || status.is_gone() {
            let token = status.metadata.as_ref().and_then(|list| list.continue_.clone());
            Self::Expired { token: token.filter(|token| !token.is_empty()), message }
        } else if status.is_conflict() {
            Self::Conflict(message)
        } else if status.code == 429 || status.code >= 500 {
            Self::Temporary { after: status.retry_after(), message }
        } else {
            Self::Refused(message)
        }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Self::NotFound => "not found",
            Self::Conflict(message)
            | Self::Expired { message, .. }
            | Self::Temporary { message, .. }
            | Self::Refused(message) => message,
        }
    }
}
