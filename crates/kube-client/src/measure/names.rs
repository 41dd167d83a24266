//! The names, as in client-go's `rest_client_*`.

use metrics::{Unit, describe_counter, describe_histogram};

pub(crate) const REQUESTS: &str = "rest_client_requests_total";
pub(crate) const DURATION: &str = "rest_client_request_duration_seconds";
pub(crate) const REQUEST_SIZE: &str = "rest_client_request_size_bytes";
pub(crate) const RESPONSE_SIZE: &str = "rest_client_response_size_bytes";
pub(crate) const RETRIES: &str = "rest_client_request_retries_total";
pub(crate) const WAIT: &str = "rest_client_rate_limiter_duration_seconds";
pub(super) const DNS: &str = "rest_client_dns_resolution_duration_seconds";
pub(super) const PLUGIN_CALLS: &str = "rest_client_exec_plugin_call_total";

/// Tells the recorder what each of them is.
pub(crate) fn describe() {
    describe_counter!(REQUESTS, "HTTP requests, by code, method and host; code <error> where no answer came");
    describe_histogram!(DURATION, Unit::Seconds, "Time until the head of the answer, by verb and host");
    describe_histogram!(REQUEST_SIZE, Unit::Bytes, "Size of the request's body, by verb and host");
    describe_histogram!(
        RESPONSE_SIZE,
        Unit::Bytes,
        "Size of the answer's body, by verb and host; not of watches and logs"
    );
    describe_counter!(RETRIES, "Requests that were sent again, by the code that caused it, verb and host");
    describe_histogram!(WAIT, Unit::Seconds, "Time that requests waited for their turn, by verb and host");
    describe_histogram!(DNS, Unit::Seconds, "Time to look up the address of a host, by host");
    describe_counter!(PLUGIN_CALLS, "Runs of credential programs, by exit code and how they ended");
}
