//! The body of a response with a deadline, and the errors of a deadline that has passed.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Version;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use thiserror::Error;
use tokio::time::{Instant, Sleep};
use tower::BoxError;

use super::limits::DeadlineLimits;
use crate::error::Error;

pin_project! {
    /// The body of a response through [`Deadline`](super::Deadline).
    #[derive(Debug)]
    pub struct DeadlineBody<B> {
        #[pin]
        inner: B,
        limit: BodyLimit,
        // Created by the first poll that is pending.
        timer: Option<Pin<Box<Sleep>>>,
        // Whether the timer has been reset since the last frame.
        running: bool,
    }
}

/// The limit that holds for a body.
#[derive(Clone, Copy, Debug)]
enum BodyLimit {
    None,
    Silence(Duration),
    /// `Silence` for a watch over HTTP/1.1, where only events show that the connection is alive.
    Idle(Duration),
    End(Instant, Duration),
    /// The limit has passed and its error was returned.
    Passed,
}

impl<B> DeadlineBody<B> {
    /// Reuses `timer`, which the wait for the head may have created.
    pub(super) fn new(
        inner: B,
        version: Version,
        limits: DeadlineLimits,
        started: Instant,
        timer: Option<Pin<Box<Sleep>>>,
    ) -> Self {
        let idle = limits.idle.filter(|_| version < Version::HTTP_2);
        let limit = match (limits.silence, idle, limits.whole) {
            (Some(silence), ..) => BodyLimit::Silence(silence),
            (None, Some(idle), _) => BodyLimit::Idle(idle),
            (None, None, Some(whole)) => BodyLimit::End(started + whole, whole),
            (None, None, None) => BodyLimit::None,
        };
        let timer = timer.filter(|_| !matches!(limit, BodyLimit::None));
        Self { inner, limit, timer, running: false }
    }
}

impl<B> Body for DeadlineBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let this = self.project();
        if let BodyLimit::Passed = this.limit {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = this.inner.poll_frame(cx) {
            *this.running = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let due = match *this.limit {
            BodyLimit::None | BodyLimit::Passed => return Poll::Pending,
            BodyLimit::Silence(limit) | BodyLimit::Idle(limit) => Instant::now() + limit,
            BodyLimit::End(end, _) => end,
        };
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if !std::mem::replace(this.running, true) {
            timer.as_mut().reset(due);
        }
        ready!(timer.as_mut().poll(cx));
        let err = match std::mem::replace(this.limit, BodyLimit::Passed) {
            BodyLimit::Silence(limit) => timed_out(format!("the server sent nothing more for {limit:?}")),
            BodyLimit::Idle(limit) => timed_out(IdleWatch(limit)),
            BodyLimit::End(_, limit) => {
                timed_out(format!("the watch should have ended within {limit:?}, but it is still open"))
            }
            BodyLimit::None | BodyLimit::Passed => return Poll::Ready(None),
        };
        Poll::Ready(Some(Err(err)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A watch over HTTP/1.1 was silent for this long.
#[derive(Debug, Error)]
#[error(
    "the watch was silent for {0:?}: over HTTP/1.1 only a new watch can tell whether the server is there"
)]
struct IdleWatch(Duration);

impl Error {
    /// Whether a watch over HTTP/1.1 was ended because it was silent for the configuration's `response_timeout` (55 s by default).
    ///
    /// This need not be a failure: a watch without events is as silent as one whose connection is dead, and HTTP/1.1 has no ping. Watch
    /// again from the last resource version: that uses another connection, and fails if the server cannot be reached. Watches over
    /// HTTP/2 never end like this.
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
            // `io::Error::source` skips the error that the `io::Error` wraps.
            cause = match err.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(inner) => Some(inner),
                None => err.source(),
            };
        }
        false
    }
}

pub(super) fn timed_out(err: impl Into<BoxError>) -> BoxError {
    io::Error::new(io::ErrorKind::TimedOut, err).into()
}
