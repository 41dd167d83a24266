use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Version;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use tower::BoxError;

use super::future::timed_out;
use super::idle::IdleWatch;
use super::limits::Limits;

pin_project! {
    /// The body of an answer through [`Deadline`](super::Deadline).
    #[derive(Debug)]
    pub struct DeadlineBody<B> {
        #[pin]
        inner: B,
        limit: Limit,
        // Made when somebody has to wait for the first time.
        timer: Option<Pin<Box<Sleep>>>,
        // Whether the timer has run since the last piece.
        running: bool,
    }
}

/// What the body has to keep to.
#[derive(Clone, Copy, Debug)]
enum Limit {
    None,
    Silence(Duration),
    /// The same for a watch that nothing but its events can show to be alive.
    Idle(Duration),
    End(Instant, Duration),
    /// It has not kept to it, and that has been told.
    Broken,
}

impl<B> DeadlineBody<B> {
    /// The timer is one that may have been made for the head.
    pub(super) fn new(
        inner: B,
        version: Version,
        limits: Limits,
        started: Instant,
        timer: Option<Pin<Box<Sleep>>>,
    ) -> Self {
        let idle = limits.idle.filter(|_| version < Version::HTTP_2);
        let limit = match (limits.silence, idle, limits.whole) {
            (Some(silence), ..) => Limit::Silence(silence),
            (None, Some(idle), _) => Limit::Idle(idle),
            (None, None, Some(whole)) => Limit::End(started + whole, whole),
            (None, None, None) => Limit::None,
        };
        let timer = timer.filter(|_| !matches!(limit, Limit::None));
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
        if let Limit::Broken = this.limit {
            return Poll::Ready(None);
        }
        if let Poll::Ready(frame) = this.inner.poll_frame(cx) {
            *this.running = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let due = match *this.limit {
            Limit::None | Limit::Broken => return Poll::Pending,
            Limit::Silence(limit) | Limit::Idle(limit) => Instant::now() + limit,
            Limit::End(end, _) => end,
        };
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if !std::mem::replace(this.running, true) {
            timer.as_mut().reset(due);
        }
        ready!(timer.as_mut().poll(cx));
        let err = match std::mem::replace(this.limit, Limit::Broken) {
            Limit::Silence(limit) => timed_out(format!("the server sent nothing more for {limit:?}")),
            Limit::Idle(limit) => timed_out(IdleWatch(limit)),
            Limit::End(_, limit) => {
                timed_out(format!("the watch should have ended within {limit:?}, and nothing came"))
            }
            Limit::None | Limit::Broken => return Poll::Ready(None),
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
