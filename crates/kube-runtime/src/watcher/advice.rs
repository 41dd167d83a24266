//! What to check after a request of the watcher failed.

use kube_client::error::ErrorClass;
use kube_core::Status;

/// What to check after this error, where its text does not say it.
pub(super) fn advice(error: &kube_client::Error) -> Option<&'static str> {
    match error {
        kube_client::Error::Api(status) => advice_on(status),
        kube_client::Error::SerdeError(error) if error.is_syntax() => {
            Some("does a proxy answer in place of the API server?")
        }
        // The error of undecodable objects is one of a writer. One at the end of the text is of a broken connection.
        kube_client::Error::SerdeError(error) if !error.is_eof() => {
            Some("does the type in this program match the schema of the kind?")
        }
        _ => None,
    }
}

/// What to check after this response.
pub(super) fn advice_on(status: &Status) -> Option<&'static str> {
    match status.code {
        401 => Some("are the credentials of this program valid?"),
        403 => Some("does a role of this program permit it?"),
        404 if ErrorClass::of_status(status) == ErrorClass::UnknownKind => {
            Some("is the CRD installed, and does it serve this version?")
        }
        _ => None,
    }
}
