//! Logs, and spans for OpenTelemetry.
//!
//! Each reconcile is a span with its object, reason, attempt and outcome; requests are spans within it.

use crate::NAME;
use kube::{ResourceExt, runtime::controller::TraceParent};
use opentelemetry::trace::{SpanContext, TraceFlags, TraceState, TracerProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io::IsTerminal;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::{
    EnvFilter, Layer, fmt, layer::SubscriberExt, registry::LookupSpan, util::SubscriberInitExt,
};

/// The annotation in which a client may leave the `traceparent` of its change (W3C Trace Context).
pub const TRACE_ANNOTATION: &str = "example.com/traceparent";

/// Links the span of the running reconcile to the trace of the change that it reconciles.
pub fn link_to_cause(object: &impl ResourceExt) {
    match TraceParent::of(object, TRACE_ANNOTATION) {
        Some(Ok(TraceParent { trace_id, span_id, sampled })) => {
            let flags = TraceFlags::default().with_sampled(sampled);
            let cause = SpanContext::new(trace_id.into(), span_id.into(), flags, true, TraceState::NONE);
            Span::current().add_link(cause);
        }
        Some(Err(error)) => tracing::warn!(%error, "the annotation {TRACE_ANNOTATION} was ignored"),
        None => {}
    }
}

/// Writes logs to standard error, and exports spans if there is an exporter. Call `shutdown` of the result before the process ends.
pub fn install() -> anyhow::Result<Option<SdkTracerProvider>> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn,operator=info,kube=info".into());
    let logs = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let exporter = exporter()?;
    tracing_subscriber::registry().with(filter).with(logs).with(exporter.as_ref().map(spans)).try_init()?;
    Ok(exporter)
}

/// Passes spans to an exporter.
pub fn spans<S: Subscriber + for<'a> LookupSpan<'a>>(exporter: &SdkTracerProvider) -> impl Layer<S> + use<S> {
    tracing_opentelemetry::layer().with_tracer(exporter.tracer(NAME))
}

/// An exporter to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.
#[cfg(feature = "otlp")]
fn exporter() -> anyhow::Result<Option<SdkTracerProvider>> {
    use opentelemetry_sdk::Resource;
    if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_none() {
        return Ok(None);
    }
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build()?;
    let resource = Resource::builder().with_service_name(NAME).build();
    Ok(Some(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build()))
}

#[cfg(not(feature = "otlp"))]
fn exporter() -> anyhow::Result<Option<SdkTracerProvider>> {
    Ok(None)
}
