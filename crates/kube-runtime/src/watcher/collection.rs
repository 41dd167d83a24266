//! Which collection an error of a watcher is about: carried within the error, since its variants are given.

use super::Error;
use kube_client::error::ErrorChain;
use kube_core::Status;
use std::{error::Error as StdError, fmt, io};

impl Error {
    /// The same error about the collection at this path of the API. Its variants and what they hold stay what they are.
    pub(super) fn in_collection(self, path: &str) -> Self {
        match self {
            Self::InitialListFailed(error) => Self::InitialListFailed(of_request(error, path)),
            Self::WatchStartFailed(error) => Self::WatchStartFailed(of_request(error, path)),
            Self::WatchFailed(error) => Self::WatchFailed(of_request(error, path)),
            Self::WatchError(status) => Self::WatchError(of_status(status, path)),
            Self::NoResourceVersion => Self::NoResourceVersion,
        }
    }
}

fn of_request(error: kube_client::Error, path: &str) -> kube_client::Error {
    use kube_client::Error as E;
    match error {
        E::Api(status) => E::Api(of_status(status, path)),
        E::Service(cause) => E::Service(Box::new(InCollection::new(path, cause))),
        E::HyperError(cause) => E::Service(Box::new(InCollection::new(path, cause.into()))),
        E::ReadEvents(cause) => {
            let kind = cause.kind();
            E::ReadEvents(io::Error::new(kind, InCollection::new(path, cause.into())))
        }
        // The others are about an object that they name, or about the configuration.
        other => other,
    }
}

/// A status has a field for the path of what it is about. Servers do not fill it in any more.
fn of_status(mut status: Box<Status>, path: &str) -> Box<Status> {
    status.metadata.get_or_insert_default().self_link.get_or_insert_with(|| path.to_owned());
    status
}

/// An error and the path of the collection that it is about. It prints as the error itself.
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

/// ` (pods in namespace default): ` and the cause, for the end of a message.
pub(super) fn about(error: &kube_client::Error) -> String {
    use kube_client::Error as E;
    let carried = match error {
        E::Api(status) => return about_status(status),
        E::Service(cause) => cause.downcast_ref::<InCollection>(),
        E::ReadEvents(cause) => cause.get_ref().and_then(|cause| cause.downcast_ref::<InCollection>()),
        _ => None,
    };
    message(carried.map(|carried| carried.path.as_str()), error)
}

/// The same of a status.
pub(super) fn about_status(status: &Status) -> String {
    message(status.metadata.as_ref().and_then(|metadata| metadata.self_link.as_deref()), status)
}

fn message(path: Option<&str>, cause: &(dyn StdError + 'static)) -> String {
    let collection = path.map(|path| format!(" ({})", name(path)));
    format!("{}: {}", collection.unwrap_or_default(), ErrorChain(cause))
}

/// `/apis/apps/v1/namespaces/web/deployments` as `deployments.apps in namespace web`.
fn name(path: &str) -> String {
    let parts: Vec<_> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts[..] {
        ["api", _version, ref rest @ ..] => (None, rest),
        ["apis", group, _version, ref rest @ ..] => (Some(group), rest),
        _ => return path.to_owned(),
    };
    let (plural, place) = match *rest {
        ["namespaces", namespace, plural] => (plural, format!("in namespace {namespace}")),
        [plural] => (plural, "cluster-wide".to_owned()),
        _ => return path.to_owned(),
    };
    match group {
        Some(group) => format!("{plural}.{group} {place}"),
        None => format!("{plural} {place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: &str = "/api/v1/namespaces/default/pods";

    fn refused() -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionRefused, "refused")
    }

    #[test]
    fn paths_read_as_kind_and_scope() {
        for (path, expected) in [
            (PODS, "pods in namespace default"),
            ("/api/v1/nodes", "nodes cluster-wide"),
            ("/api/v1/namespaces", "namespaces cluster-wide"),
            ("/apis/apps/v1/deployments", "deployments.apps cluster-wide"),
            ("/apis/example.com/v1/namespaces/a/widgets", "widgets.example.com in namespace a"),
            ("/odd", "/odd"),
        ] {
            assert_eq!(name(path), expected);
        }
    }

    #[test]
    fn every_way_to_fail_names_the_collection() {
        use kube_client::Error as E;
        let status = || Status::failure("404 page not found", "NotFound").with_code(404).boxed();
        for (error, expected) in [
            (
                Error::InitialListFailed(E::Api(status())),
                "failed to list the objects (pods in namespace default): 404 page not found (NotFound, code 404)",
            ),
            (
                Error::WatchError(status()),
                "the server reported an error within the watch (pods in namespace default): 404 page not found (NotFound, code 404)",
            ),
            (
                Error::WatchStartFailed(E::Service(refused().into())),
                "failed to start the watch (pods in namespace default): the request could not be carried out: refused",
            ),
            (
                Error::WatchFailed(E::ReadEvents(refused())),
                "the watch failed (pods in namespace default): the watch was interrupted: refused",
            ),
        ] {
            let error = error.in_collection(PODS);
            assert_eq!(error.to_string(), expected);
            assert_eq!(ErrorChain(&error).to_string(), expected, "the message has all causes");
        }
    }

    #[test]
    fn what_an_error_is_can_still_be_seen() {
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
