//! How many connections are open, and which one gives up its place.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// How long a connection that has made requests keeps its place while others wait, without a request or with responses that its peer does
/// not read. Longer than a client takes between two requests, or to read on.
const KEPT: Duration = Duration::from_secs(30);
/// How often those that wait look for a place.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The open connections, oldest first.
type Open = Arc<Mutex<BTreeMap<u64, Arc<Place>>>>;

/// The places for connections of a listener.
pub(super) struct Slots {
    free: Arc<Semaphore>,
    open: Open,
    next: u64,
    first_request: Duration,
}

impl Slots {
    pub(super) fn new(connections: usize, first_request: Duration) -> Self {
        let free = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
        Self { free, open: Open::default(), next: 0, first_request }
    }

    /// Waits for a place. If all are taken, the connection that has been idle for longest gives up its own.
    pub(super) async fn take(&mut self) -> Slot {
        let permit = loop {
            if self.free.available_permits() == 0 {
                self.evict();
            }
            let free = Arc::clone(&self.free).acquire_owned();
            if let Ok(permit) = timeout(LOOK_EVERY, free).await {
                break permit.expect("invariant: it is never closed");
            }
        };
        let id = self.next;
        self.next += 1;
        let usage = Usage { requested: false, busy: 0, idle_since: Instant::now() };
        let place = Arc::new(Place { usage: Mutex::new(usage), evicted: CancellationToken::new() });
        self.open.lock().insert(id, Arc::clone(&place));
        let limit = self.first_request;
        Slot { _permit: permit, id, open: Arc::clone(&self.open), place, limit }
    }

    /// Looks at every connection, which is rare: only when all places are taken.
    fn evict(&self) {
        let now = Instant::now();
        let open = self.open.lock();
        let idle = open.values().filter_map(|place| Some((place.idle_since(now)?, place)));
        if let Some((_, place)) = idle.min_by_key(|(since, _)| *since) {
            place.evicted.cancel();
        }
    }
}

/// The place of one connection, until it is dropped.
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    id: u64,
    open: Open,
    place: Arc<Place>,
    limit: Duration,
}

struct Place {
    usage: Mutex<Usage>,
    evicted: CancellationToken,
}

/// What a connection is used for.
struct Usage {
    /// Whether there was a request.
    requested: bool,
    /// Requests at work, and responses that wait for the service: those that wait for the peer are not among them.
    busy: usize,
    idle_since: Instant,
}

impl Place {
    /// Since when others may have the place: at once without a request, else after some time.
    fn idle_since(&self, now: Instant) -> Option<Instant> {
        let usage = self.usage.lock();
        let is_idle = usage.busy == 0 && (!usage.requested || now >= usage.idle_since + KEPT);
        (is_idle && !self.evicted.is_cancelled()).then_some(usage.idle_since)
    }

    fn work(self: &Arc<Self>) -> Busy {
        self.usage.lock().busy += 1;
        Busy(Arc::clone(self))
    }
}

/// Something for which the peer waits.
struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut usage = self.0.usage.lock();
        usage.busy -= 1;
        usage.idle_since = Instant::now();
    }
}

impl Slot {
    /// Ready when the connection should be closed, because it has made no request in time or others need its place.
    pub(super) async fn given_up(&self) {
        tokio::select! {
            () = self.place.evicted.cancelled() => {}
            () = sleep(self.limit) => {
                if self.place.usage.lock().requested {
                    self.place.evicted.cancelled().await;
                }
            }
        }
    }

    /// A service that notices requests, and whether responses are read.
    pub(super) fn notice<S>(&self, service: S) -> Noticed<S> {
        Noticed { service, place: Arc::clone(&self.place) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.lock().remove(&self.id);
    }
}

/// Notices the requests of a connection.
#[derive(Clone)]
pub(super) struct Noticed<S> {
    service: S,
    place: Arc<Place>,
}

impl<S, R, B> Service<R> for Noticed<S>
where
    S: Service<R, Response = http::Response<B>, Future: Send + 'static>,
{
    type Response = http::Response<NoticedBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.place.usage.lock().requested = true;
        let (place, busy) = (Arc::clone(&self.place), self.place.work());
        let response = self.service.call(request);
        Box::pin(async move {
            let response = response.await?;
            drop(busy);
            Ok(response.map(|body| NoticedBody { body: Box::pin(body), place, busy: None }))
        })
    }
}

/// A body that is busy while it is asked for more: the server asks when the peer has read.
pub(super) struct NoticedBody<B> {
    body: Pin<Box<B>>,
    place: Arc<Place>,
    busy: Option<Busy>,
}

impl<B: Body> Body for NoticedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.busy.is_none() {
            self.busy = Some(self.place.work());
        }
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        self.busy = None;
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http_body_util::{BodyExt, Full, combinators::BoxBody};
    use tokio::task::{JoinHandle, yield_now};

    use super::*;

    /// A body without end: it has a line at once, and then none if it is quiet.
    struct Endless {
        quiet: bool,
        lines: usize,
    }

    impl Body for Endless {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.lines += 1;
            if self.quiet && self.lines > 1 {
                return Poll::Pending;
            }
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"line")))))
        }
    }

    /// The only place, taken by a connection whose response is asked for so many lines. Another connection waits for the place.
    async fn taken(
        body: BoxBody<Bytes, Infallible>,
        lines: usize,
    ) -> (Slot, BoxBody<Bytes, Infallible>, JoinHandle<Slot>) {
        let mut slots = Slots::new(1, Duration::from_secs(30));
        let slot = slots.take().await;
        let body = std::sync::Mutex::new(Some(body));
        let service = tower::service_fn(move |()| {
            let body = body.lock().unwrap().take().unwrap();
            std::future::ready(Ok::<_, Infallible>(http::Response::new(body)))
        });
        let mut body = slot.notice(service).call(()).await.unwrap().into_body().boxed();
        for _ in 0..lines {
            let next = timeout(Duration::from_millis(1), body.frame()).await;
            drop(next);
        }
        let waiting = tokio::spawn(async move { slots.take().await });
        yield_now().await;
        (slot, body, waiting)
    }

    async fn gives_up_within(slot: &Slot, limit: Duration) -> bool {
        timeout(limit, slot.given_up()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_responses_are_not_read_gives_up_its_place() {
        for lines in [0, 1] {
            let unread = Endless { quiet: false, lines: 0 };
            let (slot, body, waiting) = taken(unread.boxed(), lines).await;
            assert!(!gives_up_within(&slot, KEPT - LOOK_EVERY).await, "its peer may read on");
            assert!(gives_up_within(&slot, 3 * LOOK_EVERY).await);
            drop((slot, body));
            waiting.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_for_long_gives_up_its_place() {
        let (slot, _body, _waiting) = taken(Full::from("whole").boxed(), 2).await;
        assert!(gives_up_within(&slot, KEPT + LOOK_EVERY).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_response_keeps_its_place() {
        let quiet = Endless { quiet: true, lines: 0 };
        let (slot, _body, waiting) = taken(quiet.boxed(), 2).await;
        assert!(!gives_up_within(&slot, 100 * KEPT).await);
        assert!(!waiting.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_gives_up_a_place_that_nobody_wants() {
        let mut slots = Slots::new(2, Duration::from_secs(30));
        let slot = slots.take().await;
        let service = tower::service_fn(|()| {
            std::future::ready(Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::default())))
        });
        drop(slot.notice(service).call(()).await);
        assert!(!gives_up_within(&slot, 100 * KEPT).await);
    }
}
