//! The logs of all pods of a selector as one stream.
//!
//! `params` says what to read. `stream` watches the `pods` of the selector and their `containers`, and starts a `task` for each container:
//! `reader` decides what to read next, `line` divides bytes, `position` knows which lines are new, `outage` how long to pause,
//! `place` how many requests are opened at once.

// One container, without I/O: what to read next, and which lines are new.
mod position;
mod reader;
// Bytes to lines.
mod line;
// The pods, and what their status says about containers.
mod containers;
mod pods;
// The tasks, and the stream that programs read.
mod outage;
mod params;
mod place;
mod stream;
mod task;

pub use line::LogLine;
pub use params::LogLinesParams;
pub use stream::LogLines;
pub(crate) use stream::log_lines;
pub use task::LogLinesError;
