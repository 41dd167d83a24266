//! Logs warnings and errors to standard error, one line each.

use std::fmt::{self, Write};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

pub(crate) fn to_stderr() {
    // Cannot fail: this program sets no other subscriber.
    let _ = tracing::subscriber::set_global_default(Stderr);
}

struct Stderr;

impl Subscriber for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.is_event()
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = LogLine(event.metadata().level().to_string().to_lowercase());
        event.record(&mut line);
        eprintln!("{}", line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Level, message, then the other fields.
struct LogLine(String);

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, ": {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
