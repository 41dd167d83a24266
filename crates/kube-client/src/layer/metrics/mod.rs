//! Counts and times requests, under the names that dashboards for Go clients use.

mod body;
mod future;
mod labels;
mod layer;
mod service;

pub use body::MetricsBody;
pub use future::MetricsFuture;
pub use layer::MetricsLayer;
pub use service::Metrics;
