//! Notes that travel with a request to the layer that records them, and what is recorded elsewhere.

use std::time::Duration;

use http::{Request, StatusCode};
use tokio::time::Instant;

use super::names::PLUGIN_CALLS;

/// How long a request waited for its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited(pub(crate) Duration);

/// The code because of which a request is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated(pub(crate) StatusCode);

/// A request that waits for its turn.
pub(crate) struct Waiting(Instant);

impl Waiting {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn end<B>(self, request: &mut Request<B>) {
        request.extensions_mut().insert(Waited(self.0.elapsed()));
    }
}

pub(crate) fn repeated<B>(request: &mut Request<B>, code: StatusCode) {
    request.extensions_mut().insert(Repeated(code));
    // It has not waited a second time.
    request.extensions_mut().remove::<Waited>();
}

/// A run of a credential program has ended, in client-go's words for how.
pub(crate) fn plugin_called(code: i32, status: &'static str) {
    metrics::counter!(PLUGIN_CALLS, "code" => code.to_string(), "call_status" => status).increment(1);
}
