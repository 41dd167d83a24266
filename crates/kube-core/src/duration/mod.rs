//! Durations in Go's notation, as in fields of Kubernetes objects.

mod syntax;
#[cfg(test)]
mod tests;
mod value;

pub use syntax::ParseError;
pub use value::*;
