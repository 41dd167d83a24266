//! How the story prints a reconcile: what was done, then why.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The span field in which a controller says why it reconciles.
const REASON: &str = "object.reason=";

/// One line an event: its message, and the reason of the reconcile that it stands in.
pub struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(out, "   ")?;
        ctx.field_format().format_fields(out.by_ref(), event)?;
        for span in ctx.event_scope().into_iter().flatten() {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map(|fields| fields.fields.as_str());
            if let Some((_, reason)) = fields.and_then(|fields| fields.split_once(REASON)) {
                write!(out, "   because: {reason}")?;
            }
        }
        writeln!(out)
    }
}
