//! The error of a watcher, and the collection that it concerns.
//!
//! The variants of [`Error`] cannot hold the path of the collection. A status carries it in `metadata.self_link`, every other
//! error of a request in an [`InCollection`] around its cause.

use super::advice::{advice, advice_on};
use crate::unwind::ObjectPanic;
use kube_client::error::{Erased, ErrorChain, ErrorClass};
use kube_core::{
    Status,
    response::{StatusCause, StatusDetails, reason},
};
use std::{error::Error as StdError, fmt, io};

/// Why a step of a [`watcher`](fn@super::watcher) failed. The watcher retries by itself.
///
/// `{}` prints the kind and scope, such as `pods in namespace default`, all causes, and what to check where the cause does not say it. The
/// API path of the collection is in
/// `metadata.self_link` of a status, and within the other errors of requests.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The list failed, or some of its objects could not be decoded (then the others were delivered).
    #[error("failed to list the objects{}", describe(.0))]
    InitialListFailed(#[source] kube_client::Error),
    /// The server refused the watch or could not be reached.
    #[error("failed to start the watch{}", describe(.0))]
    WatchStartFailed(#[source] kube_client::Error),
    /// The server reported an error within a running watch.
    #[error("the server reported an error within the watch{}", describe_status(.0))]
    WatchError(#[source] Box<Status>),
    /// A running watch broke, was idle for too long, was closed at once, or sent an object that could not be decoded.
    #[error("the watch failed{}", describe(.0))]
    WatchFailed(#[source] kube_client::Error),
    /// The server sent a list without `metadata.resourceVersion`, so there is no version to watch from.
    #[error("the list has no metadata.resourceVersion to watch from: this API does not support watching")]
    NoResourceVersion,
}

/// A result of watching, by default with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An [`Error`] within this crate, behind a trait object. `docs/design/erased-errors.md` says why.
pub(crate) type ErasedError = Erased<Error>;

/// The result type of the streams within this crate.
pub(crate) type ErasedResult<T> = Result<T, ErasedError>;

/// Why a request of the watcher failed.
pub(super) type RequestError = kube_client::error::ErasedError;

impl From<Error> for ErasedError {
    fn from(error: Error) -> Self {
        Self::new(error)
    }
}

/// The variant of [`Error`] with this cause.
pub(super) fn erased(variant: fn(kube_client::Error) -> Error, cause: RequestError) -> ErasedError {
    variant(cause.into_error()).into()
}

/// A running watch failed without an error of the client.
pub(super) fn watch_failed(kind: io::ErrorKind, what: &str) -> ErasedError {
    Error::WatchFailed(kube_client::Error::ReadEvents(io::Error::new(kind, what))).into()
}

/// Adds the API path of the collection. The variant and the types in it do not change.
pub(super) fn in_collection(error: ErasedError, path: &str) -> ErasedError {
    error.into_error().in_collection(path).into()
}

/// The cause in the status that says that the storage went back.
const STORAGE_WENT_BACK: &str = "StorageWentBack";

impl Error {
    /// The storage was at version `last` and is at `new`.
    pub(crate) fn storage_went_back(last: &str, new: &str) -> Self {
        Self::history_lost(&format!(
            "resourceVersion went back from {last} to {new}: was the storage restored? Relisting"
        ))
    }

    /// The client leads to another cluster than before.
    pub(crate) fn another_cluster() -> Self {
        Self::history_lost("the client leads to another cluster now: listing everything anew")
    }

    fn history_lost(what: &str) -> Self {
        let cause = StatusCause {
            reason: STORAGE_WENT_BACK.to_owned(),
            message: String::new(),
            field: String::new(),
        };
        let details = StatusDetails {
            name: String::new(),
            group: String::new(),
            kind: String::new(),
            uid: String::new(),
            causes: vec![cause],
            retry_after_seconds: 0,
        };
        let status = Status::failure(what, reason::EXPIRED).with_code(410).with_details(details);
        Self::WatchError(status.boxed())
    }

    /// Whether the storage went back, as after a restore, or is another one. It may use versions again: from here on, an object that is
    /// known in a version may have another state in it.
    pub(crate) fn is_storage_went_back(&self) -> bool {
        let Self::WatchError(status) = self else { return false };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        causes.into_iter().any(|cause| cause.reason == STORAGE_WENT_BACK)
    }

    /// Whether retrying is useless without a change of configuration, permissions or data, so that a caller who waits for one
    /// object should stop.
    ///
    /// An unreadable response is not permanent: it is requested again. An undecodable object is.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::InitialListFailed(error) | Self::WatchStartFailed(error) | Self::WatchFailed(error) => {
                ErrorClass::of(error).is_permanent() || self.undecodable().next().is_some()
            }
            Self::WatchError(status) => ErrorClass::of_status(status).is_permanent(),
            Self::NoResourceVersion => true,
        }
    }

    /// Whether the error concerns received objects only. Then the stream needs no backoff.
    pub(crate) fn is_about_objects(&self) -> bool {
        let is_panic = match self {
            Self::WatchFailed(kube_client::Error::Service(error)) => error.is::<ObjectPanic>(),
            _ => false,
        };
        is_panic || self.undecodable().next().is_some()
    }

    /// The message without the collection, as [`WatchSnapshot::last_error`](super::WatchSnapshot::last_error) has it.
    #[doc(hidden)]
    #[must_use]
    pub fn without_collection(&self) -> String {
        let path = match self {
            Self::InitialListFailed(error) | Self::WatchStartFailed(error) | Self::WatchFailed(error) => {
                path_of(error)
            }
            Self::WatchError(status) => path_of_status(status),
            Self::NoResourceVersion => None,
        };
        match path {
            Some(path) => self.to_string().replacen(&collection_of(path), "", 1),
            None => self.to_string(),
        }
    }

    fn in_collection(self, path: &str) -> Self {
        match self {
            Self::InitialListFailed(error) => Self::InitialListFailed(error_in_collection(error, path)),
            Self::WatchStartFailed(error) => Self::WatchStartFailed(error_in_collection(error, path)),
            Self::WatchFailed(error) => Self::WatchFailed(error_in_collection(error, path)),
            Self::WatchError(status) => Self::WatchError(status_in_collection(status, path)),
            Self::NoResourceVersion => Self::NoResourceVersion,
        }
    }
}

fn error_in_collection(error: kube_client::Error, path: &str) -> kube_client::Error {
    use kube_client::Error as E;
    match error {
        E::Api(status) => E::Api(status_in_collection(status, path)),
        E::Service(cause) => E::Service(Box::new(InCollection::new(path, cause))),
        E::HyperError(cause) => E::Service(Box::new(InCollection::new(path, cause.into()))),
        E::ReadEvents(cause) => {
            let kind = cause.kind();
            E::ReadEvents(io::Error::new(kind, InCollection::new(path, cause.into())))
        }
        // The others concern the configuration, or an object that their message contains.
        other => other,
    }
}

/// Sets `self_link`, which servers no longer fill in.
fn status_in_collection(mut status: Box<Status>, path: &str) -> Box<Status> {
    status.metadata.get_or_insert_default().self_link.get_or_insert_with(|| path.to_owned());
    status
}

/// An error and the API path of the collection that it concerns. Displayed as the error itself.
#[derive(Debug)]
struct InCollection {
    path: String,
    cause: Box<dyn StdError + Send + Sync>,
}

impl InCollection {
    fn new(path: &str, cause: Box<dyn StdError + Send + Sync>) -> Self {
        Self { path: path.to_owned(), cause }
    }
}

impl fmt::Display for InCollection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl StdError for InCollection {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

/// ` (pods in namespace default): `, the causes and what to check, for the end of a message.
fn describe(error: &kube_client::Error) -> String {
    match error {
        kube_client::Error::Api(status) => describe_status(status),
        _ => message(path_of(error), error, advice(error)),
    }
}

fn describe_status(status: &Status) -> String {
    message(path_of_status(status), status, advice_on(status))
}

fn path_of(error: &kube_client::Error) -> Option<&str> {
    use kube_client::Error as E;
    let in_collection = match error {
        E::Api(status) => return path_of_status(status),
        E::Service(cause) => cause.downcast_ref::<InCollection>(),
        E::ReadEvents(cause) => cause.get_ref().and_then(|cause| cause.downcast_ref::<InCollection>()),
        _ => None,
    };
    in_collection.map(|it| it.path.as_str())
}

fn path_of_status(status: &Status) -> Option<&str> {
    status.metadata.as_ref().and_then(|metadata| metadata.self_link.as_deref())
}

fn collection_of(path: &str) -> String {
    format!(" ({})", kind_and_scope(path))
}

fn message(path: Option<&str>, cause: &(dyn StdError + 'static), advice: Option<&str>) -> String {
    let collection = path.map(collection_of).unwrap_or_default();
    let advice = advice.map(|advice| format!(" ({advice})")).unwrap_or_default();
    format!("{collection}: {}{advice}", ErrorChain(cause))
}

/// `/apis/apps/v1/namespaces/web/deployments` as `deployments.apps in namespace web`.
pub(crate) fn kind_and_scope(path: &str) -> String {
    let segments: Vec<_> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match segments[..] {
        ["api", _version, ref rest @ ..] => (None, rest),
        ["apis", group, _version, ref rest @ ..] => (Some(group), rest),
        _ => return path.to_owned(),
    };
    let (plural, scope) = match *rest {
        ["namespaces", namespace, plural] => (plural, format!("in namespace {namespace}")),
        [plural] => (plural, "cluster-wide".to_owned()),
        _ => return path.to_owned(),
    };
    match group {
        Some(group) => format!("{plural}.{group} {scope}"),
        None => format!("{plural} {scope}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watcher::undecodable::UndecodableObject;

    const PODS: &str = "/api/v1/namespaces/default/pods";

    fn refused() -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionRefused, "refused")
    }

    #[test]
    fn errors_of_single_objects_are_told_from_those_of_the_connection() {
        let panic = ObjectPanic {
            callback: "predicate",
            kind: "Pod",
            object: "web".into(),
            message: "index out of bounds".into(),
        };
        assert!(Error::WatchFailed(kube_client::Error::Service(panic.into())).is_about_objects());
        let undecodable = UndecodableObject::named(None, "web", "missing field `spec`");
        assert!(Error::from(undecodable).is_about_objects());
        assert!(!Error::WatchFailed(kube_client::Error::Service(refused().into())).is_about_objects());
        assert!(!Error::NoResourceVersion.is_about_objects());
    }

    #[test]
    fn api_paths_are_displayed_as_kind_and_scope() {
        for (path, expected) in [
            (PODS, "pods in namespace default"),
            ("/api/v1/nodes", "nodes cluster-wide"),
            ("/api/v1/namespaces", "namespaces cluster-wide"),
            ("/apis/apps/v1/deployments", "deployments.apps cluster-wide"),
            ("/apis/example.com/v1/namespaces/a/widgets", "widgets.example.com in namespace a"),
            ("/odd", "/odd"),
        ] {
            assert_eq!(kind_and_scope(path), expected);
        }
    }

    #[test]
    fn the_message_of_every_variant_contains_the_collection_and_all_causes() {
        use kube_client::Error as E;
        let status = || Status::failure("404 page not found", "NotFound").with_code(404).boxed();
        for (error, expected) in [
            (
                Error::InitialListFailed(E::Api(status())),
                "failed to list the objects (pods in namespace default): 404 page not found (NotFound, code 404) \
                 (is the CRD installed, and does it serve this version?)",
            ),
            (
                Error::WatchError(status()),
                "the server reported an error within the watch (pods in namespace default): 404 page not found \
                 (NotFound, code 404) (is the CRD installed, and does it serve this version?)",
            ),
            (
                Error::WatchStartFailed(E::Service(refused().into())),
                "failed to start the watch (pods in namespace default): ServiceError: refused",
            ),
            (
                Error::WatchFailed(E::ReadEvents(refused())),
                "the watch failed (pods in namespace default): Error reading events stream: refused",
            ),
        ] {
            let in_snapshot = error.to_string();
            let error = error.in_collection(PODS);
            assert_eq!(error.without_collection(), in_snapshot);
            assert_eq!(error.to_string(), expected);
            assert_eq!(ErrorChain(&error).to_string(), expected, "the message has all causes");
        }
    }

    #[test]
    fn adding_the_collection_keeps_the_variant_and_the_cause() {
        use kube_client::Error as E;
        let Error::WatchFailed(E::ReadEvents(error)) =
            Error::WatchFailed(E::ReadEvents(refused())).in_collection(PODS)
        else {
            panic!("another variant")
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let Error::WatchStartFailed(E::Service(error)) =
            Error::WatchStartFailed(E::Service(refused().into())).in_collection(PODS)
        else {
            panic!("another variant")
        };
        assert!(error.source().is_some_and(|cause| cause.is::<io::Error>()));
    }
}
