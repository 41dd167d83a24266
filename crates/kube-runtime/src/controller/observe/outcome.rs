//! How a reconcile ended, as spans, metrics and snapshots show it.

use crate::controller::{
    error::Error,
    reconcile::{Action, Requeue},
    runner_error,
};
use kube_client::error::ErrorChain;
use std::error::Error as StdError;

/// Longer messages are cut.
const MAX_MESSAGE: usize = 2048;

/// How a reconcile ended. The first four are the values of the label `result` of controller-runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReconcileOutcome {
    Success,
    /// Without an error, and to be repeated with backoff.
    Requeue,
    RequeueAfter,
    Error,
    Panicked,
    TimedOut,
    /// Cancelled, because its object was assigned to another replica.
    Revoked,
}

impl ReconcileOutcome {
    pub(super) fn of<E: StdError + 'static, Q: StdError + 'static>(
        action: &Action,
        error: Option<&Error<E, Q>>,
    ) -> Self {
        use runner_error::Error as R;
        match (error, action.next_run()) {
            (None, Requeue::Never) => Self::Success,
            (None, Requeue::WithBackoff) => Self::Requeue,
            (None, Requeue::After(_)) => Self::RequeueAfter,
            (Some(Error::RunnerError(R::Panicked { .. })), _) => Self::Panicked,
            (Some(Error::RunnerError(R::TimedOut { .. })), _) => Self::TimedOut,
            (Some(Error::RunnerError(R::Revoked { .. })), _) => Self::Revoked,
            (Some(_), _) => Self::Error,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
            Self::Error => "error",
            Self::Panicked => "panic",
            Self::TimedOut => "timeout",
            Self::Revoked => "revoked",
        }
    }

    /// The value of the label `result`, which has fewer values in Go. Revoked reconciles are not counted there.
    pub(super) fn result(self) -> &'static str {
        if self.is_failure() { "error" } else { self.as_str() }
    }

    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Error | Self::Panicked | Self::TimedOut)
    }

    /// Whether its object is queued again because it did not succeed, or with backoff.
    pub(super) fn is_retry(self, action: &Action) -> bool {
        match action.next_run() {
            Requeue::WithBackoff => true,
            Requeue::After(_) => self.is_failure(),
            Requeue::Never => false,
        }
    }
}

/// The message of an error with its causes. A reconciler's own error is shown without the object, which is known.
pub(super) fn message_of<E: StdError + 'static, Q: StdError + 'static>(error: &Error<E, Q>) -> String {
    let mut message = match error {
        Error::ReconcilerFailed(cause, _) => ErrorChain(cause).to_string(),
        other => ErrorChain(other).to_string(),
    };
    if message.len() > MAX_MESSAGE {
        let end = (0..=MAX_MESSAGE).rev().find(|index| message.is_char_boundary(*index));
        message.truncate(end.unwrap_or(0));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflector::ObjectRef;
    use k8s_openapi::api::core::v1::ConfigMap;
    use std::{convert::Infallible, fmt};

    #[derive(Debug)]
    struct Odd(&'static str);

    impl StdError for Odd {}

    impl fmt::Display for Odd {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            assert!(!self.0.is_empty(), "no message");
            (0..1000).try_for_each(|_| f.write_str(self.0))
        }
    }

    fn message(text: &'static str) -> String {
        let object = Box::new(ObjectRef::<ConfigMap>::new("a").erase());
        message_of::<_, Infallible>(&Error::ReconcilerFailed(Odd(text), object))
    }

    #[test]
    fn long_messages_are_cut_between_characters_and_a_panic_is_a_message() {
        let long = message("€");
        assert!(long.len() <= MAX_MESSAGE + '…'.len_utf8() && long.ends_with("€…"), "{}", long.len());
        assert_eq!(message(""), "an error whose message cannot be printed: no message");
    }
}
