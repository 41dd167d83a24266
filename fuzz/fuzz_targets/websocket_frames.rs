//! Websocket input from a server: messages to the channel demultiplexers, frames to the task of an attached process.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| kube_client::fuzz::websocket_frames(input));
