//! Watches that are ended because nothing shows whether they are alive.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::error::Error;

/// Nothing came on a watch over HTTP/1.1 for so long.
#[derive(Debug, Error)]
#[error("the watch was silent for {0:?}: over HTTP/1.1 only a new one can tell whether the server is there")]
pub(super) struct IdleWatch(pub(super) Duration);

impl Error {
    /// Whether this ended a watch over HTTP/1.1 on which nothing came for the configuration's `response_timeout` (55 s by default).
    ///
    /// This need not be a failure: a healthy watch of quiet objects is as silent as one whose connection is dead, and HTTP/1.1 has no
    /// means to ask. So watch again from the last resource version; that goes over another connection, and fails if the server cannot be
    /// reached. Watches over HTTP/2 never end like this.
    ///
    /// ```
    /// use kube_client::Error;
    /// # let err = Error::ReadEvents(std::io::ErrorKind::ConnectionReset.into());
    ///
    /// if !err.is_idle_watch() {
    ///     eprintln!("{err}");
    /// }
    /// ```
    pub fn is_idle_watch(&self) -> bool {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(self);
        while let Some(err) = cause {
            if err.is::<IdleWatch>() {
                return true;
            }
            // The source of an `io::Error` is that of the error in it, not that error itself.
            cause = match err.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => err.source(),
            };
        }
        false
    }
}
