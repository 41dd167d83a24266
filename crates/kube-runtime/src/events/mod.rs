//! Publishing Kubernetes events, which tell people what happened to an object (`kubectl describe` shows them).
//!
//! - `event`: an event, its reporter, and the object it is about.
//! - `series`: finds the series that an event repeats.
//! - `recorder`: publishes through the API server.

mod event;
mod recorder;
mod series;

pub use event::{Event, EventType, Reference, Reporter};
pub use recorder::Recorder;
