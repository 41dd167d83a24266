//! What a server sends over a websocket: messages to the machines that sort channels, frames to the task that serves a process.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| kube_client::fuzz::websocket_frames(input));
