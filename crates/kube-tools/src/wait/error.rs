//! [`WaitError`]: why waiting for an object failed.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use super::target::WaitTarget;
use super::wait_for::WaitForError;

/// Why waiting for an object failed. Each error names the object.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The object does not exist.
    #[error("{0} does not exist")]
    NotFound(WaitTarget),

    /// The object was deleted while it was waited for, or is being deleted.
    #[error("{object} {message}")]
    Deleted {
        /// The object.
        object: WaitTarget,
        /// Whether it is gone, or which finalizers it waits for.
        message: String,
    },

    /// The object will not become ready.
    #[error("{object} has failed: {message}")]
    Failed {
        /// The object.
        object: WaitTarget,
        /// Why.
        message: String,
    },

    /// A restart would replace no pod, so that nothing was changed.
    #[error("{object} cannot be restarted: {message}")]
    NoRestart {
        /// The object.
        object: WaitTarget,
        /// Why.
        message: &'static str,
    },

    /// The time is over.
    #[error("waited {timeout:?} for {object}, which is still not as expected: {message}")]
    Timeout {
        /// The object.
        object: WaitTarget,
        /// The time.
        timeout: Duration,
        /// The last known state.
        message: String,
    },

    /// The condition cannot be evaluated for this object.
    #[error("{object}: {source}")]
    Condition {
        /// The object.
        object: WaitTarget,
        /// Why.
        source: WaitForError,
    },

    /// There are several objects of this name, in different namespaces.
    #[error("{0} exists in several namespaces: expected an `Api` of one namespace")]
    Ambiguous(WaitTarget),

    /// The change that was to be waited for was refused, or the object cannot be watched: at once where a repetition is useless
    /// (forbidden, unknown kind), otherwise after 60 seconds without success. What the server has allowed before is not useless: one that
    /// starts refuses users until it has read their roles, and does not serve custom resources at first.
    #[error("{object}: {source}")]
    Request {
        /// The object.
        object: WaitTarget,
        /// The error of the request.
        source: kube_client::Error,
    },
}

impl WaitError {
    /// The object.
    #[must_use]
    pub fn object(&self) -> &WaitTarget {
        match self {
            Self::NotFound(object)
            | Self::Ambiguous(object)
            | Self::Deleted { object, .. }
            | Self::Failed { object, .. }
            | Self::NoRestart { object, .. }
            | Self::Timeout { object, .. }
            | Self::Condition { object, .. }
            | Self::Request { object, .. } => object,
        }
    }
}

/// Objects that are not ready after [`until_ready`](super::until_ready), each with the reason.
#[derive(Debug)]
pub struct NotReady {
    /// One error for each object that is not ready.
    pub errors: Vec<WaitError>,
    /// How many objects are ready.
    pub ready: usize,
}

impl fmt::Display for NotReady {
    /// One line: the number, then every error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} objects are not ready", self.errors.len(), self.errors.len() + self.ready)?;
        for (nth, err) in self.errors.iter().enumerate() {
            write!(f, "{}{err}", if nth == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for NotReady {}
