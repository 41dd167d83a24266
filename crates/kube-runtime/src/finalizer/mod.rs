//! Cleaning up before an object is deleted.
//!
//! - `run`: calls the reconciler as the state of the object requires.
//! - `patch`: decides what the finalizer has to do next, and makes the JSON patches that add and remove it.

mod patch;
mod run;

pub use run::{Error, Event, finalizer};
