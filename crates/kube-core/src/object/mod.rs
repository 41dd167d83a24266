//! Objects with typed spec and status, and lists of objects.

mod defaults;
mod list;
#[cfg(test)]
mod tests;
mod typed;

pub use defaults::*;
pub use list::*;
pub use typed::*;
