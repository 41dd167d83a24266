//! The names of metrics, as in client-go (`rest_client_*`).

use metrics::{Unit, describe_counter, describe_histogram};

pub(crate) const REQUESTS: &str = "rest_client_requests_total";
pub(crate) const DURATION: &str = "rest_client_request_duration_seconds";
pub(crate) const REQUEST_SIZE: &str = "rest_client_request_size_bytes";
pub(crate) const RESPONSE_SIZE: &str = "rest_client_response_size_bytes";
pub(crate) const RETRIES: &str = "rest_client_request_retries_total";
pub(crate) const WAIT: &str = "rest_client_rate_limiter_duration_seconds";
pub(super) const DNS: &str = "rest_client_dns_resolution_duration_seconds";
pub(super) const PLUGIN_CALLS: &str = "rest_client_exec_plugin_call_total";

/// Registers the descriptions with the recorder.
pub(crate) fn describe() {
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
