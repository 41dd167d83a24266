//! The logs of all pods of a selector as one stream.

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
mod stream;
mod task;

pub use line::LogLine;
pub use params::LogLinesParams;
pub use stream::LogLines;
pub(crate) use stream::log_lines;
pub use task::LogLinesError;
