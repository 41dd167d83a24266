//! The locks of what is shared with readers and subscribers. A module of its own, so that `tests/loom.rs` can put others in
//! their place.

pub(super) use parking_lot::{Mutex, RwLock};
