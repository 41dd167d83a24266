//! The metrics of webhooks, with controller-runtime's names and labels; `webhook` is the path.
//!
//! Source: the documentation of controller-runtime's packages `pkg/webhook/internal/metrics`, `pkg/webhook/admission/metrics` and
//! `pkg/webhook/conversion/metrics` (godocs.io, v0.21).

use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

const REQUESTS: &str = "controller_runtime_webhook_requests_total";
const LATENCY: &str = "controller_runtime_webhook_latency_seconds";
const IN_FLIGHT: &str = "controller_runtime_webhook_requests_in_flight";
const PANICS: &str = "controller_runtime_webhook_panics_total";
const CONVERSION_PANICS: &str = "controller_runtime_conversion_webhook_panics_total";

/// Describes all metrics, and creates those of a webhook, so that rates start at zero.
pub(super) fn register(webhook: &str) {
    describe_counter!(REQUESTS, "Total number of admission requests by HTTP status code.");
    describe_histogram!(LATENCY, "Histogram of the latency of processing admission requests");
    describe_gauge!(IN_FLIGHT, "Current number of admission requests being served.");
    describe_counter!(PANICS, "Total number of webhook panics");
    describe_counter!(CONVERSION_PANICS, "Total number of conversion webhook panics");
    for code in ["200", "500"] {
        counter!(REQUESTS, "webhook" => webhook.to_owned(), "code" => code).increment(0);
    }
    gauge!(IN_FLIGHT, "webhook" => webhook.to_owned()).increment(0);
    counter!(PANICS).increment(0);
    counter!(CONVERSION_PANICS).increment(0);
}

pub(super) fn admission_panicked() {
    counter!(PANICS).increment(1);
}

pub(super) fn conversion_panicked() {
    counter!(CONVERSION_PANICS).increment(1);
}

pub(super) fn responded(webhook: &str, code: u16, latency: Duration) {
    counter!(REQUESTS, "webhook" => webhook.to_owned(), "code" => code.to_string()).increment(1);
    histogram!(LATENCY, "webhook" => webhook.to_owned()).record(latency.as_secs_f64());
}

/// Counts a request while it exists; a dropped request counts too.
pub(super) struct InFlight(metrics::Gauge);

impl InFlight {
    pub(super) fn begin(webhook: &str) -> Self {
        let gauge = gauge!(IN_FLIGHT, "webhook" => webhook.to_owned());
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}
