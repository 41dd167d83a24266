//! More than one HTTP/2 connection, when one is full.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_service::Service;

/// Sends requests through the first of several like services that has room, and makes another one when none has.
///
/// An API server takes 100 requests at a time on a connection, and every watch is one. An HTTP client with a single connection
/// lets the next one wait until a watch ends, which may be never.
///
/// When the epoch changes, no request goes to the members of the one before; those that are under way there end in peace.
#[derive(Clone)]
pub(crate) struct Spread<F, S> {
    make: F,
    epoch: Arc<dyn Fn() -> u64 + Send + Sync>,
    members: Arc<Mutex<Members<S>>>,
}

struct Members<S> {
    epoch: u64,
    list: Vec<Member<S>>,
}

/// How many requests a member may have at a time. A few less than the server takes: some end here before they do there.
pub(crate) const ROOM: u32 = 90;

struct Member<S> {
    service: S,
    busy: Arc<AtomicU32>,
}

/// The place of one request, until its answer has been read or dropped.
struct Place(Arc<AtomicU32>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<F: Fn() -> S, S: Clone> Spread<F, S> {
    /// Makes the first member when it is needed.
    pub(crate) fn new(make: F, epoch: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let members = Members { epoch: epoch(), list: Vec::new() };
        Self { make, epoch: Arc::new(epoch), members: Arc::new(Mutex::new(members)) }
    }

    fn take_place(&self) -> (S, Place) {
        // Only whole members are ever in the list, so a panic elsewhere leaves it usable.
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let epoch = (self.epoch)();
        if epoch != members.epoch {
            *members = Members { epoch, list: Vec::new() };
        }
        let members = &mut members.list;
        // Places are taken under the lock, so what is counted here can only become less.
        let free = members.iter().position(|member| member.busy.load(Ordering::Relaxed) < ROOM);
        let index = free.unwrap_or_else(|| {
            members.push(Member { service: (self.make)(), busy: Arc::default() });
            members.len() - 1
        });
        let member = &members[index];
        member.busy.fetch_add(1, Ordering::Relaxed);
        (member.service.clone(), Place(Arc::clone(&member.busy)))
    }
}

impl<F, S, ReqBody, ResBody> Service<Request<ReqBody>> for Spread<F, S>
where
    F: Fn() -> S,
    S: Service<Request<ReqBody>, Response = Response<ResBody>> + Clone,
    S::Future: Send + 'static,
{
    type Response = Response<Placed<ResBody>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    /// HTTP clients that pool connections are always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ReqBody>) -> Self::Future {
        let (mut service, place) = self.take_place();
        let sent = service.call(request);
        Box::pin(async move { Ok(sent.await?.map(|body| Placed { body, _place: place })) })
    }
}

pin_project! {
    /// A body that gives its place free at the end.
    pub(crate) struct Placed<B> {
        #[pin]
        body: B,
        _place: Place,
    }
}

impl<B: Body> Body for Placed<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
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
    use http_body_util::Empty;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn the_first_with_room_is_taken_and_places_come_back() {
        let made = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&made);
        let spread = Spread::new(
            move || {
                let number = counter.fetch_add(1, Ordering::Relaxed);
                tower::service_fn(move |_: Request<()>| async move {
                    let answer =
                        Response::builder().header("member", number).body(Empty::<bytes::Bytes>::new());
                    Ok::<_, std::convert::Infallible>(answer.unwrap())
                })
            },
            || 0,
        );
        let send = || async { spread.clone().oneshot(Request::new(())).await.unwrap() };
        let mut held = Vec::new();
        for _ in 0..2 * ROOM {
            held.push(send().await);
        }
        assert_eq!(made.load(Ordering::Relaxed), 2);
        held.remove(0);
        assert_eq!(send().await.headers()["member"], "0");
        drop(held);
        for _ in 0..10 * ROOM {
            drop(send().await);
        }
        assert_eq!(made.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_gives_its_place_back() {
        let spread = Spread::new(
            || {
                tower::service_fn(|_: Request<()>| {
                    std::future::pending::<Result<Response<Empty<bytes::Bytes>>, std::convert::Infallible>>()
                })
            },
            || 0,
        );
        let calls: Vec<_> = (0..ROOM).map(|_| spread.clone().call(Request::new(()))).collect();
        drop(calls);
        let _call = spread.clone().call(Request::new(()));
        assert_eq!(spread.members.lock().unwrap().list.len(), 1);
    }

    #[tokio::test]
    async fn a_new_epoch_has_members_of_its_own() {
        let now = Arc::new(AtomicU32::new(0));
        let (epoch, made_in) = (Arc::clone(&now), Arc::clone(&now));
        let spread = Spread::new(
            move || {
                let epoch = made_in.load(Ordering::Relaxed);
                tower::service_fn(move |_: Request<()>| async move {
                    let answer =
                        Response::builder().header("epoch", epoch).body(Empty::<bytes::Bytes>::new());
                    Ok::<_, std::convert::Infallible>(answer.unwrap())
                })
            },
            move || epoch.load(Ordering::Relaxed).into(),
        );
        for expected in ["0", "0", "1", "1"] {
            now.store(expected.parse().unwrap(), Ordering::Relaxed);
            assert_eq!(spread.clone().oneshot(Request::new(())).await.unwrap().headers()["epoch"], expected);
        }
    }
}
