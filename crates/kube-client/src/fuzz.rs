//! Entry points of the targets in `fuzz/`; compiled only with `--cfg fuzzing`.

#[cfg(feature = "ws")]
pub use crate::websocket::fuzz::websocket_frames;

/// Parses the output of an exec plugin.
#[cfg(feature = "client")]
pub fn exec_output(output: &[u8]) {
    let _ = crate::auth::check_output(output);
}
