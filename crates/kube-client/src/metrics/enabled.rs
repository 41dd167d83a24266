//! The names of the metrics, and measurements that a request's extensions carry to the metrics layer.

use std::time::Duration;

use http::{Request, StatusCode};
use metrics::{Unit, describe_counter, describe_histogram};
use tokio::time::Instant;

// The names of client-go's metrics.
pub(super) const REQUESTS: &str = "rest_client_requests_total";
pub(super) const DURATION: &str = "rest_client_request_duration_seconds";
pub(super) const REQUEST_SIZE: &str = "rest_client_request_size_bytes";
pub(super) const RESPONSE_SIZE: &str = "rest_client_response_size_bytes";
pub(super) const RETRIES: &str = "rest_client_request_retries_total";
pub(super) const WAIT: &str = "rest_client_rate_limiter_duration_seconds";
pub(super) const DNS: &str = "rest_client_dns_resolution_duration_seconds";
pub(super) const PLUGIN_CALLS: &str = "rest_client_exec_plugin_call_total";

/// Registers the descriptions with the recorder.
pub(super) fn describe() {
    describe_counter!(REQUESTS, "HTTP requests, by code, method and host; code <error> if no response came");
    describe_histogram!(DURATION, Unit::Seconds, "Time until the head of the response, by verb and host");
    describe_histogram!(REQUEST_SIZE, Unit::Bytes, "Size of the request's body, by verb and host");
    describe_histogram!(
        RESPONSE_SIZE,
        Unit::Bytes,
        "Size of the response's body, by verb and host; without watches and logs"
    );
    describe_counter!(RETRIES, "Requests that were sent again, by the code that caused it, verb and host");
    describe_histogram!(WAIT, Unit::Seconds, "Time that requests waited in the client, by verb and host");
    describe_histogram!(DNS, Unit::Seconds, "Time to look up the address of a host, by host");
    describe_counter!(PLUGIN_CALLS, "Runs of exec plugins, by exit code and call status");
}

/// How long a request waited for the client's service to become ready.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waited(pub(super) Duration);

/// The status code that caused a retry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated(pub(super) StatusCode);

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
