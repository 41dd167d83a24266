//! Measurements that a request's extensions carry to the metrics layer, and the count of exec plugin runs.

use std::time::Duration;

use http::{Request, StatusCode};
use tokio::time::Instant;

use super::names::PLUGIN_CALLS;

/// How long a request waited for the client's service to become ready.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited(pub(crate) Duration);

/// The status code that caused a retry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated(pub(crate) StatusCode);

/// Measures the wait of a request.
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
    // The retry itself has not waited.
    request.extensions_mut().remove::<Waited>();
}

/// Records a run of an exec plugin; `status` is client-go's `call_status`.
pub(crate) fn plugin_called(code: i32, status: &'static str) {
    metrics::counter!(PLUGIN_CALLS, "code" => code.to_string(), "call_status" => status).increment(1);
}
