//! A tracing span around each request, with the field names of OpenTelemetry.

mod future;
mod layer;
mod service;

pub(crate) use future::TraceFuture;
pub(crate) use layer::TraceLayer;
pub(crate) use service::Trace;
