//! The guard around user code: its panics as values.
//!
//! All code of a program that we call is behind it: reconcilers and error policies, mappers, predicates, index functions, assignments,
//! backoffs, and the texts of errors.

use futures::FutureExt;
use std::{
    fmt,
    future::{Future, pending},
    panic::{AssertUnwindSafe, catch_unwind},
};

pub(crate) use kube_core::panic::panic_message;

/// A user's callback panicked when it was called with this object.
#[derive(Debug, thiserror::Error)]
#[error("the {callback} panicked for {kind} {object}: {message}")]
pub(crate) struct ObjectPanic {
    /// The kind of callback, such as `predicate`.
    pub(crate) callback: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) object: String,
    pub(crate) message: String,
}

/// The return value of `call`, or the message of its panic.
///
/// Asserting unwind safety is sound here: a callback whose data a panic can leave inconsistent has to guard against that
/// itself, as it would between threads.
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| panic_message(&*payload).to_owned())
}

/// The output of a future of the program. If it panics, this is logged with `consequence`, and nothing completes.
pub(crate) async fn pending_after_panic<F: Future>(future: F, consequence: &'static str) -> F::Output {
    match AssertUnwindSafe(future).catch_unwind().await {
        Ok(output) => output,
        Err(payload) => {
            tracing::error!(message = panic_message(&*payload), "{consequence}");
            drop(payload); // it need not be `Sync`
            pending().await
        }
    }
}

/// Displays an error of user code as `{}` does, or says that its message cannot be printed, as [`kube_client::error::ErrorChain`] does.
pub(crate) struct Guarded<'a, E>(pub(crate) &'a E);

impl<E: fmt::Display> fmt::Display for Guarded<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match catch_panic(|| self.0.to_string()) {
            Ok(text) => f.write_str(&text),
            Err(panic) => write!(f, "an error whose message cannot be printed: {panic}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        let message = |panics: fn()| catch_panic(panics).unwrap_err();
        assert_eq!(message(|| panic!("plain")), "plain");
        assert_eq!(message(|| panic!("{}", 7)), "7");
        assert_eq!(message(|| std::panic::panic_any(7)), "(a panic value that is not a string)");
        assert_eq!(catch_panic(|| 5), Ok(5));
    }
}
