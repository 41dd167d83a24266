//! Generates requests from bytes. Also compiled into `fuzz/fuzz_targets/request.rs`.

mod input;
mod kinds;
mod mutate;
mod script;
mod words;

pub(crate) use script::requests;
