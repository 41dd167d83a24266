//! Cleaning up before an object goes away.

mod decision;
mod name;
mod patch;
mod run;

pub use run::{Error, Event, finalizer};
