//! What can go wrong with a watcher.

use super::{
    collection::{about, about_status},
    fault::Fault,
};
use crate::unwind::ObjectPanic;
use kube_core::Status;

/// Why a step of a [`watcher`](fn@super::watcher) failed. The watcher has already decided how to go on.
///
/// `{}` names kind and scope, such as `pods in namespace default`, and shows the causes. The path of the collection is in
/// `metadata.self_link` of a status, and the other errors of requests carry it within.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The list failed, or some of its objects could not be decoded (then the others were delivered).
    #[error("failed to list the objects{}", about(.0))]
    InitialListFailed(#[source] kube_client::Error),
    /// The server refused the watch or could not be reached.
    #[error("failed to start the watch{}", about(.0))]
    WatchStartFailed(#[source] kube_client::Error),
    /// The server reported an error within a running watch.
    #[error("the server reported an error within the watch{}", about_status(.0))]
    WatchError(#[source] Box<Status>),
    /// A running watch broke, fell silent, was closed at once, or carried an object that could not be decoded.
    #[error("the watch failed{}", about(.0))]
    WatchFailed(#[source] kube_client::Error),
    /// The server sent a list without `metadata.resourceVersion`, so there is no point to watch from.
    #[error("the list has no metadata.resourceVersion to watch from: this API does not support watching")]
    NoResourceVersion,
}

/// A result of watching; the error is [`Error`] unless named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether only a change by a human can help, so that a caller who waits for one thing should stop waiting.
    ///
    /// An answer that cannot be read is asked for again; an object that cannot be decoded stays as it is.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::InitialListFailed(error) | Self::WatchStartFailed(error) | Self::WatchFailed(error) => {
                Fault::of(error).is_permanent() || self.undecodable().next().is_some()
            }
            Self::WatchError(status) => Fault::of_status(status).is_permanent(),
            Self::NoResourceVersion => true,
        }
    }

    /// Whether it is about objects that arrived, so that there is nothing to wait for before the next one.
    pub(crate) fn is_about_objects(&self) -> bool {
        let of_a_call = match self {
            Self::WatchFailed(kube_client::Error::Service(error)) => error.is::<ObjectPanic>(),
            _ => false,
        };
        of_a_call || self.undecodable().next().is_some()
    }
}
