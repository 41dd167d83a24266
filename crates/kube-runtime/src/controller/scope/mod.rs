//! The scope of a reconcile: its own writes are seen by the next one.
//!
//! Each reconcile has a mark, which its requests carry and in which the client records what they have written. At its end, the
//! controller holds the object back until each store and watch that covers such a write shows it or a newer state.
//!
//! - `marks`: makes the marks.
//! - `covered`: the stores and watches of a controller, and which writes each of them `shows`. `shown`: the wait for them;
//!   `watch_health`: whether it is worth one.
//! - `skipped`: which changes were made by the controller itself, so that they trigger nothing.

mod covered;
mod marks;
mod shown;
mod shows;
mod skipped;
mod watch_health;

pub use covered::ReadStore;

pub(super) use {
    covered::{Coverage, Covered},
    marks::Marks,
    shown::WritesShown,
    skipped::{OwnChanges, ShownState},
};
