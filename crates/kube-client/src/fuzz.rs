//! Entrances for the targets in `fuzz/`: there only under `--cfg fuzzing`.

#[cfg(feature = "ws")]
pub use crate::upgrade::fuzz::websocket_frames;

/// Reads what a credential program printed.
#[cfg(feature = "client")]
pub fn exec_output(output: &[u8]) {
    let _ = crate::auth::judge(output);
}
