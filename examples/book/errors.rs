//! What a program does with errors of the client.

use kube::core::Status;

// ANCHOR: all
use kube::Error;
use kube::error::ErrorChain;

/// Whether it makes sense to try again.
fn is_transient(err: &Error) -> bool {
    match err {
        Error::Api(status) => err.is_conflict() || err.is_too_many_requests() || status.code >= 500,
        Error::Service(_) | Error::HyperError(_) | Error::ReadEvents(_) => true,
        _ => false,
    }
}

/// One line: what failed, and each cause once.
fn report(err: &Error) -> String {
    ErrorChain(err).to_string()
}
// ANCHOR_END: all

#[test]
fn a_missing_object_is_not_transient_and_the_report_names_it() {
    let gone = Error::Api(Status::failure("pods \"a\" not found", "NotFound").with_code(404).boxed());
    assert!(!is_transient(&gone));
    assert_eq!(report(&gone).matches("pods \"a\" not found").count(), 1);
    assert!(is_transient(&Error::Api(Status::failure("wait", "TooManyRequests").with_code(429).boxed())));
}
