//! Publishing Kubernetes events: what happened to an object, for people to read with `kubectl describe`.

mod dedup;
mod event;
mod recorder;

pub use event::{Event, EventType, Reference, Reporter};
pub use recorder::Recorder;
