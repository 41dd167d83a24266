//! A tracing span around each request, with the field names of OpenTelemetry.

mod future;
mod layer;
mod service;
mod url;

pub use future::TraceFuture;
pub use layer::TraceLayer;
pub use service::Trace;
