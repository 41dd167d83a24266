//! Requests out of bytes: what a fuzzer varies, and what a test rolls. Also compiled into `fuzz/fuzz_targets/request.rs`.

mod kinds;
mod mutate;
mod script;
mod tape;
mod words;

pub(crate) use script::requests;
