//! What kind of trouble an error is. The only place that looks into errors; what follows from it is the machine's.

use kube_core::{Status, response::reason};
use std::{io, time::Duration};

/// Kinds of trouble, each with its own reaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server no longer serves this `resourceVersion` or continue token.
    Expired,
    /// The server's state is older than the `resourceVersion` asked for.
    Behind,
    /// The server is busy or starting. It may say how long to wait.
    Busy { retry_after: Option<Duration> },
    /// The server does not take such a request.
    Refused,
    /// The credentials do not allow it.
    Forbidden,
    /// The server does not know the kind.
    UnknownKind,
    /// The answer could not be decoded.
    Undecodable,
    /// The server failed inside.
    Internal,
    /// The connection failed.
    Broken,
    /// Nothing came for too long, by the client's own limit ([`is_idle_watch`](kube_client::Error::is_idle_watch)) or by that of TCP.
    Silent,
}

impl Fault {
    /// What kind of trouble a failed request is.
    pub(crate) fn of(error: &kube_client::Error) -> Self {
        match error {
            kube_client::Error::Api(status) => Self::of_status(status),
            kube_client::Error::SerdeError(_)
            | kube_client::Error::FromUtf8(_)
            | kube_client::Error::LinesCodecMaxLineLengthExceeded => Self::Undecodable,
            kube_client::Error::Auth(_) => Self::Forbidden,
            kube_client::Error::BuildRequest(_) => Self::Refused,
            kube_client::Error::ReadEvents(error) if error.kind() == io::ErrorKind::TimedOut => Self::Silent,
            _ => Self::Broken,
        }
    }

    /// What kind of trouble a status of the server is.
    pub(crate) fn of_status(status: &Status) -> Self {
        match status.code {
            _ if is_too_new(status) => Self::Behind,
            410 => Self::Expired,
            _ if status.reason == reason::EXPIRED || status.reason == reason::GONE => Self::Expired,
            429 | 503 => Self::Busy { retry_after: retry_after(status) },
            _ if status.message.contains("storage is (re)initializing") => {
                Self::Busy { retry_after: retry_after(status) }
            }
            401 | 403 => Self::Forbidden,
            404 => Self::UnknownKind,
            400 | 405 | 406 | 415 | 422 => Self::Refused,
            _ => Self::Internal,
        }
    }

    /// Whether the server cannot serve the version that was asked for, or has lost what it belongs to.
    pub(super) fn loses_version(&self) -> bool {
        matches!(self, Self::Expired | Self::Behind | Self::UnknownKind)
    }

    /// Whether only a change by a human can help, so that a caller who waits for one thing should stop waiting.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(self, Self::Refused | Self::Forbidden | Self::UnknownKind)
    }
}

fn is_too_new(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
}

fn retry_after(status: &Status) -> Option<Duration> {
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::response::{StatusCause, StatusDetails};

    fn status(code: u16, reason: &str) -> Status {
        Status::failure("", reason).with_code(code)
    }

    fn details() -> StatusDetails {
        serde_json::from_str("{}").unwrap()
    }

    #[test]
    fn expired_by_code_or_by_reason() {
        assert_eq!(Fault::of_status(&status(410, "")), Fault::Expired);
        assert_eq!(Fault::of_status(&status(0, reason::EXPIRED)), Fault::Expired);
        assert_eq!(Fault::of_status(&status(0, reason::GONE)), Fault::Expired);
    }

    #[test]
    fn busy_says_how_long_to_wait() {
        let asked = status(429, "TooManyRequests")
            .with_details(StatusDetails { retry_after_seconds: 7, ..details() });
        assert_eq!(Fault::of_status(&asked), Fault::Busy { retry_after: Some(Duration::from_secs(7)) });
        assert_eq!(Fault::of_status(&status(503, "")), Fault::Busy { retry_after: None });
        let starting = Status::failure("storage is (re)initializing", "TooManyRequests");
        assert_eq!(Fault::of_status(&starting), Fault::Busy { retry_after: None });
    }

    #[test]
    fn a_version_from_the_future_is_told_from_a_slow_server() {
        let cause = StatusCause {
            reason: "ResourceVersionTooLarge".into(),
            message: String::new(),
            field: String::new(),
        };
        let too_new = status(504, "Timeout").with_details(StatusDetails { causes: vec![cause], ..details() });
        assert_eq!(Fault::of_status(&too_new), Fault::Behind);
        assert_eq!(Fault::of_status(&status(504, "Timeout")), Fault::Internal);
    }

    #[test]
    fn the_rest_by_code() {
        for (code, fault) in [
            (400, Fault::Refused),
            (401, Fault::Forbidden),
            (403, Fault::Forbidden),
            (404, Fault::UnknownKind),
            (422, Fault::Refused),
            (500, Fault::Internal),
        ] {
            assert_eq!(Fault::of_status(&status(code, "")), fault, "{code}");
        }
    }
}
