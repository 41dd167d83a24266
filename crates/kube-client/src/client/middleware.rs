//! The layers of the default stack, for use in other stacks.

pub use crate::layer::{
    Auth, AuthLayer, BaseUri, BaseUriLayer, Deadline, DeadlineBody, DeadlineFuture, DeadlineLayer,
    ExtraHeaders, ExtraHeadersLayer, Reauth, ReauthLayer, Trace, TraceFuture, TraceLayer, WarningFuture,
    WarningLayer, Warnings,
};
#[cfg(feature = "metrics")]
pub use crate::metrics::{Metrics, MetricsBody, MetricsFuture, MetricsLayer};
