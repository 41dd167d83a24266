//! Durations in the notation of Go, as Kubernetes objects hold them.

mod format;
mod parse;
#[cfg(test)]
mod tests;
mod value;

pub use parse::ParseError;
pub use value::*;
