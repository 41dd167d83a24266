//! Entrances for the targets in `fuzz/`: there only under `--cfg fuzzing`.

#[cfg(feature = "ws")]
pub use crate::upgrade::fuzz::websocket_frames;
