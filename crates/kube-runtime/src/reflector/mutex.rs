//! The lock of what is shared with subscribers. A module of its own, so that `tests/loom.rs` can put another in its place.

pub(super) use parking_lot::Mutex;
