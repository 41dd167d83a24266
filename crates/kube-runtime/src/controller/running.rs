//! A reconcile under way, as a future of its outcome.

use crate::reflector::ObjectKey;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tracing::Span;

/// A reconcile under way.
pub(super) struct Running<K, F> {
    pub(super) key: Arc<ObjectKey>,
    pub(super) object: Arc<K>,
    pub(super) span: Span,
    pub(super) future: F,
}

/// One that is over, with its output.
pub(super) type Done<K, T> = (Arc<ObjectKey>, Arc<K>, Span, T);

impl<K, F: Future + Unpin> Future for Running<K, F> {
    type Output = Done<K, F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _inside = this.span.enter();
        let output = ready!(Pin::new(&mut this.future).poll(cx));
        Poll::Ready((Arc::clone(&this.key), Arc::clone(&this.object), this.span.clone(), output))
    }
}
