//! The format of log lines: the message, then the reason of the reconcile.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The field of the reconcile span that holds the reason.
const REASON: &str = "object.reason=";

/// Prints each event as one line: its message and the reason of the surrounding reconcile.
pub struct LogFormat;

impl<S, N> FormatEvent<S, N> for LogFormat
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
