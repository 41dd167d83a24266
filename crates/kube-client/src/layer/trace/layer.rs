use tower_layer::Layer;

use super::Trace;

/// Opens a span `HTTP` at level debug for each request; it lasts until the head of the answer is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner }
    }
}
